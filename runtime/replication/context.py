"""What the roles of one replica share."""

from __future__ import annotations

from dataclasses import dataclass

from ..control_plane import SHARDS_MAX, ShardRecord
from .data import ReplicaData
from .effects import Effects
from .me import Me
from .options import ReplicationOptions
from .output import Alarm
from .register import RecordRegister
from .role import Role

__all__ = ["Context"]


@dataclass(slots=True)
class Context:
    """One shard's replica at this node."""

    shard: int
    me: Me
    effects: Effects
    options: ReplicationOptions
    data: ReplicaData
    register: RecordRegister
    layout: tuple[str, ...] = ()
    stopped: str | None = None
    """Why it takes no part any more; unlike the register's, for good."""

    @property
    def mine(self) -> tuple[str, str]:
        """How this replica stands in an in-sync set."""
        return (self.me.node, self.me.ident)

    def in_isr(self) -> bool:
        """Whether the record has this very replica in the in-sync set."""
        record = self.register.record
        return record is not None and self.mine in record.isr

    def role_by_record(self) -> Role:
        """What it is if it neither owns nor claims the shard."""
        record = self.register.record
        if record is None or self.register.stopped is not None:
            return Role.IDLE
        if self.mine in record.isr:
            return Role.FOLLOWER
        node = self.me.node
        moves_here = record.move is not None and record.move.to == node
        return Role.LEARNER if moves_here or node in record.want else Role.IDLE

    def is_lost(self, record: ShardRecord) -> bool:
        """All of the in-sync set were earlier replicas of this very node."""
        return (
            bool(self.me.ident)
            and record.owner is not None
            and all(node == self.me.node for node, _ in record.isr)
            and self.mine not in record.isr
        )

    @property
    def pinned(self) -> bool:
        """Its shard is that of one pinned match."""
        return self.shard >= SHARDS_MAX

    @property
    def based(self) -> bool:
        """It holds durably what the log begins behind. A pinned shard begins with what
        its match was when it left its home shard: who has not got that yet, from its
        own copy or from the owner, has nothing to acknowledge, or to claim, with."""
        return not self.pinned or self.data.durable_seq >= 1

    def lacks_base(self) -> bool:
        """In a pinned shard's in-sync set, without what its log begins behind."""
        return self.pinned and not self.based and self.in_isr()

    def alarm(self, code: str, message: str) -> None:
        self.effects.alarms.append(Alarm(self.shard, code, message))

    def halt(self, code: str, message: str) -> None:
        """Stop the shard here: something is wrong that time does not mend."""
        if self.stopped is None:
            self.stopped = code
            self.alarm(code, message)
