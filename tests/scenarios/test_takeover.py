"""B65, B66, B75, B76: an owner dies, hangs, or only seems to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from hotseat.engine.record import Record, RecordKind
from hotseat.nodes.chaos.cluster import ChaosCluster, ClusterPlan, chaos_cluster
from hotseat.nodes.client import Accepted, Client, RemoteMatch, Seat, connect
from hotseat.nodes.operator.match_feed import MatchFeed
from hotseat.runtime.match_id import shard_of

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(120)]

PATIENT_S = 40.0
DOWN_S = 60.0
"""Longer than a test: a node that was killed stays away."""


class Table:
    """A match of connect four in a real cluster, and who sits at it."""

    def __init__(self, cluster: ChaosCluster, match: RemoteMatch, seats: list[Seat]):
        self.cluster = cluster
        self.match = match
        self.seats = seats
        self.shard = shard_of(match.id, cluster.home.shards)
        self.moves = 0

    async def owner(self) -> str:
        return (await self.cluster.health()).owners[self.shard]

    async def move(self) -> Accepted:
        """The seat that is to move drops a disc: the columns fill without a line."""
        column = (0, 1, 0, 1, 1, 0, 2, 3, 2, 3, 3, 2)[self.moves]
        seat = self.seats[self.moves % 2]
        self.moves += 1
        outcome = await seat.dispatch("drop", {"column": column}, timeout_s=PATIENT_S)
        assert isinstance(outcome, Accepted), outcome
        return outcome

    async def actions(self) -> list[Record]:
        records = await MatchFeed(self.cluster.home.path, self.match.id).fetch()
        return [record for record in records if record.kind is RecordKind.ACTION]

    async def check(self, accepted: list[Accepted]) -> None:
        """Each is in the log once, where it was acknowledged; all see the same."""
        places = [record.index for record in await self.actions()]
        assert places == [outcome.index for outcome in accepted]
        views = [
            await seat.resync(timeout_s=PATIENT_S)
            for seat in (*self.seats, self.match.watch())
        ]
        revisions = {getattr(view, "revision", None) for view in views}
        assert revisions == {accepted[-1].revision}


@asynccontextmanager
async def table(plan: ClusterPlan | None = None) -> AsyncIterator[Table]:
    async with (
        chaos_cluster(plan or ClusterPlan()) as cluster,
        connect(cluster.home) as client,
    ):
        await cluster.until_full(PATIENT_S)
        yield await seated(cluster, client)


async def seated(cluster: ChaosCluster, client: Client) -> Table:
    match = await client.create("connect-four", players=["0", "1"])
    assert isinstance(match, RemoteMatch)
    seats = []
    for name in ("0", "1"):
        seat = await match.take(name)
        assert isinstance(seat, Seat)
        seats.append(seat)
    return Table(cluster, match, seats)


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
