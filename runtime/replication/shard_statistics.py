"""What one replica knows of its shard, for operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .node_statistics import replica_lags
from .shard import ShardReplica

__all__ = ["ShardStatistics"]


@dataclass(frozen=True, slots=True)
class ShardStatistics:
    """Owner, epoch, sets and move are the record's, as this node has read it."""

    role: str
    """A `Role`: what this node is to the shard."""
    serving: bool
    stopped: str
    """The code of the alarm that stopped this replica; "" if none did."""
    owner: str
    """"" if nobody ever owned it."""
    epoch: int
    isr: tuple[str, ...]
    want: tuple[str, ...]
    moving_to: str
    """Who is to become the owner by a planned move; "" if there is none."""
    commit: int
    last_seq: int
    lag: Mapping[str, int]
    """At an owner: entries that each other replica lacks."""
    learning: tuple[str, ...]
    """At an owner: who catches up."""
    degraded: bool
    """At an owner: it takes no actions, for lack of copies in sync."""
    last_epoch: int
    """Of the last entry in the log."""
    promised: int
    """The highest epoch that this replica has promised, or seen in a record."""
    history: int
    """The epoch in which the shard went on from an old copy; 0: never."""
    recovering: bool
    """It is about to, here."""

    @classmethod
    def of(cls, replica: ShardReplica) -> ShardStatistics:
        """Read a replica."""
        record, owned = replica.register.record, replica.ownership
        move = None if record is None else record.move
        others = None if owned is None else owned.membership
        learners = () if others is None else others.learners
        return cls(
            role=replica.role.value,
            serving=replica.serving,
            stopped=replica.stopped or "",
            owner="" if record is None else record.owner or "",
            epoch=0 if record is None else record.epoch,
            isr=() if record is None else tuple(node for node, _ in record.isr),
            want=() if record is None else record.want,
            moving_to="" if move is None else move.to,
            commit=replica.commit,
            last_seq=replica.last_seq,
            lag=dict(replica_lags(replica)),
            learning=tuple(peer.node for peer in learners),
            degraded=others is not None
            and (others.degraded or not others.enough_copies()),
            last_epoch=replica.data.log.last_epoch,
            promised=max(replica.data.promised, replica.register.epoch_seen),
            history=0 if record is None else record.history,
            recovering=replica.recovering,
        )
