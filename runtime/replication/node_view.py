"""What may be asked of a node's replicas: nothing here changes anything."""

from __future__ import annotations

from dataclasses import replace

from ..control_plane import ShardRecord
from ..pin_table import PinTable
from .handovers import Handovers
from .identity import Identity
from .me import Me
from .node_statistics import NodeCounters, NodeStatistics
from .pin_board import PinBoard
from .readings import Readings
from .record_writer import RecordWriter
from .shard_statistics import ShardStatistics
from .shards import Shards

__all__ = ["NodeView"]


class NodeView:
    """The questions; `NodeReplicas` has the answers."""

    _counters: NodeCounters
    _identity: Identity
    _me: Me
    _readings: Readings
    _shards: Shards
    _touched: dict[int, None]
    _writer: RecordWriter

    @property
    def revision(self) -> int:
        """The coordinator's newest revision that was seen."""
        return self._readings.revision

    @property
    def pins(self) -> PinTable:
        """As far as they are known."""
        return self._me.pins.table

    @property
    def pin_board(self) -> PinBoard:
        """To be told what becomes of matches here that are pinned, or folded back."""
        return self._me.pins

    @property
    def handovers(self) -> Handovers:
        """Of shards that this node owned, and that were moved elsewhere."""
        return self._me.handovers

    @property
    def ident(self) -> str:
        """The replica identity of this node's data; "" before it is known."""
        return self._identity.ident

    @property
    def waits_for_trust(self) -> bool:
        """It serves nothing before an operator vouches for its data."""
        return self._identity.waits

    @property
    def boot(self) -> int:
        """Counts the starts on this node's data; final once it may serve."""
        return self._identity.boot

    @property
    def stirred(self) -> bool:
        """Something came since the last `collect`: another one has something to say."""
        return bool(self._touched)

    def serving(self) -> dict[int, int]:
        """Epoch by shard, for the shards that are served now."""
        return {
            shard: replica.epoch
            for shard, replica in self._shards.items()
            if replica.serving
        }

    def outstanding(self) -> int:
        """Shards meant for this node that it neither serves nor follows in sync yet.

        All of them until the first listing; stopped ones are not counted.
        """
        if not self._readings.listed:
            return len(self._shards)
        return self._shards.outstanding(self._readings.records, self._me)

    def record(self, shard: int) -> ShardRecord | None:
        """The newest reading of a shard's record."""
        return self._readings.records.get(shard)

    def uncommitted(self, shard: int) -> int:
        """Entries of a shard that wait for its copies here."""
        replica = self._shards[shard]
        return replica.last_seq - replica.commit

    def shard_statistics(self, shard: int) -> ShardStatistics:
        """What this node's replica of a shard knows."""
        return ShardStatistics.of(self._shards[shard])

    def statistics(self) -> NodeStatistics:
        """Gauges and counters of all shards together."""
        return NodeStatistics.of(
            list(self._shards.values()),
            replace(self._counters),
            open=self._identity.open,
            outstanding=self.outstanding(),
            pinned=len(self.pins),
            writes_in_flight=self._writer.in_flight,
        )

    def check(self) -> None:
        """The invariants of every shard; `collect` checks those that it settles.

        Raises:
            AssertionError: This core is wrong.
        """
        self._shards.check(may_own=self._identity.open)
