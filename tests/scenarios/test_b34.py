"""B34: a long loop in a handler is cut by a budget; other matches do not notice."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from hotseat.nodes.client import Accepted, Refusal, RemoteMatch, Seat, connect
from hotseat.nodes.supervisor.watchdog import Watchdog
from hotseat.runtime.actor import MatchActor
from hotseat.runtime.frame import Accepted as AcceptedFrame
from hotseat.runtime.frame import Created, Refused, Sync, ViewUpdate
from hotseat.runtime.lifecycle import StopReason
from hotseat.runtime.options import MatchOptions, SupervisorOptions

from ..runtime import looping_game
from ..runtime.hosting import ALICE, BOB, WATCHER, TrioClock, dispatch
from ..runtime.looping_game import LOOPS, looping, spin
from ..runtime.node_stage import EPOCH, NodeStage, create_frame, node_stage
from ..runtime.sample_games import race
from ..system.shell import hotseat, running_cluster

pytestmark = pytest.mark.usefixtures("strikes_anywhere")

BUDGET_S = 0.05
ANY_NUMBER = SupervisorOptions(match=MatchOptions(resolver_timeouts_max=100))


def actor_of(node: NodeStage, match: str) -> MatchActor:
    actor = node.supervisor.actor(match)
    assert actor is not None
    return actor


@pytest.mark.parametrize("loop", sorted(LOOPS))
async def test_b34_a_loop_costs_its_own_action_alone(loop: str) -> None:
    """B34: refused with `resolver_timeout`; G as it was; the match is open; others in
    the same drain are answered; the line says which line it was."""
    with capture_logs() as logs, Watchdog(BUDGET_S) as guard:
        stage = node_stage(looping(), race(), guard=guard, options=ANY_NUMBER)
        async with stage as node:
            match = await node.seated("looping", "looping")
            others = [await node.seated("race", f"race-{n}") for n in range(5)]
            await node.act(match, "0", 1, "step")
            before = actor_of(node, match).ledger.state
            start_s = time.monotonic()
            frames = await node.tell(
                (ALICE, dispatch(1, match, "0", 2, loop)),
                *[
                    (ALICE, dispatch(2 + n, other, "0", 1, "keep"))
                    for n, other in enumerate(others)
                ],
            )
            assert time.monotonic() - start_s < 100 * BUDGET_S
            refused = [frame for frame in frames if isinstance(frame, Refused)]
            assert [frame.code for frame in refused] == ["resolver_timeout"]
            assert sum(isinstance(f, AcceptedFrame) for f in frames) == len(others)
            assert actor_of(node, match).ledger.state is before
            assert isinstance(await node.act(match, "1", 1, "step"), AcceptedFrame)
            assert isinstance(await node.act(match, "0", 2, "step"), AcceptedFrame)
    assert guard.statistics().interrupted == 1
    [line] = logs
    assert line["event"] == "budget_exceeded"
    assert (line["match"], line["game_event"]) == (match, loop)
    assert f"{Path(looping_game.__file__).name}:" in line["error"]
    if loop in ("spin", "recurse", "catch_exception"):
        assert line["label"] == f"resolver:{loop}"


async def test_b34_a_loop_in_a_view_costs_that_view_alone() -> None:
    """B34: `view_error` to who looks with it; those with another view get theirs."""
    with capture_logs() as logs, Watchdog(BUDGET_S) as guard:
        async with node_stage(looping(), guard=guard, options=ANY_NUMBER) as node:
            match = await node.seated("looping")
            await node.sync(WATCHER, match)
            await node.sync(BOB, match, "1")
            frames = await node.tell((ALICE, dispatch(1, match, "0", 1, "blind")))
            assert {type(frame) for frame in frames} == {
                AcceptedFrame,
                Refused,
                ViewUpdate,
            }
            assert await node.refused(WATCHER, Sync(0, match, EPOCH)) == "view_error"
    assert {line["label"] for line in logs} == {"public view"}


async def test_b34_a_loop_in_a_derivation_refuses_the_step_to_it() -> None:
    """B34: the state whose label does not end is not entered."""
    with capture_logs() as logs, Watchdog(BUDGET_S) as guard:
        async with node_stage(looping(), guard=guard) as node:
            match = await node.seated("looping")
            late = dispatch(0, match, "0", 1, "late")
            assert await node.refused(ALICE, late) == "resolver_timeout"
            assert isinstance(await node.act(match, "0", 1, "step"), AcceptedFrame)
    assert [line["label"] for line in logs] == ["label of state play"]


async def test_b34_a_match_that_loops_again_and_again_is_set_apart() -> None:
    """B34: after three budgets it is asked no more; the node has its time back."""
    with capture_logs() as logs, Watchdog(BUDGET_S) as guard:
        async with node_stage(looping(), race(), guard=guard) as node:
            match = await node.seated("looping", "a")
            other = await node.seated("race", "b")
            for _ in range(3):
                loop = dispatch(0, match, "0", 1, "spin")
                assert await node.refused(ALICE, loop) == "resolver_timeout"
            for request in (loop, Sync(0, match, EPOCH)):
                assert await node.refused(ALICE, request) == "quarantined"
            again = create_frame("looping", "a")
            assert await node.refused(ALICE, again) == "quarantined"
            assert isinstance(await node.act(other, "0", 1, "keep"), AcceptedFrame)
            assert node.supervisor.statistics().quarantined == 1
            assert actor_of(node, match).stop_reason is StopReason.RUNAWAY
    assert guard.statistics().interrupted == 3
    last = logs[-1]
    assert (last["event"], last["code"]) == ("match_quarantined", "quarantined")


async def test_b34_a_game_that_loops_at_the_start_makes_no_match() -> None:
    """B34: after three attempts it is not tried again for a while."""
    endless = looping(setup=spin)
    with capture_logs() as logs, Watchdog(BUDGET_S) as guard:
        stage = node_stage(endless, race(), guard=guard, clock=TrioClock())
        async with stage as node:
            for number in range(5):
                frame = create_frame("looping", f"key-{number}")
                assert await node.refused(ALICE, frame) == "resolver_timeout"
            assert isinstance(await node.create("race"), Created)
            assert node.supervisor.statistics().created == 1
    assert guard.statistics().interrupted == 3
    assert [line["event"] for line in logs] == ["budget_exceeded"] * 3
    assert all("looping_game.py" in line["error"] for line in logs)


@pytest.fixture(params=["asyncio", "uvloop", "trio"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A cluster of one node, on each loop, that hosts the looping game as well."""
    if request.param == "uvloop":
        pytest.importorskip("uvloop")
    shutil.copy(looping_game.__file__, tmp_path / "looping_game.py")
    environ = {
        "HOTSEAT_NODE_LOOP": request.param,
        "HOTSEAT_SUPERVISOR_MATCH_RESOLVER_TIMEOUTS_MAX": "1000",
    }
    up = ("--nodes", "1", "--game", "looping_game:game")
    with running_cluster(tmp_path, *up, **environ):
        yield tmp_path


async def loop_on(seat: Seat, answers: list[Any], done: anyio.Event) -> None:
    """One way to loop after the other, until `done`."""
    while not done.is_set():
        for name in LOOPS:
            answers.append(await seat.dispatch(name))


@pytest.mark.system
@pytest.mark.slow
def test_b34_the_other_matches_of_a_node_finish(place: Path) -> None:
    """B34: while one match loops in every way, all others are played and verified."""
    answers: list[Any] = []

    async def main() -> None:
        async with connect(place / ".hotseat") as client:
            match = await client.create("looping", players=["0", "1"])
            assert isinstance(match, RemoteMatch)
            seat = await match.take("0")
            assert isinstance(seat, Seat)
            done = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(loop_on, seat, answers, done)
                arguments = ("--matches", "5", "--game", "tic-tac-toe", "--json")
                load = await anyio.to_thread.run_sync(
                    lambda: hotseat("loadtest", *arguments, cwd=place)
                )
                done.set()
            assert load.returncode == 0, (load.stdout, load.stderr)
            report = json.loads(load.stdout)
            assert report["matches_finished"] == report["matches_verified"] == 5
            assert isinstance(await seat.dispatch("step"), Accepted)

    anyio.run(main)
    assert {type(answer) for answer in answers} == {Refusal}
    assert {answer.code for answer in answers} == {"resolver_timeout"}
    [log] = (place / ".hotseat" / "logs").glob("n1*")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert "budget_exceeded" in [line["event"] for line in lines]
    assert not any(line.get("unlisted") for line in lines)
