"""A saved match from a file: an envelope (JSON), or an exported log.

A file is taken whole or refused with one error; which of the two it is, its first
bytes tell.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ...engine.definition import Game
from ...engine.errors import EngineError
from ...engine.machine import Machine, compile_game
from ...engine.record import Record, RecordKind
from ...engine.replay.envelope import Envelope, read_envelope
from ...engine.replay.log_file import LogFile, is_log_file, read_log_file
from ...engine.replay.recording import Recording, recording_of
from ...engine.replay.timeline import Timeline, open_timeline
from ...engine.snapshot import Snapshot
from ...engine.versions import FindMachine, no_machines
from ..cluster_dir import PRIVATE_FILE
from ..games import GameError, find_game, installed_games
from ..operator_error import OperatorError

__all__ = [
    "FILE_BYTES_MAX",
    "SavedMatch",
    "find_machine",
    "find_older",
    "read_saved",
    "saved_log",
    "write_new",
]

FILE_BYTES_MAX = 1024 * 1024 * 1024
"""A log of the most records a match may have, each of 10 KB."""


class SavedMatch:
    """What a file holds: exactly one of `envelope` and `log`."""

    def __init__(self, path: Path, content: Envelope | LogFile) -> None:
        self.path = path
        self.envelope = content if isinstance(content, Envelope) else None
        self.log = content if isinstance(content, LogFile) else None

    def __str__(self) -> str:
        version = "" if self.version is None else f" version {self.version}"
        return f"{self.path}: {self.game}{version}"

    @property
    def recording(self) -> Recording:
        """What is played back from it."""
        if self.log is not None:
            return self.log.recording()
        assert self.envelope is not None
        return recording_of(self.envelope)

    @property
    def game(self) -> str:
        """The name of its game."""
        return str(self.recording.creation.get("game"))

    @property
    def version(self) -> str | None:
        """The version of its game that it ends with; an envelope has none."""
        recording = self.recording
        version = recording.version_at(len(recording.records) - 1)
        return None if version is None else str(version)

    @property
    def match(self) -> str | None:
        """The id of the match; only a host gives one."""
        identity = self.recording.creation.get("id")
        return None if identity is None else str(identity)

    @property
    def older(self) -> list[str]:
        """The versions that it was played under before it was upgraded."""
        recording = self.recording
        places = [0, *recording.upgrades]
        versions = [str(recording.version_at(place)) for place in places]
        return [one for one in dict.fromkeys(versions[:-1]) if one != self.version]

    def open(self, game: str | None, also: Sequence[str] = ()) -> Timeline:
        """Look at it under the game of that spec, by default the installed one.

        `also` are specs of other versions, if the match was upgraded.

        Raises:
            OperatorError: The game cannot be had, or the match does not start under it.
        """
        machine = find_machine(self, game)
        return open_timeline(machine, self.recording, find_older(self, also))


def read_saved(path: Path) -> SavedMatch:
    """Read a file.

    Raises:
        OperatorError: unreadable_file, too_large, invalid_envelope, damaged_file,
            unsupported_format: nothing of it is taken.
    """
    try:
        size = path.stat().st_size
        if size > FILE_BYTES_MAX:
            raise OperatorError(
                "too_large", f"{path} is {size:,} bytes; {FILE_BYTES_MAX:,} at most"
            )
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise OperatorError("unreadable_file", f"{path}: {reason}") from error
    try:
        if is_log_file(data):
            return SavedMatch(path, read_log_file(data))
        return SavedMatch(path, read_envelope(data))
    except EngineError as error:
        raise OperatorError(
            error.code,
            f"{path}: {error}",
            hint="a replay file is what `hotseat replay export` writes, "
            "or a saved replay in JSON",
        ) from error


def saved_log(
    match: str,
    records: Sequence[Record],
    marks: Mapping[int, Callable[[], Snapshot]] | None = None,
    revisions: Sequence[int] | None = None,
    upgrades: Sequence[int] = (),
) -> SavedMatch:
    """A log that is at hand, as if it came from a file called as the match.

    With `revisions`, those that the records led to, no record is read for them, and
    `upgrades` says which of them changed the game's version.
    """
    if revisions is None:
        revisions = [record.revision_after for record in records]
        upgrades = [r.index for r in records if r.kind is RecordKind.UPGRADE]
    log = LogFile(records, marks or {}, (), revisions, list(upgrades))
    return SavedMatch(Path(match), log)


def write_new(path: Path, data: bytes) -> None:
    """Write a file that is not there yet: all of it, or nothing. Its owner alone may
    read it: a log holds a seed, and what players hide from each other.

    Raises:
        OperatorError: file_exists or unwritable_file.
    """
    if path.exists():
        raise OperatorError(
            "file_exists", f"{path} is there already", hint="name another with --out"
        )
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.unlink(missing_ok=True)  # of one that was killed; its mode is no matter
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with open(os.open(partial, flags, PRIVATE_FILE), "wb") as file:
            file.write(data)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        reason = error.strerror or str(error)
        raise OperatorError("unwritable_file", f"{path}: {reason}") from error


def find_machine(saved: SavedMatch, spec: str | None) -> Machine:
    """The game to play a saved match by: the named one, or the installed one.

    Raises:
        OperatorError: The game cannot be had, or none or several would fit.
    """
    game = find_game(spec) if spec is not None else _installed(saved)
    return compile_game(game)


def find_older(saved: SavedMatch, also: Sequence[str] = ()) -> FindMachine:
    """Where the versions are that a match was played under before it was upgraded.

    They are looked for among the games of the specs `also`, and the installed ones.

    Raises:
        OperatorError: version_missing; or one of `also` cannot be had.
    """
    older = saved.older
    if not older:
        return no_machines
    found: dict[tuple[str, str], Game] = {}
    for game in [*map(find_game, also), *_installed_versions(saved)]:
        found.setdefault((game.name, game.version), game)
    for version in older:
        if (saved.game, version) not in found:
            raise OperatorError(
                "version_missing",
                f"{saved.path} was played under version {version} of {saved.game} "
                "too, which is not installed",
                hint="name that game with --also MODULE:game",
            )

    def find(name: str, version: str) -> Machine | None:
        game = found.get((name, version))
        return None if game is None else compile_game(game)

    return find


def _installed_versions(saved: SavedMatch) -> list[Game]:
    """The installed games of its name."""
    named: list[Game] = []
    for name in installed_games():
        try:
            game = find_game(name)
        except GameError:
            continue  # another game's fault; `hotseat game list` shows it
        if game.name == saved.game:
            named.append(game)
    return named


def _installed(saved: SavedMatch) -> Game:
    named = _installed_versions(saved)
    fitting = [game for game in named if saved.version in (None, game.version)]
    if len(fitting) == 1:
        return fitting[0]
    if named:
        versions = ", ".join(game.version for game in named)
        message = f"{saved} is not installed; there is version {versions}"
    else:
        message = f"{saved} is not installed"
    raise OperatorError(
        "unknown_game", message, hint="name the game with --game MODULE:game"
    )
