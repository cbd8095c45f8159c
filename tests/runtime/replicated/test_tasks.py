"""Replicated matches whose actors have tasks, as in a node."""

from __future__ import annotations

import anyio
import pytest

from hotseat.runtime.frame import Accepted, Created, Sync, TakeSeat, ViewUpdate
from hotseat.runtime.options import SupervisorOptions

from ..hosting import ALICE, BOB, TOKEN_A, TOKEN_B, dispatch
from ..node_stage import create_frame
from ..sample_games import race
from .stage import ReplicaNode


async def seated(node: ReplicaNode, key: str = "key") -> str:
    """A match with both seats taken."""
    node.supervisor.handle_batch([(ALICE, create_frame("race", key))])
    await anyio.wait_all_tasks_blocked()
    [(_, created)] = node.outlet.take()
    assert isinstance(created, Created)
    match = created.match
    node.supervisor.handle_batch(
        [
            (ALICE, TakeSeat(1, match, 1, "0", TOKEN_A)),
            (BOB, TakeSeat(2, match, 1, "1", TOKEN_B)),
        ]
    )
    await anyio.wait_all_tasks_blocked()
    node.outlet.take()
    return match


async def commits_late() -> None:
    """What a wake-up caused is proposed once; commits are told without a wake-up."""
    node = ReplicaNode(race(goal=2))
    node.serve(1)
    async with node.supervisor:
        one, two = await seated(node, "one"), await seated(node, "two")
        node.replicas.automatic = False
        before = node.replicas.proposals
        node.supervisor.handle_batch(
            [
                (BOB, Sync(3, one, 1)),
                (ALICE, dispatch(4, one, "0", 1, "add", 2)),
                (ALICE, dispatch(5, two, "0", 1, "keep")),
            ]
        )
        await anyio.wait_all_tasks_blocked()
        assert node.replicas.proposals == before + 1
        kinds = [type(frame) for _, frame in node.outlet.take()]
        assert kinds == [ViewUpdate]  # of the revision before
        node.replicas.commit()
        kinds = [type(frame) for _, frame in node.outlet.take()]
        assert sorted(kind.__name__ for kind in kinds) == [
            "Accepted",
            "Accepted",
            "ViewUpdate",
        ]
        await anyio.wait_all_tasks_blocked()
        statistics = node.supervisor.statistics()
        assert (statistics.ended, statistics.running) == (1, 1)


async def rests_and_wakes() -> None:
    """An idle match has no task; an action gives it one again."""
    node = ReplicaNode(race(), options=SupervisorOptions(rest_after_s=1))
    node.serve(1)
    async with node.supervisor:
        match = await seated(node)
        node.clock.ms = 5_000
        node.supervisor.tick(5_000)
        await anyio.wait_all_tasks_blocked()
        assert node.supervisor.statistics().resident == 1
        for action in (1, 2):
            asked = dispatch(7, match, "0", action, "keep")
            node.supervisor.handle_batch([(ALICE, asked)])
            await anyio.wait_all_tasks_blocked()
            [(_, answer)] = node.outlet.take()
            assert isinstance(answer, Accepted)
            assert node.supervisor.statistics().running == 1


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_commits_that_come_late(backend: str) -> None:
    """On either loop."""
    anyio.run(commits_late, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_match_that_rests_wakes(backend: str) -> None:
    """On either loop."""
    anyio.run(rests_and_wakes, backend=backend)
