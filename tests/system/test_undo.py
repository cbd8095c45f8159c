"""A takeback in a real cluster, from the question to the exported log."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from hotseat.nodes.client import Accepted, RemoteMatch, Seat, connect

from .shell import Operator

pytestmark = pytest.mark.system


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


def test_a_takeback_over_real_links_is_in_the_log_that_verifies(
    operator: Operator, home: Path
) -> None:
    """Two clients, two nodes, sockets: asked, seen, agreed, played on, exported."""
    match = anyio.run(play, home / ".hotseat")
    operator.told("replay", "export", match, "--out", "log", cwd=home)
    operator.told("replay", "verify", "log", cwd=home)
    shown = operator.run("replay", "show", "log", cwd=home)
    assert shown.stdout.count("takeback") >= 2, shown.stdout
