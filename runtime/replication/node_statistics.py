"""Figures of all replicas of a node, for operators and metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from .role import Role
from .shard import ShardReplica

__all__ = ["NodeStatistics"]


@dataclass(frozen=True, slots=True)
class NodeStatistics:
    """Gauges, named in `GAUGES`, and counters since the start of the process."""

    GAUGES: ClassVar[frozenset[str]] = frozenset(
        {
            "open",
            "owned",
            "serving",
            "following",
            "learning",
            "claiming",
            "stopped",
            "outstanding",
            "uncommitted",
            "writes_in_flight",
        }
    )

    open: bool
    """The boot protocol is done: this node may serve."""
    owned: int
    serving: int
    following: int
    learning: int
    claiming: int
    stopped: int
    outstanding: int
    """Shards meant for this node that it neither serves nor follows in sync yet."""
    uncommitted: int
    """Entries that wait for a commit, in all shards that are owned."""
    writes_in_flight: int
    """Requests to the coordinator without an answer."""
    want_edits: int
    """Proposals of who shall hold a shard."""

    @classmethod
    def of(
        cls,
        shards: Sequence[ShardReplica],
        *,
        open: bool,
        outstanding: int,
        writes_in_flight: int,
        want_edits: int,
    ) -> NodeStatistics:
        """Add up what the shards say."""
        roles = Counter(shard.role for shard in shards)
        return cls(
            open=open,
            owned=roles[Role.OWNER],
            serving=sum(shard.serving for shard in shards),
            following=roles[Role.FOLLOWER],
            learning=roles[Role.LEARNER],
            claiming=roles[Role.CANDIDATE],
            stopped=sum(shard.stopped is not None for shard in shards),
            outstanding=outstanding,
            uncommitted=sum(
                shard.last_seq - shard.commit
                for shard in shards
                if shard.role is Role.OWNER
            ),
            writes_in_flight=writes_in_flight,
            want_edits=want_edits,
        )
