"""`hotseat loadtest` and the client library against a real local cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from hotseat.nodes.client import (
    Accepted,
    ClientOptions,
    Refusal,
    RemoteMatch,
    Seat,
    View,
    connect,
)
from hotseat.nodes.cluster_dir import ClusterDir
from hotseat.nodes.pid_file import holder_of

from .shell import hotseat

pytestmark = pytest.mark.system

COMMAND_TIMEOUT_S = 55

NIM = """
from hotseat.engine import define_game, event, reject, state, transition, views


def take(ctx):
    left = ctx.G["left"] - ctx.event.payload
    if left < 0:
        return reject("not_that_many")
    return {"G": {"left": left}} if left else None


def last(ctx):
    if ctx.event.payload == ctx.G["left"]:
        return {"G": {"left": 0}, "result": {"loser": ctx.player_id}}


def to_move(ctx):
    return [ctx.match["players"][(ctx.position.turn - 1) % 2]]


game = define_game(
    name="nim",
    max_players=2,
    events={"take": event(int, public=True)},
    initial="play",
    setup=lambda ctx: {"left": 21},
    states={"play": state(active_players=to_move), "over": state(active_players=[])},
    transitions=[
        transition("take", "play", "play", take, turn="increment"),
        transition("take", "play", "over", last),
    ],
    views=views(public=lambda ctx: ctx.G),
    legal_actions=lambda ctx, seat: [
        ("take", n) for n in (1, 2, 3) if n <= ctx.G["left"]
    ],
)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster of three nodes that also hosts nim; `nim.py` lies beside it."""
    home = tmp_path_factory.mktemp("load")
    (home / "nim.py").write_text(NIM)
    folder = home / "cluster"
    up = ("up", "--nodes", "3", "--dir", str(folder), "--game", "nim:game")
    started = hotseat(*up, "--detach", cwd=home)
    assert started.returncode == 0, started.stderr
    try:
        yield folder
    finally:
        stopped = hotseat("down", "--dir", str(folder))
        assert stopped.returncode == 0, stopped.stderr


def loadtest(folder: Path, *arguments: str, expected: int = 0) -> dict[str, Any]:
    """Run a load test with --json and return the one object that it prints."""
    done = hotseat(
        "loadtest", "--dir", str(folder), *arguments, "--json", cwd=folder.parent
    )
    assert done.returncode == expected, (done.stdout, done.stderr)
    report = json.loads(done.stdout)
    assert isinstance(report, dict)
    return report


def test_every_match_ends_and_is_right(place: Path) -> None:
    """All shipped games in turn; one JSON object; nothing wrong, nothing refused."""
    report = loadtest(place, "--matches", "40")
    assert report["matches_finished"] == report["matches_verified"] == 40
    assert report["matches_wrong"] == report["matches_unfinished"] == 0
    assert report["actions_acked"] > 200
    assert report["actions_per_s"] > 0
    latency = report["latency_ms"]
    assert 0 < latency["p50"] <= latency["p99"] <= latency["max"]
    assert report["refusals"] == {}
    assert set(report["games"]) == {
        "tic-tac-toe",
        "connect-four",
        "rock-paper-scissors",
        "pig-dice",
        "reversi",
        "battleship",
        "crazy-eights",
        "sealed-auction",
        "liars-dice",
    }


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_one_seed_makes_the_same_choices(place: Path, loop: str) -> None:
    """A game without dice takes the same actions, whatever the loop and timing."""
    arguments = ("--matches", "10", "--game", "tic-tac-toe", "--seed", "s")
    one = loadtest(place, *arguments, "--loop", loop)
    other = loadtest(place, *arguments, "--rate", "1000", "--clients", "1")
    assert one["actions_acked"] == other["actions_acked"]
    assert one["seed"] == "s"


def test_a_game_of_ones_own_is_played(place: Path) -> None:
    """A game named as module:attribute is hosted, played and verified like any."""
    report = loadtest(place, "--matches", "10", "--game", "nim:game")
    assert report["games"] == {"nim": 10}
    assert report["matches_wrong"] == 0


def test_the_closing_table_is_for_people(place: Path) -> None:
    """Without --json: a table with the counts, and exit status 0."""
    done = hotseat("loadtest", "--dir", str(place), "--matches", "5")
    assert done.returncode == 0, done.stderr
    for part in ("matches finished", "5 of 5", "actions/s", "p50", "p99", "refusals"):
        assert part in done.stdout


def test_a_game_that_the_cluster_lacks_is_named(place: Path) -> None:
    """No match begins; the refusal is counted; exit status 1."""
    (place.parent / "other.py").write_text(NIM.replace('"nim"', '"other"'))
    report = loadtest(place, "--matches", "2", "--game", "other:game", expected=1)
    assert report["refusals"] == {"unknown_game": 2}
    assert report["matches_finished"] == 0


@pytest.mark.parametrize(
    "arguments",
    [("--dir", "{0}/nothing"), ("--cluster", "ipc://{0}/nothing.door")],
    ids=["dir", "door"],
)
def test_a_cluster_that_is_not_there_is_exit_status_3(
    arguments: Sequence[str], tmp_path: Path
) -> None:
    """One clear error with a code on stderr, nothing on stdout."""
    filled = [argument.format(tmp_path) for argument in arguments]
    done = hotseat("loadtest", *filled, "--json")
    assert done.returncode == 3, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("error[")


def test_a_node_door_leads_to_the_whole_cluster(place: Path) -> None:
    """--cluster with one node's door is enough."""
    door = ClusterDir.load(place).door("n2")
    done = hotseat("loadtest", "--cluster", door, "--matches", "5", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["matches_finished"] == 5


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_the_client_library_plays_a_match(place: Path, backend: str) -> None:
    """Create, take seats, act, see views, read the log, on both backends."""

    async def main() -> None:
        async with connect(place) as client:
            match = await client.create("tic-tac-toe", players=["0", "1"])
            assert isinstance(match, RemoteMatch)
            seats: list[Seat] = []
            for name in match.seats:
                seat = await match.take(name)
                assert isinstance(seat, Seat)
                seats.append(seat)
            early = await match.log()
            assert isinstance(early, Refusal)
            assert early.code == "match_running"
            for place_, cell in enumerate((0, 3, 1, 4, 2)):
                done = await seats[place_ % 2].dispatch("place", {"cell": cell})
                assert isinstance(done, Accepted)
                assert done.revision == place_ + 1
            over = await seats[1].dispatch("place", {"cell": 8})
            assert isinstance(over, Refusal)
            assert over.code == "game_over"
            views = [view async for view in seats[1].views()]
            assert views[-1].ended
            assert views[-1].result == {"winner": "0"}
            log = await match.log()
            assert isinstance(log, list)
            assert sum(record.kind == "action" for record in log) == 5

    anyio.run(main, backend=backend)


def test_every_way_to_a_match_leads_there(place: Path) -> None:
    """Matches on all nodes are played through one home node that forwards, too."""

    async def main() -> None:
        options = ClientOptions(direct=False)
        async with connect(place, options=options) as client:
            for number in range(8):
                match = await client.create(
                    "tic-tac-toe", players=["0", "1"], key=f"forwarded-{number}"
                )
                assert isinstance(match, RemoteMatch)
                seat = await match.take("0")
                assert isinstance(seat, Seat)
                done = await seat.dispatch("place", {"cell": 4})
                assert isinstance(done, Accepted)
                view = await seat.resync(legal=True)
                assert isinstance(view, View)
                assert view.revision == 1

    anyio.run(main)


def matches_of(node: str, folder: Path) -> int:
    """Matches that a node serves and that have not ended."""
    status = json.loads(hotseat("status", "--dir", str(folder), "--json").stdout)
    (row,) = [row for row in status["nodes"] if row["node"] == node]
    return int(row["matches"])


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_a_killed_node_costs_no_match(loop: str, tmp_path: Path) -> None:
    """Its matches are played on by its followers; players notice a pause at most."""
    folder = tmp_path / "cluster"
    up = ("up", "--dir", str(folder), "--detach")
    started = hotseat(*up, HOTSEAT_NODE_LOOP=loop)
    assert started.returncode == 0, started.stderr
    try:
        arguments = ("--matches", "150", "--rate", "9999", "--game", "connect-four")
        command = [sys.executable, "-m", "hotseat.nodes.cli.main", "loadtest"]
        running = subprocess.Popen(
            [*command, "--dir", str(folder), "--json", *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        while matches_of("n1", folder) < 4:
            assert running.poll() is None, "it ended too soon"
        pid = holder_of(ClusterDir.load(folder).pid_path("n1"))
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        out, _ = running.communicate(timeout=COMMAND_TIMEOUT_S)
    finally:
        hotseat("down", "--dir", str(folder))
    report = json.loads(out)
    assert report["troubles"] == []
    assert report["matches_verified"] == 150
    assert running.returncode == 0
