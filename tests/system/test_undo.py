"""A takeback in a real cluster, from the question to the exported log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from hotseat.nodes.client import Accepted, RemoteMatch, Seat, connect

pytestmark = pytest.mark.system

COMMAND_TIMEOUT_S = 55


def hotseat(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HOTSEAT_")}
    return subprocess.run(
        [sys.executable, "-m", "hotseat.nodes.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        cwd=cwd,
        env=environment,
        check=False,
    )


async def play(folder: Path) -> str:
    """A misplaced mark is taken back, then seat 0 wins; the match's id."""
    async with connect(folder) as one, connect(folder) as two:
        match = await one.create("tic-tac-toe", players=["0", "1"])
        assert isinstance(match, RemoteMatch)
        first = await match.take("0")
        second = await two.join(match.id, match.epoch).take("1")
        assert isinstance(first, Seat)
        assert isinstance(second, Seat)
        answers = [await first.dispatch("place", {"cell": 8}), await first.ask_undo()]
        with anyio.fail_after(20):
            async for view in second.views():
                if view.undo is not None:
                    break
        answers.append(await second.answer_undo(True))
        for number, cell in enumerate((0, 3, 1, 4, 2)):
            seat = (first, second)[number % 2]
            answers.append(await seat.dispatch("place", {"cell": cell}))
        assert all(isinstance(answer, Accepted) for answer in answers), answers
        return match.id


@pytest.mark.timeout(180)
def test_a_takeback_over_real_links_is_in_the_log_that_verifies(
    tmp_path: Path,
) -> None:
    """Two clients, two nodes, sockets: asked, seen, agreed, played on, exported."""
    started = hotseat("up", "--nodes", "2", "--detach", cwd=tmp_path)
    assert started.returncode == 0, started.stderr
    try:
        match = anyio.run(play, tmp_path / ".hotseat")
        exported = hotseat("replay", "export", match, "--out", "log", cwd=tmp_path)
        assert exported.returncode == 0, exported.stderr
        verified = hotseat("replay", "verify", "log", cwd=tmp_path)
        assert verified.returncode == 0, verified.stderr
        shown = hotseat("replay", "show", "log", cwd=tmp_path)
        assert shown.stdout.count("takeback") >= 2, shown.stdout
    finally:
        stopped = hotseat("down", cwd=tmp_path)
        assert stopped.returncode == 0, stopped.stderr
