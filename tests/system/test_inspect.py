"""`hotseat inspect` in a real terminal: a saved match, and one that is being played."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from hotseat.engine.replay import write_log_file
from hotseat.nodes.client import Accepted, RemoteMatch, Seat, connect

from ..nodes.inspect.inspected import rolls
from .shell import Operator
from .terminal import in_terminal

pytestmark = pytest.mark.system

MOVES = (0, 3, 1, 4, 2)
"""The first player's row is full."""


def test_a_running_match_is_watched_to_its_end_and_then_inspected(
    operator: Operator, home: Path
) -> None:
    """Live by its id alone; what was exported from it while it ran opens as a file.
    Each look at it while it goes on is on record, once, and none when it is over."""
    looks: list[str] = []

    async def main() -> None:
        async with connect(home / ".hotseat") as client:
            match = await client.create("tic-tac-toe", players=["0", "1"])
            assert isinstance(match, RemoteMatch)
            seats = [await match.take(name) for name in ("0", "1")]

            async def move(number: int) -> None:
                seat = seats[number % 2]
                assert isinstance(seat, Seat)
                answer = await seat.dispatch("place", {"cell": MOVES[number]})
                assert isinstance(answer, Accepted)

            await move(0)
            await move(1)
            in_thread = anyio.to_thread.run_sync
            looks.append(match.id)
            why = ("--why", "a complaint", "--as", "ann")
            with in_terminal("inspect", match.id, *why, cwd=home) as screen:
                await in_thread(screen.wait_for, f"{match.id}  2/2  live")
                await move(2)
                await in_thread(screen.wait_for, "3/3  live")
                running = ("replay", "export", match.id, "--running")
                await in_thread(partial(operator.told, *running, cwd=home))
                screen.press("\x1b[H")  # Home
                await in_thread(screen.wait_for, "0/3  paused")
                await move(3)
                await in_thread(screen.wait_for, "0/4  paused")
                screen.press("\x1b[F")  # End
                await in_thread(screen.wait_for, "4/4  live")
                await move(4)
                await in_thread(screen.wait_for, "5/5  paused")
                screen.press("q")
                assert await in_thread(screen.wait_end) == 0
                assert "Traceback" not in screen.text
            with in_terminal("inspect", match.id, "--frame", "2", cwd=home) as screen:
                await in_thread(screen.wait_for, "2/5  paused")
                screen.press("q")
                assert await in_thread(screen.wait_end) == 0
            with in_terminal(
                "inspect", f"{match.id}.hotseat", "--light", cwd=home
            ) as screen:
                await in_thread(screen.wait_for, "0/3  paused")
                screen.press("\x03")  # Ctrl-C
                assert await in_thread(screen.wait_end) == 0

    anyio.run(main)
    audit = operator.told("audit", "list", "--target", *looks, cwd=home)
    rows = sorted(audit["operations"], key=lambda row: str(row["verb"]))
    assert [row["verb"] for row in rows] == ["match.export", "match.inspect"]
    assert (rows[1]["who"], rows[1]["why"]) == ("ann", "a complaint")


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("nonsense",), 2, "no_such_match"),
        (("a" * 26,), 1, "unknown_match"),
        (("a" * 26, "--dir", "nowhere"), 3, "no_cluster"),
        (("bad",), 1, "invalid_envelope"),
    ],
)
def test_what_cannot_be_inspected_says_why(
    operator: Operator,
    home: Path,
    arguments: tuple[str, ...],
    status: int,
    code: str,
) -> None:
    """One error with a code, and its exit status."""
    (home / "bad").write_text("{}")
    done = operator.run("inspect", *arguments, cwd=home)
    assert done.status == status, done.stderr
    assert done.stderr.startswith(f"error[{code}]: ")
    assert done.stdout == ""


def test_without_a_terminal_it_says_what_to_use_instead(
    operator: Operator, home: Path
) -> None:
    """A pipe gets no screen full of escapes."""
    (home / "saved").write_bytes(write_log_file(rolls(5).log))
    done = operator.run("inspect", "saved", cwd=home)
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.startswith("error[no_terminal]: ")
