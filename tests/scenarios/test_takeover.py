"""B65, B66, B75, B76: an owner dies, hangs, or only seems to."""

from __future__ import annotations

import anyio
import pytest

from hotseat.nodes.chaos.cluster import ClusterPlan
from hotseat.nodes.client import Accepted

from .live_table import PATIENT_S, table

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(120)]

DOWN_S = 60.0
"""Longer than a test: a node that was killed stays away."""


async def test_b65_an_action_in_flight_when_its_owner_dies_is_there_once() -> None:
    """The kill falls before the append, before the commit, before the answer, or
    after it: the player, who repeats under the same key, has it once."""
    accepted: list[Accepted] = []
    async with table() as it:
        for delay_ms in (0.0, 0.5, 1.0, 2.0, 4.0):
            await it.cluster.until_full(PATIENT_S)
            owner = await it.owner()
            async with anyio.create_task_group() as tasks:

                async def act() -> None:
                    accepted.append(await it.move())

                tasks.start_soon(act)
                await anyio.sleep(delay_ms / 1000)
                it.cluster.processes.kill([owner])
        accepted.append(await it.move())
        await it.check(accepted)


async def test_b66_an_owner_that_sleeps_through_its_deposition_is_fenced() -> None:
    """What waits for it is done once, by its successor; waking, it steps down."""
    async with table() as it:
        accepted = [await it.move()]
        owner = await it.owner()
        it.cluster.processes.freeze(owner)
        with anyio.fail_after(5.0):
            accepted.append(await it.move())  # it was sent to the one that sleeps
            accepted.append(await it.move())
        it.cluster.processes.thaw(owner)
        health = await it.cluster.until_full(PATIENT_S)
        assert health.owners[it.shard] != owner
        assert owner in health.ready
        accepted.append(await it.move())
        await it.check(accepted)


async def test_b75_a_node_that_is_silent_for_a_moment_keeps_its_matches() -> None:
    """A missed heartbeat or two is no death: nothing changes its owner."""
    async with table() as it:
        accepted = [await it.move()]
        before = await it.cluster.health()
        owner = before.owners[it.shard]
        it.cluster.processes.freeze(owner)
        await anyio.sleep(0.25)
        it.cluster.processes.thaw(owner)
        accepted.append(await it.move())
        after = await it.cluster.until_full(PATIENT_S)
        assert after.owners == before.owners
        await it.check(accepted)


async def test_b76_a_node_that_stops_without_goodbye_leaves_no_ghosts() -> None:
    """Its shards have other owners in seconds, and nobody lists it as one."""
    async with table(ClusterPlan(restart_s=DOWN_S)) as it:
        accepted = [await it.move()]
        owner = await it.owner()
        it.cluster.processes.kill([owner])
        accepted.append(await it.move())
        with anyio.fail_after(5.0):
            while True:
                health = await it.cluster.health()
                if len(health.owners) == it.cluster.home.shards:
                    break
                await anyio.sleep(0.05)
        assert owner not in health.owners.values()
        assert owner not in health.answering
        await it.check(accepted)
