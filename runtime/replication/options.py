"""Options of replication: times in milliseconds, sizes in bytes or entries."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["ReplicationOptions"]


@dataclass(frozen=True, slots=True)
class ReplicationOptions:
    """May differ from node to node; all numbers are positive."""

    heartbeat_ms: int = 100
    """Between two `Alive` to each peer."""
    evict_ms: int = 700
    """A follower that is silent, or makes no progress, so long leaves the in-sync set.
    Below `steal_ms`: a healthy owner evicts before that follower steals."""
    steal_ms: int = 1200
    """Silence of an owner after which an in-sync follower claims its shard."""
    steal_gone_ms: int = 900
    """The same, if the owner's registration is gone too."""
    stagger_ms: int = 50
    """Per place in the in-sync set, so that followers do not all claim at once."""
    retransmit_ms: int = 200
    """Entries without an answer are sent again after so long."""
    hold_ms: int = 200
    """A planned change of owner may hold new actions so long."""
    pin_hold_ms: int = 1000
    """A match that is being pinned, or folded back, is held so long; then it goes on
    where it is as soon as that is safe."""
    pin_idle_ms: int = 60_000
    """A pinned match whose home has had the same owner for so long is folded back:
    nothing is gained by its pin."""
    pins_max: int = 256
    """Matches that may be pinned in a cluster: each has a record, a log, and a place in
    every heartbeat."""
    first_claim_ms: int = 1000
    """Per place in `want`: who claims a shard that nobody has ever owned."""
    cas_pause_ms: int = 100
    """After an unknown outcome; doubled each time, up to ..."""
    cas_pause_ms_max: int = 2000
    append_entries_max: int = 512
    """Entries in one frame, and ..."""
    append_bytes_max: int = 256 * 1024
    """... bytes of them; one entry alone may be larger."""
    window_entries: int = 4096
    """Unacknowledged entries of one follower; beyond, it is behind its window."""
    kept_entries: int = 4096
    """Committed entries kept in memory for learners; who is further behind is sent
    states."""
    kept_bytes: int = 4 * 1024 * 1024
    catch_up_entries: int = 16
    """Committed entries that the learners of a node give their host in one step, and
    one for each more: those that catch up at once must not hold up the rest of the
    node. More, if they are far behind."""
    catch_up_pause_ms: int = 5
    """Until a learner's next such step; longer, the more of them there are."""
    uncommitted_entries: int = 8192
    """Entries of a shard that may wait for a commit; then proposals are refused."""

    placer_grace_ms: int = 30_000
    """A replica whose node has not been registered for so long is replaced."""
    placer_edits_per_minute: int = 120
    """Changes of `want` that one placer proposes: each costs a copy of a shard."""
    rebalance: bool = True
    """Copies and owners spread evenly by themselves, at the node that places."""
    rebalance_settle_ms: int = 1000
    """Nothing is moved for that before so long nothing has changed: no takeover, no
    join, no node that came or went."""
    moves_per_minute: int = 120
    """Changes of owners or copies for an even spread, two at a time. So the third of
    16 shards is back in a few seconds, and that of 256 in less than a minute."""

    def validate(self) -> tuple[str, ...]:
        """Every fault, as one sentence each; empty when all is well."""
        faults = [
            f"{field.name} must be positive, not {value}"
            for field in fields(self)
            if field.name != "rebalance"
            and not (value := getattr(self, field.name)) > 0
        ]
        if not 3 * self.heartbeat_ms <= self.evict_ms < self.steal_gone_ms:
            faults.append("3 heartbeat_ms <= evict_ms < steal_gone_ms must hold")
        if not 20 * self.catch_up_pause_ms <= self.retransmit_ms:
            # Else all would be sent again while it is caught up with.
            faults.append(
                "catch_up_pause_ms must be a twentieth of retransmit_ms at most"
            )
        if not self.steal_gone_ms <= self.steal_ms:
            faults.append("steal_gone_ms must not exceed steal_ms")
        return tuple(faults)
