"""`hotseat replay export`: the log of a match that a real cluster hosted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from hotseat.nodes.client import Accepted, RemoteMatch, Seat, connect

pytestmark = pytest.mark.system

COMMAND_TIMEOUT_S = 55
MOVES = (0, 3, 1, 4, 2)
"""The first player's row is full."""


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


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a cluster of two nodes in `.hotseat`."""
    home = tmp_path_factory.mktemp("export")
    started = hotseat("up", "--nodes", "2", "--detach", cwd=home)
    assert started.returncode == 0, started.stderr
    try:
        yield home
    finally:
        stopped = hotseat("down", cwd=home)
        assert stopped.returncode == 0, stopped.stderr


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


def test_a_finished_match_is_exported_and_verified(home: Path) -> None:
    """By its id alone, or with its epoch; all commands read what was written."""
    match, epoch = anyio.run(play, home / ".hotseat", len(MOVES))
    done = hotseat("replay", "export", match, "--json", cwd=home)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["match"] == match
    assert report["verified"] is True
    assert report["records"] == len(MOVES) + 3  # the creation, and two seats
    file = report["file"]
    assert file == f"{match}.hotseat"
    verified = hotseat("replay", "verify", file, "--json", cwd=home)
    assert verified.returncode == 0, verified.stderr
    assert json.loads(verified.stdout)["match"] == match
    shown = hotseat("replay", "show", file, "--json", cwd=home)
    assert len(json.loads(shown.stdout)["frames"]) == len(MOVES) + 1
    again = ("replay", "export", match, f"--epoch={epoch}", "--envelope")
    assert hotseat(*again, "--out", "saved.json", cwd=home).returncode == 0
    same = hotseat("replay", "diff", file, "saved.json", cwd=home)
    assert (same.returncode, same.stdout) == (0, "the matches are the same\n")
    twice = hotseat("replay", "export", match, cwd=home)
    assert twice.returncode == 1
    assert twice.stderr.startswith("error[file_exists]: ")


def test_a_running_match_is_not_given_out(home: Path) -> None:
    """Its log holds the seed and everybody's payloads."""
    match, _ = anyio.run(play, home / ".hotseat", 2)
    done = hotseat("replay", "export", match, cwd=home)
    assert done.returncode == 1
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
    home: Path, arguments: tuple[str, ...], status: int, code: str
) -> None:
    """One error with a code, its exit status, and no file."""
    done = hotseat("replay", "export", *arguments, cwd=home)
    assert done.returncode == status, done.stderr
    assert done.stderr.startswith(f"error[{code}]: ")
    assert done.stdout == ""
