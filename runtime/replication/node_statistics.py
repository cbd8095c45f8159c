"""Figures of all replicas of a node, for operators and metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..control_plane import ShardRecord
from .message import Fenced, InstallPage, Join, Message, Nacked
from .output import Output
from .role import Role
from .shard import ShardReplica

__all__ = ["NodeCounters", "NodeStatistics", "replica_lags"]


@dataclass(slots=True)
class NodeCounters:
    """What has happened since the start of the process."""

    GAUGES: ClassVar[frozenset[str]] = frozenset()

    claims: int = 0
    """Records written that made this node an owner, in a new epoch."""
    handovers: int = 0
    """Records written that made another node the owner."""
    joins: int = 0
    """Replicas taken into an in-sync set."""
    evictions: int = 0
    """Replicas put out of one, by their owner."""
    demotions: int = 0
    served: int = 0
    """Times that a shard began to be served here."""
    committed: int = 0
    """Entries, here as an owner or a follower."""
    confirmed: int = 0
    nacks: int = 0
    """Received: a follower's log did not join on."""
    fences: int = 0
    """Received: somebody has promised a higher epoch."""
    rejoins: int = 0
    """Received: a replica has another identity than its owner thought."""
    installs_sent: int = 0
    installs_taken: int = 0
    conflicts: int = 0
    """Writes of records that found another revision."""
    unknowns: int = 0
    """Writes of records of which nobody knows whether they landed."""
    want_edits: int = 0
    """Proposals of who shall hold a shard."""
    moves_asked: int = 0
    """Proposals of who shall own a shard, by the placer or a node that leaves."""
    alarms: int = 0

    def wrote(self, before: ShardRecord | None, after: ShardRecord, node: str) -> None:
        """A write of `node`, over the record as it was known, has landed."""
        if after.epoch == 0:
            return
        if before is None or after.epoch != before.epoch:
            self.claims += after.owner == node
            self.handovers += after.owner != node
            return
        self.joins += len(set(after.isr) - set(before.isr))
        self.evictions += len(set(before.isr) - set(after.isr))

    def received(self, message: Message) -> None:
        """A message came."""
        self.nacks += isinstance(message, Nacked)
        self.fences += isinstance(message, Fenced)
        self.rejoins += isinstance(message, Join)

    def collected(self, output: Output) -> None:
        """This is about to be obeyed."""
        self.alarms += len(output.alarms)
        self.demotions += len(output.demoted)
        self.served += len(output.serving)
        self.confirmed += len(output.confirmed)
        for committed in output.committed:
            self.committed += len(committed.entries)
        for install in output.installs:
            self.installs_taken += install.last
        for send in output.sends:
            if isinstance(send.message, InstallPage):
                self.installs_sent += send.message.last


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
            "short",
            "degraded",
            "outstanding",
            "pinned",
            "uncommitted",
            "writes_in_flight",
            "lag",
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
    """Taking no part, since something is wrong: see the alarm."""
    short: int
    """Shards owned here with fewer copies in sync than are wanted."""
    degraded: int
    """Shards owned here that take no actions, for lack of copies in sync."""
    outstanding: int
    """Shards meant for this node that it neither serves nor follows in sync yet."""
    pinned: int
    """Matches of the cluster that have a shard of their own."""
    uncommitted: int
    """Entries that wait for a commit, in all shards that are owned."""
    writes_in_flight: int
    """Requests to the coordinator without an answer."""
    lag: int
    """Entries that the replica furthest behind lacks, of a shard that is owned here."""
    lag_by_node: Mapping[str, int]
    """By node: entries that its replicas of the shards owned here lack, together."""
    counters: NodeCounters

    @classmethod
    def of(
        cls,
        shards: Sequence[ShardReplica],
        counters: NodeCounters,
        *,
        open: bool,
        outstanding: int,
        pinned: int,
        writes_in_flight: int,
    ) -> NodeStatistics:
        """Add up what the shards say."""
        roles = Counter(shard.role for shard in shards)
        owned = [shard for shard in shards if shard.role is Role.OWNER]
        lags = [lag for shard in owned for lag in replica_lags(shard)]
        by_node: Counter[str] = Counter()
        for node, lag in lags:
            by_node[node] += lag
        return cls(
            open=open,
            owned=roles[Role.OWNER],
            serving=sum(shard.serving for shard in shards),
            following=roles[Role.FOLLOWER],
            learning=roles[Role.LEARNER],
            claiming=roles[Role.CANDIDATE],
            stopped=sum(shard.stopped is not None for shard in shards),
            short=sum(_is_short(shard) for shard in owned),
            degraded=sum(_is_degraded(shard) for shard in owned),
            outstanding=outstanding,
            pinned=pinned,
            uncommitted=sum(shard.last_seq - shard.commit for shard in owned),
            writes_in_flight=writes_in_flight,
            lag=max((lag for _, lag in lags), default=0),
            lag_by_node=dict(by_node),
            counters=counters,
        )


def _is_short(shard: ShardReplica) -> bool:
    record = shard.register.record
    return record is not None and len(record.isr) < len(record.want)


def _is_degraded(shard: ShardReplica) -> bool:
    if shard.ownership is None:
        return False
    membership = shard.ownership.membership
    return membership.degraded or not membership.enough_copies()


def replica_lags(shard: ShardReplica) -> Iterator[tuple[str, int]]:
    """Node and entries that it lacks, for each other replica that an owner feeds."""
    if shard.ownership is not None:
        membership = shard.ownership.membership
        for peer in (*membership.members, *membership.learners):
            yield peer.node, shard.last_seq - peer.match
