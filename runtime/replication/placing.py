"""The placer at work: what it proposes is written, and its answers are awaited.

Nothing new is proposed before all that was proposed has been answered, or before the
coordinator's records have been read.
"""

from __future__ import annotations

from collections.abc import Collection

from ..fleet import Fleet
from ..rebalance import BalancePlan
from .me import Me
from .node_statistics import NodeCounters
from .placer import Placer
from .readings import Readings
from .record_writer import Origin, RecordWriter
from .shards import Shards

__all__ = ["Placing"]


class Placing:
    """One node's part in who holds and owns what."""

    def __init__(
        self,
        me: Me,
        placer: Placer,
        readings: Readings,
        shards: Shards,
        writer: RecordWriter,
        counters: NodeCounters,
    ) -> None:
        self._me = me
        self._placer = placer
        self._readings = readings
        self._shards = shards
        self._writer = writer
        self._counters = counters
        self._awaited = 0  # proposals that have no answer yet
        self.fleet = Fleet()
        """The nodes, as they were told last."""

    # What is told.

    def registered(self, fleet: Fleet, now_ms: int) -> None:
        """The nodes as they are known now."""
        self.fleet = fleet
        self._placer.registered(fleet, now_ms)

    def record_changed(self, now_ms: int) -> None:
        """Some shard's record is another one now."""
        self._placer.record_changed(now_ms)

    def answered(self) -> None:
        """Of a proposal, it is known whether it landed, or never will be."""
        self._awaited -= 1

    # What is asked.

    def rebalance(self) -> BalancePlan:
        """A round at this node, now; what it will come to as things stand."""
        self._placer.unfit = self._me.unfit
        self._placer.rebalance()
        return self.plan()

    def plan(self) -> BalancePlan:
        """What a round would do, and why not more."""
        return self._placer.plan(self._readings, self._stopped())

    @property
    def spreads(self) -> bool:
        """Rounds are done without being asked for."""
        return self._placer.spreads

    @property
    def state(self) -> str:
        """Of this node: up, draining or restarting."""
        if self._me.node in self.fleet.draining:
            return "draining"
        return "restarting" if self._me.node in self.fleet.restarting else "up"

    @property
    def boot(self) -> str:
        """This process, as its registration has it."""
        return self._me.nonce_prefix

    def owned(self) -> list[int]:
        """The shards that this node owns, by their records."""
        node = self._me.node
        return [s for s, record in self._readings.known() if record.owner == node]

    def is_done(self) -> bool:
        """Whether this node, which leaves, has handed over all that it can."""
        self._placer.unfit = self._me.unfit
        return not any(
            self._placer.has_place(shard, record)
            for shard, record in self._readings.known()
            if record.owner == self._me.node
        )

    def holding(self) -> tuple[int, int]:
        """Shards that this node owns, and other shards that it is in sync in."""
        me = (self._me.node, self._me.ident)
        owns = follows = 0
        for _, record in self._readings.known():
            if record.owner == me[0]:
                owns += 1
            else:
                follows += me in record.isr
        return owns, follows

    def unfit_for(self, shard: int) -> frozenset[str]:
        """The nodes that lack a game version that matches of the shard go on in, as
        far as is known here: for certain where the shard is."""
        record = self._readings.records.get(shard)
        self._placer.unfit = self._me.unfit
        return frozenset() if record is None else self._placer.unfit_for(shard, record)

    def copies_to_go(self) -> int:
        """The in-sync sets of others that this node, which drains, is to leave: some
        other node is to hold, or can be given, the copy."""
        me, up = (self._me.node, self._me.ident), self.fleet.up
        count = 0
        for shard, record in self._readings.known():
            if record.owner == me[0] or me not in record.isr:
                continue
            free = up.difference(record.want, self.unfit_for(shard))
            count += me[0] not in record.want or bool(free - self.fleet.full)
        return count

    def leftovers(self) -> dict[int, str]:
        """Of the shards that this node owns: why each has not gone elsewhere."""
        up, node = self.fleet.up, self._me.node
        found = {}
        for shard, record in self._readings.known():
            if record.owner != node:
                continue
            unfit = self._me.unfit.get(shard, frozenset())
            synced = sorted({n for n, _ in record.isr if n in up})
            if record.move is not None:
                found[shard] = f"it is on its way to {record.move.to}"
            elif not up:
                found[shard] = "no other node is up"
            elif not up - unfit:
                found[shard] = "the other nodes lack a game version of its matches"
            elif not synced:
                found[shard] = "no other node holds a copy in sync"
            else:
                found[shard] = f"{synced[0]} could take it, and has not been asked yet"
        return found

    # Steps.

    def due_ms(self, owned: Collection[int]) -> int | None:
        """When `place` may have something; `owned`: the shards owned here."""
        waits = self._awaited or not self._readings.listed
        return None if waits else self._placer.due_ms(owned)

    def place(self, owned: Collection[int], now_ms: int) -> None:
        """Propose what there is to propose."""
        due_ms = self.due_ms(owned)
        if due_ms is None or due_ms > now_ms:
            return
        unfit = self._me.unfit
        self._placer.unfit = unfit
        mine = {s: self._shards[s].in_sync for s in owned if s in unfit}
        writes = self._placer.writes(
            self._readings, self._stopped(), owned, mine, now_ms
        )
        moves = sum(write.record.move is not None for write in writes)
        self._counters.moves_asked += moves
        self._counters.want_edits += len(writes) - moves
        self._awaited += len(writes)
        self._writer.add(writes, Origin.PLACER)

    def _stopped(self) -> list[int]:
        return [s for s, r in self._shards.items() if r.stopped is not None]
