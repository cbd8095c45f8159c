"""The replicas of a node by shard: the cluster's fixed shards, and pinned matches'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..control_plane import SHARDS_MAX, ShardRecord
from .effects import Effects
from .me import Me
from .options import ReplicationOptions
from .recovered import RecoveredShard
from .role import Role
from .shard import ShardReplica

__all__ = ["Shards"]


class Shards(dict[int, ShardReplica]):
    """Begins with the fixed ones, and the pinned ones of which the disk has something.

    Others come as their records are read.
    """

    def __init__(
        self,
        me: Me,
        effects: Effects,
        options: ReplicationOptions,
        recovered: Mapping[int, RecoveredShard],
        layout: Sequence[tuple[str, ...]],
    ) -> None:
        super().__init__()
        self._parts = (me, effects, options)
        self._recovered = dict(recovered)
        for shard, wanted in enumerate(layout):
            self.add(shard, wanted)
        for shard, found in sorted(self._recovered.items()):
            if shard >= SHARDS_MAX and (found.base_seq or found.entries):
                self.add(shard)

    def add(self, shard: int, layout: tuple[str, ...] = ()) -> None:
        """`layout`: who shall hold it, if its record is to be made here."""
        recovered = self._recovered.pop(shard, None)
        self[shard] = ShardReplica(shard, *self._parts, recovered, layout)

    def outstanding(self, records: Mapping[int, ShardRecord | None], me: Me) -> int:
        """Shards meant for this node that it neither serves nor follows in sync yet."""
        return sum(
            self._is_outstanding(replica, records.get(shard), me)
            for shard, replica in self.items()
        )

    def check(self, *, may_own: bool) -> None:
        """The invariants of every replica.

        Raises:
            AssertionError: This core is wrong.
        """
        for replica in self.values():
            replica.check()
            assert may_own or replica.role is not Role.OWNER, replica.role

    @staticmethod
    def _is_outstanding(
        replica: ShardReplica, record: ShardRecord | None, me: Me
    ) -> bool:
        if replica.stopped is not None:
            return False
        if record is None:
            return True
        if record.owner == me.node:
            return not replica.serving
        return me.node in record.want and (me.node, me.ident) not in record.isr
