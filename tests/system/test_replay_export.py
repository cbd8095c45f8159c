"""`hotseat replay export`: the log of a match that a real cluster hosted."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from hotseat.nodes.client import Accepted, RemoteMatch, Seat, connect

from .shell import Operator

pytestmark = pytest.mark.system

MOVES = (0, 3, 1, 4, 2)
"""The first player's row is full."""


async def play(folder: Path, moves: int) -> tuple[str, int]:
    """Play some moves of tic-tac-toe; the match and its epoch."""
    async with connect(folder) as client:
        match = await client.create("tic-tac-toe", players=["0", "1"])
        assert isinstance(match, RemoteMatch)
        seats = [await match.take(name) for name in ("0", "1")]
        for number, cell in enumerate(MOVES[:moves]):
            seat = seats[number % 2]
            assert isinstance(seat, Seat)
            answer = await seat.dispatch("place", {"cell": cell})
            assert isinstance(answer, Accepted)
        return match.id, match.epoch


def test_a_finished_match_is_exported_and_verified(
    operator: Operator, home: Path
) -> None:
    """By its id alone, or with its epoch; all commands read what was written."""
    match, epoch = anyio.run(play, home / ".hotseat", len(MOVES))
    report = operator.told("replay", "export", match, cwd=home)
    assert report["match"] == match
    assert report["verified"] is True
    assert report["records"] == len(MOVES) + 3  # the creation, and two seats
    file = report["file"]
    assert file == f"{match}.hotseat"
    verified = operator.told("replay", "verify", file, cwd=home)
    assert verified["match"] == match
    shown = operator.told("replay", "show", file, cwd=home)
    assert len(shown["frames"]) == len(MOVES) + 1
    again = ("replay", "export", match, f"--epoch={epoch}", "--envelope")
    assert operator.run(*again, "--out", "saved.json", cwd=home).status == 0
    same = operator.run("replay", "diff", file, "saved.json", cwd=home)
    assert (same.status, same.stdout) == (0, "the matches are the same\n")
    assert operator.refused("replay", "export", match, cwd=home) == "file_exists"


def test_a_running_match_is_not_given_out(operator: Operator, home: Path) -> None:
    """Its log holds the seed and everybody's payloads."""
    match, _ = anyio.run(play, home / ".hotseat", 2)
    done = operator.run("replay", "export", match, cwd=home)
    assert done.status == 1
    assert done.stderr.startswith(f"error[match_running]: match {match}: ")
    assert not (home / f"{match}.hotseat").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("nonsense",), 2, "invalid_match_id"),
        (("a" * 26,), 1, "unknown_match"),
        (("a" * 26, "--dir", "nowhere"), 3, "no_cluster"),
    ],
)
def test_what_cannot_be_exported_says_why(
    operator: Operator,
    home: Path,
    arguments: tuple[str, ...],
    status: int,
    code: str,
) -> None:
    """One error with a code, its exit status, and no file."""
    done = operator.run("replay", "export", *arguments, cwd=home)
    assert done.status == status, done.stderr
    assert done.stderr.startswith(f"error[{code}]: ")
    assert done.stdout == ""
