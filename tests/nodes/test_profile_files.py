"""Profiles in files: the contract, and what a folder can look like."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from hotseat.engine import Game
from hotseat.nodes import profile_files
from hotseat.nodes.pid_file import PidFile
from hotseat.nodes.profile_files import ProfileFiles
from hotseat.runtime.profile_store import (
    ABSENT,
    ProfileStore,
    ProfileStoreBusy,
    ProfileStoreFault,
    ProfileUnreadable,
)
from hotseat.runtime.testing.check_profile_store import (
    PROFILE_STORE_CHECKS,
    game_of_schema,
)

KEEPS = game_of_schema(1)


class FileRig:
    """A fresh folder; see `ProfileStoreRig`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, game: Game) -> ProfileStore:
        return ProfileFiles(self.folder, game)


@pytest.fixture
def store(tmp_path: Path) -> ProfileFiles:
    return ProfileFiles(tmp_path / "profiles", KEEPS)


@pytest.mark.parametrize("check", PROFILE_STORE_CHECKS, ids=lambda c: c.__name__)
async def test_the_contract_holds(check: Any, tmp_path: Path) -> None:
    """Every check of the suite passes."""
    await check(FileRig(tmp_path / "profiles"))


async def test_a_profile_is_a_file_that_only_its_owner_reads(
    store: ProfileFiles, tmp_path: Path
) -> None:
    """One for each player and game, in JSON, in private folders; nothing else stays."""
    await store.save("ann", {"wins": 1}, expected=ABSENT)
    folder = tmp_path / "profiles"
    file = folder / "keeps" / "ann.json"
    assert json.loads(file.read_text("utf-8")) == {
        "player": "ann",
        "game": "keeps",
        "revision": 1,
        "schema_version": 1,
        "data": {"wins": 1},
    }
    modes = [stat.S_IMODE(p.stat().st_mode) for p in (folder, file.parent, file)]
    assert modes == [0o700, 0o700, 0o600]
    assert sorted(os.listdir(file.parent)) == [".lock", "ann.json"]


async def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    """The message says what to do; a file is no folder."""
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o755)
    with pytest.raises(ProfileStoreFault, match="chmod 700"):
        ProfileFiles(open_to_all, KEEPS)
    (tmp_path / "file").write_text("")
    with pytest.raises(ProfileStoreFault, match="cannot be kept"):
        ProfileFiles(tmp_path / "file", KEEPS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"player": "ann"}',
        '{"player":"ann","game":"keeps","revision":0,"schema_version":1,"data":{}}',
        '{"player":"ann","game":"keeps","revision":1,"schema_version":[],"data":{}}',
        '{"player":"bob","game":"keeps","revision":1,"schema_version":1,"data":{}}',
        '{"player":"ann","game":"other","revision":1,"schema_version":1,"data":{}}',
        '{"player":"ann","game":"keeps","revision":1,"schema_version":1,"data":'
        + "[" * 5000,
        '{"player":"ann","game":"keeps","revision":1,"schema_version":1,"data":'
        + "[" * 80
        + "]" * 80
        + "}",
        " " * 600_000,
    ],
)
async def test_a_file_that_is_no_profile_is_named_and_kept(
    store: ProfileFiles, text: str
) -> None:
    """Nobody loses a profile because somebody edited it badly."""
    file = store.folder / "ann.json"
    file.write_text(text)
    with pytest.raises(ProfileUnreadable, match=r"ann\.json"):
        await store.load("ann")
    for revision in (ABSENT, 1):
        with pytest.raises(ProfileUnreadable, match=r"ann\.json"):
            await store.save("ann", {}, expected=revision)
    assert file.read_text() == text


async def test_only_plain_files_are_read(store: ProfileFiles, tmp_path: Path) -> None:
    """No link leads out of the folder, and no pipe holds anybody up."""
    (tmp_path / "elsewhere").write_text("{}")
    (store.folder / "ann.json").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(store.folder / "bob.json")
    (store.folder / "cid.json").mkdir()
    for name in ("ann", "bob", "cid"):
        with pytest.raises(ProfileUnreadable, match=name):
            await store.load(name)


async def test_a_save_that_fails_leaves_the_old_profile(
    store: ProfileFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk costs the new one, not the old one."""
    await store.save("ann", "old", expected=ABSENT)

    def full(path: Path, data: bytes) -> None:
        path.write_bytes(data[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(profile_files, "_write_synced", full)
        with pytest.raises(ProfileStoreFault, match="No space left"):
            await store.save("ann", "new", expected=1)
    found = await store.load("ann")
    assert found is not None
    assert (found.data, found.revision) == ("old", 1)
    assert sorted(os.listdir(store.folder)) == [".lock", "ann.json"]


async def test_what_a_crash_left_behind_is_in_nobodys_way(store: ProfileFiles) -> None:
    """A process that ended in the middle of a write leaves a draft; it is replaced."""
    (store.folder / ".ann.new").write_text('{"pla')
    assert await store.load("ann") is None
    await store.save("ann", "whole", expected=ABSENT)
    found = await store.load("ann")
    assert found is not None
    assert found.data == "whole"


async def test_a_lock_that_hangs_is_told(
    store: ProfileFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading goes on; writing says who is in the way."""
    await store.save("ann", 1, expected=ABSENT)
    monkeypatch.setattr(profile_files, "LOCK_WAIT_S", 0.01)
    with PidFile(store.folder / ".lock"):
        with pytest.raises(ProfileStoreBusy, match=f"process {os.getpid()}"):
            await store.save("ann", 2, expected=1)
        found = await store.load("ann")
    assert found is not None
    assert found.data == 1
