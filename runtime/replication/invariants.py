"""What must hold of a replica after every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .role import Role

if TYPE_CHECKING:
    from .shard import ShardReplica

__all__ = ["check_replica"]


def check_replica(replica: ShardReplica) -> None:
    """Raises AssertionError: the core is wrong."""
    data, owner, shard = replica.data, replica.ownership, replica.context.shard
    last = data.last_seq
    assert data.log.base_seq <= data.commit <= last, (shard, data.commit, last)
    durable = (data.durable_seq, data.journaled_seq, last)
    assert durable[0] <= durable[1] <= last, (shard, durable)
    assert (owner is not None) == (replica.role is Role.OWNER), (shard, replica.role)
    candidate = replica.role is Role.CANDIDATE
    assert (replica.takeover.goal is not None) == candidate, (shard, replica.role)
    if owner is None:
        return
    record = replica.register.record
    assert record is not None, shard
    assert record.owner == replica.context.me.node, (shard, record)
    # An epoch is owned as long as the newest record that was read names it.
    assert record.epoch == owner.epoch <= data.promised, (shard, record)
    assert replica.context.mine in record.isr, (shard, record)
    owner.check()
