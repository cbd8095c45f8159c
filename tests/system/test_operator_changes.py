"""What operators change at clusters of real processes, and the record of it."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from hotseat.nodes.client import Accepted, Refusal, Seat, connect

from .shell import Operator, running_cluster
from .terminal import in_terminal

pytestmark = pytest.mark.system


def begun(operator: Operator, home: Path) -> tuple[str, dict[str, str]]:
    """A match that an operator creates: its id, and its seats' tokens."""
    made = operator.told("match", "create", "tic-tac-toe", "--tokens", cwd=home)
    (match,) = made["outcome"]["matches"]
    return match, made["outcome"]["tokens"][match]


def place_mark(home: Path, match: str, token: str, cell: int) -> str:
    """Seat 0 comes back and moves: "", or the code of the no."""

    async def main() -> str:
        async with connect(home / ".hotseat") as client:
            for epoch in range(1, 9):
                seat = await client.join(match, epoch).take("0", token)
                if isinstance(seat, Seat):
                    answer = await seat.dispatch("place", {"cell": cell})
                    return "" if isinstance(answer, Accepted) else answer.code
                if seat.code not in ("unknown_match", "match_lost"):
                    return seat.code
            assert isinstance(seat, Refusal)
            return seat.code

    return anyio.run(main)


@pytest.mark.timeout(150)
def test_matches_are_created_stopped_and_ended_on_record(
    home: Path, operator: Operator
) -> None:
    """Each command does what it says, and the audit has who, why, and how it ended."""
    match, tokens = begun(operator, home)
    assert place_mark(home, match, tokens["0"], 4) == ""
    by = ("--as", "ann", "--why", "a test")

    operator.told("match", "quarantine", match, "--yes", *by, cwd=home)
    assert place_mark(home, match, tokens["0"], 0) == "quarantined"
    shown = operator.told("match", "show", match, cwd=home)
    assert shown["match"]["code"] == "quarantined"
    operator.told("match", "release", match, "--yes", *by, cwd=home)
    shown = operator.told("match", "show", match, cwd=home)
    assert (shown["match"]["code"], shown["match"]["records"]) == ("", 4)

    assert operator.refused("match", "reveal-seed", match, cwd=home) == "match_running"
    resigned = ("match", "resign-seat", match, "1", "--yes")
    assert operator.refused(*resigned, cwd=home) == "no_resign"
    ended = operator.told("match", "terminate", match, "--yes", *by, cwd=home)
    assert [row["target"] for row in ended["done"]] == [match]
    assert ended["failed"] == []
    again = operator.told(
        "match", "terminate", match, "a" * 26, "--yes", cwd=home, status=1
    )
    assert [row["code"] for row in again["failed"]] == ["game_over", "unknown_match"]
    seed = operator.told("match", "reveal-seed", match, cwd=home)["outcome"]["seed"]

    rows = operator.told("audit", "list", "--target", match, cwd=home)["operations"]
    assert sorted({(row["verb"], row["state"], row["code"]) for row in rows}) == [
        ("match.quarantine", "done", ""),
        ("match.release", "done", ""),
        ("match.resign-seat", "failed", "no_resign"),
        ("match.reveal-seed", "done", ""),
        ("match.reveal-seed", "failed", "match_running"),
        ("match.terminate", "done", ""),
        ("match.terminate", "failed", "game_over"),
    ]
    mine = operator.told("audit", "list", "--who", "ann", cwd=home)["operations"]
    assert [row["why"] for row in mine] == ["a test"] * 3
    one = operator.told("audit", "show", mine[0]["id"], cwd=home)
    assert one["outcome"] == {"record": 4, "revision": 2}
    everything = operator.run("audit", "list", "--json", cwd=home).stdout
    assert seed not in everything
    assert tokens["0"] not in everything
    told = operator.run("audit", "show", mine[0]["id"], cwd=home).stdout
    assert "a test" in told
    assert mine[0]["id"] in operator.run("audit", "list", cwd=home).stdout


@pytest.mark.timeout(150)
def test_a_match_goes_on_in_another_cluster(
    home: Path, operator: Operator, tmp_path: Path
) -> None:
    """Exported while it is played, imported where there was nothing, and played on."""
    match, tokens = begun(operator, home)
    assert place_mark(home, match, tokens["0"], 4) == ""
    file = tmp_path / "match.hotseat"
    out = operator.told("match", "export", match, "-o", str(file), cwd=home)
    assert (out["done"][0]["records"], out["done"][0]["verified"]) == (4, True)
    assert operator.refused("match", "import", str(file), cwd=home) == "match_exists"
    many = operator.told("match", "export", match, "a" * 26, cwd=tmp_path, status=3)
    assert len(many["failed"]) == 2
    other = tmp_path / "other"
    other.mkdir()
    with running_cluster(other, "--nodes", "1"):
        done = operator.told("match", "import", str(file), cwd=other)["outcome"]
        assert (done["records"], done["ended"]) == (4, False)
        assert place_mark(other, match, tokens["0"], 0) == "inactive_player"
        shown = operator.told("match", "show", match, cwd=other)
        digests = [row["digest"] for row in shown["copies"]]
        assert [row["digest"] for row in out["done"]] == digests


def test_a_question_is_asked_where_somebody_can_answer(
    home: Path, operator: Operator
) -> None:
    """No is no; without a terminal nothing is done until --yes says so."""
    match, _ = begun(operator, home)
    done = operator.run("match", "terminate", match, cwd=home)
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.startswith("error[needs_yes]: ")
    for answer, status, said in (("n\n", 1, "not_confirmed"), ("y\n", 0, "ended")):
        with in_terminal("match", "terminate", match, cwd=home) as screen:
            screen.wait_for("[y/N]")
            screen.press(answer)
            screen.wait_for(said)
            assert screen.wait_end() == status


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("match", "terminate", "--yes"), 2, "usage"),
        (("match", "terminate", "nonsense", "--yes"), 2, "usage"),
        (("match", "create", "checkers"), 1, "unknown_game"),
        (("match", "create", "tic-tac-toe", "--data", "{"), 2, "usage"),
        (("match", "import", "nowhere"), 1, "unreadable_file"),
        (("audit", "show", "nonsense"), 2, "usage"),
        (("audit", "show", "0" * 19), 1, "unknown_operation"),
        (("audit", "list", "--dir", "nowhere"), 3, "no_cluster"),
    ],
)
def test_what_cannot_be_done_says_why(
    home: Path, operator: Operator, arguments: tuple[str, ...], status: int, code: str
) -> None:
    """One error with a code, and its exit status."""
    done = operator.run(*arguments, cwd=home)
    assert done.status == status, done.stderr
    assert done.stderr.startswith(f"error[{code}]: ")
    assert done.stdout == ""
