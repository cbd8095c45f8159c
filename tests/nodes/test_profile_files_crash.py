"""Profiles in files, among processes: they are killed, and they share a folder."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from hotseat.nodes.profile_files import ProfileFiles
from hotseat.runtime.testing.check_profile_store import game_of_schema

pytestmark = pytest.mark.system

ACKNOWLEDGED = 20
PATIENCE_S = 30

WRITER = """
import sys
from pathlib import Path

import anyio

from hotseat.nodes.profile_files import ProfileFiles
from hotseat.runtime.profile_store import ProfileConflict
from hotseat.runtime.testing.check_profile_store import game_of_schema


async def main() -> None:
    store = ProfileFiles(Path(sys.argv[1]), game_of_schema(1))
    left = int(sys.argv[2])
    while left:
        found = await store.load("ann")
        revision = 0 if found is None else found.revision
        data = {"wins": 0} if found is None else found.data
        after = {"wins": data["wins"] + 1, "padding": "x" * 50_000}
        try:
            saved = await store.save("ann", after, expected=revision)
        except ProfileConflict:
            continue
        left -= 1
        print(saved.revision, flush=True)


anyio.run(main)
"""


def writer(folder: Path, saves: int) -> subprocess.Popen[str]:
    """A process that counts one up with each save, and says so afterwards."""
    arguments = [sys.executable, "-c", WRITER, str(folder), str(saves)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


async def test_a_killed_writer_leaves_a_whole_profile(tmp_path: Path) -> None:
    """What it was told is saved is saved; the next one goes on from there."""
    folder = tmp_path / "kept"
    for _ in range(3):
        with writer(folder, 1_000_000) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(ACKNOWLEDGED)]
            process.kill()
        found = await ProfileFiles(folder, game_of_schema(1)).load("ann")
        assert found is not None
        assert found.revision >= int(lines[-1])
        assert found.data["wins"] == found.revision


async def test_processes_that_share_a_folder_lose_nothing(tmp_path: Path) -> None:
    """Each of their saves counts once."""
    folder = tmp_path / "kept"
    with ExitStack() as stack:
        writers = [stack.enter_context(writer(folder, ACKNOWLEDGED)) for _ in range(2)]
        said = [process.communicate(timeout=PATIENCE_S)[0] for process in writers]
    found = await ProfileFiles(folder, game_of_schema(1)).load("ann")
    assert found is not None
    assert found.data["wins"] == found.revision == 2 * ACKNOWLEDGED
    revisions = sorted(int(line) for text in said for line in text.splitlines())
    assert revisions == list(range(1, 2 * ACKNOWLEDGED + 1))
