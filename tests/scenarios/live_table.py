"""A match of connect four in a real cluster, and who sits at it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hotseat.engine.record import Record, RecordKind
from hotseat.nodes.chaos.cluster import ChaosCluster, ClusterPlan, chaos_cluster
from hotseat.nodes.client import Accepted, Client, RemoteMatch, Seat, connect
from hotseat.nodes.operator.match_feed import MatchFeed
from hotseat.nodes.operator.until_owned import until_owned
from hotseat.runtime.match_id import shard_of

__all__ = ["PATIENT_S", "Table", "seated", "table"]

PATIENT_S = 40.0


class Table:
    """Twelve moves can be made, none of which wins."""

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
        records = await until_owned(
            MatchFeed(self.cluster.home.path, self.match.id).fetch
        )
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
