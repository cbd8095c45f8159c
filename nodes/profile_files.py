"""Profiles in a folder: one JSON file for each player and game.

    FOLDER/          0700
      GAME/          0700
        PLAYER.json  0600: player, game, revision, schema_version, data
        .lock        held by whoever writes

A file is replaced as a whole, and is on the disk before `save` returns: after a crash
there is the old one or the new one. Names of players and games become names of files as
they are, so only plain ones are taken. Processes may share a folder.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec

from ..engine.errors import InvalidJsonValueError
from ..engine.frozen import freeze, thaw
from ..engine.game import Game
from ..engine.jsonvalue import Json
from ..runtime.profile_store import (
    ABSENT,
    PROFILE_BYTES_MAX,
    ProfileConflict,
    ProfileDocument,
    ProfileStoreBusy,
    ProfileStoreFault,
    ProfileUnreadable,
    SchemaVersion,
    check_name,
    check_schema,
    checked_data,
)
from .pid_file import PidFile, PidFileHeld

__all__ = ["ProfileFiles"]

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600

FILE_BYTES_MAX = 2 * PROFILE_BYTES_MAX
"""Of a whole file: a person who edits one may lay it out in lines."""

LOCK_WAIT_S = 5.0
"""A write takes milliseconds; who waits longer waits for a process that hangs."""


class ProfileFiles:
    """A `ProfileStore` in files. Blocking calls run in worker threads."""

    def __init__(self, folder: Path, game: Game) -> None:
        """Open the folder; make it if there is none.

        Raises:
            ProfileNameInvalid: The game's name is no name for a folder.
            ProfileStoreFault: It cannot be made, or others may look into it.
        """
        check_name(game.name, "game")
        self.folder = folder.absolute() / game.name
        self._game = game
        try:
            for place in (folder.absolute(), self.folder):
                place.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
                _check_private(place)
            _sync_folder(folder.absolute())
        except OSError as error:
            raise ProfileStoreFault(
                f"profiles cannot be kept in {folder}: {error}"
            ) from error

    async def load(self, player: str) -> ProfileDocument | None:
        check_name(player, "player")
        return await anyio.to_thread.run_sync(self._load, player)

    async def save(self, player: str, data: Json, *, expected: int) -> ProfileDocument:
        check_name(player, "player")
        frozen = checked_data(data)
        return await anyio.to_thread.run_sync(self._save, player, frozen, expected)

    def _load(self, player: str) -> ProfileDocument | None:
        path = self._path(player)
        try:
            data = _read(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ProfileUnreadable(f"{path} cannot be read: {error}") from error
        if len(data) > FILE_BYTES_MAX:
            raise ProfileUnreadable(f"{path} is too large to be a profile")
        try:
            file = msgspec.json.decode(data, type=_File)
            content = freeze(file.data, label="the profile")
        except (msgspec.DecodeError, InvalidJsonValueError, RecursionError) as error:
            raise ProfileUnreadable(
                f"{path} holds no profile: {error}; mend it or move it away"
            ) from error
        if (file.player, file.game) != (player, self._game.name):
            # A file that was copied, or a file system to which ann and Ann are one.
            raise ProfileUnreadable(
                f"{path} is the profile of {file.player[:80]!r} in {file.game[:80]!r}, "
                f"not of {player!r}"
            )
        check_schema(self._game, player, file.schema_version)
        return ProfileDocument(player, file.revision, file.schema_version, content)

    def _save(self, player: str, data: Json, expected: int) -> ProfileDocument:
        try:
            with PidFile(self.folder / ".lock", wait_s=LOCK_WAIT_S):
                before = self._load(player)
                found = ABSENT if before is None else before.revision
                if found != expected:
                    raise ProfileConflict(player, expected, found)
                return self._write(player, data, found + 1)
        except PidFileHeld as error:
            raise ProfileStoreBusy(
                f"{self.folder} has been locked by {error} for {LOCK_WAIT_S:g} s"
            ) from error
        except OSError as error:
            raise ProfileStoreFault(
                f"the profile of {player} cannot be saved in {self.folder}: {error}"
            ) from error

    def _write(self, player: str, data: Json, revision: int) -> ProfileDocument:
        rules = self._game.profile
        version = None if rules is None else rules.schema_version
        file = _File(player, self._game.name, revision, version, thaw(data))
        path, draft = self._path(player), self.folder / f".{player}.new"
        try:
            _write_synced(draft, msgspec.json.encode(file) + b"\n")
            draft.replace(path)
        except OSError:
            with suppress(OSError):  # the first failure is the one to tell of
                draft.unlink(missing_ok=True)
            raise
        _sync_folder(self.folder)
        return ProfileDocument(player, revision, version, data)

    def _path(self, player: str) -> Path:
        return self.folder / f"{player}.json"


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands in a file."""

    player: str
    game: str
    revision: int
    schema_version: SchemaVersion
    data: Any

    def __post_init__(self) -> None:
        if self.revision < 1:
            raise ValueError("a revision is at least 1")


def _check_private(folder: Path) -> None:
    found = folder.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(f"{folder} is no folder")
    if stat.S_IMODE(found.st_mode) & 0o077 or found.st_uid not in (0, os.geteuid()):
        raise ProfileStoreFault(
            f"others may look into {folder}, where profiles are kept; close it: "
            f"chmod 700 {folder}"
        )


def _read(path: Path) -> bytes:
    """At most one byte more than a file may have."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is no plain file")
        return file.read(FILE_BYTES_MAX + 1)


def _write_synced(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, PRIVATE_FILE), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """What a folder names is on the disk once the folder is."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
