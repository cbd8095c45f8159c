"""Options of what a node holds of its matches."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["HostingOptions"]


@dataclass(frozen=True, slots=True)
class HostingOptions:
    """May differ from node to node; all are positive."""

    hot_max: int = 20_000
    """States in memory; beyond, those that were used longest ago go to disk."""
    passivate_idle_s: int = 300
    """Seconds without use after which a match's state is on disk only."""
    ended_kept_s: int = 60
    """Seconds that a match stays in memory after its end, or its last use since."""
    ended_retention_s: int | None = None
    """Seconds after the end at which a match's state and history are dropped; None:
    never."""
    checkpoint_entries: int = 4096
    """Entries of a shard after which its changed matches are saved, or ..."""
    checkpoint_bytes: int = 1024 * 1024
    """... bytes of them, or ..."""
    checkpoint_age_s: int = 30
    """... seconds since the first of them. They bound what a start plays again."""
    transfer_bytes: int = 256 * 1024
    """Bytes of one part of a match on its way to another replica."""
    copy_history_bytes: int = 256 * 1024
    """Bytes of the newest records that go with the copy of one match's state."""
    replay_records_max: int = 10_000
    """Records that are played from the beginning to get back a state that cannot be
    read; a longer match is set apart."""
    wake_attempts: int = 3
    """Failures to wake a match, or to play a record as its owner did, each after a
    longer pause, before it is set apart for good."""
    wake_pause_ms: int = 1_000
    """Before the second attempt; doubled each time."""
    copies_asked_max: int = 3
    """Times that the owner's copy of one match is asked for."""
    copy_timeout_ms: int = 5_000
    """After which it is asked for again."""

    def validate(self) -> tuple[str, ...]:
        """Every fault, as one sentence each; empty when all is well."""
        return tuple(
            f"{field.name} must be positive, not {value}"
            for field in fields(self)
            if (value := getattr(self, field.name)) is not None and not value > 0
        )
