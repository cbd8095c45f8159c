"""What a replica is to its shard, and which change of it may follow which."""

from __future__ import annotations

from enum import Enum

__all__ = ["TRANSITIONS", "Role"]


class Role(Enum):
    """One at a time."""

    IDLE = "idle"
    """Neither in the in-sync set nor wanted in it."""
    LEARNER = "learner"
    """Wanted, and not in the in-sync set yet: it catches up."""
    FOLLOWER = "follower"
    """In the in-sync set: every acknowledgement waits for it."""
    CANDIDATE = "candidate"
    """It has promised an epoch, and writes the record that makes it the owner."""
    OWNER = "owner"
    """The record names it, in an epoch that this process claimed or was handed."""


TRANSITIONS: dict[tuple[Role, Role], str] = {
    (Role.IDLE, Role.LEARNER): "it is wanted",
    (Role.IDLE, Role.FOLLOWER): "the record has it in the in-sync set",
    (Role.IDLE, Role.CANDIDATE): "an operator has it recover the shard",
    (Role.LEARNER, Role.IDLE): "it is wanted no longer",
    (Role.LEARNER, Role.FOLLOWER): "it joined the in-sync set",
    (Role.LEARNER, Role.CANDIDATE): "nobody ever owned the shard; or as above",
    (Role.FOLLOWER, Role.IDLE): "it was evicted and is wanted no longer",
    (Role.FOLLOWER, Role.LEARNER): "it was evicted",
    (Role.FOLLOWER, Role.CANDIDATE): "the owner is gone, or handed the shard over",
    (Role.CANDIDATE, Role.IDLE): "another one won and evicted it",
    (Role.CANDIDATE, Role.LEARNER): "another one won and evicted it",
    (Role.CANDIDATE, Role.FOLLOWER): "another one won",
    (Role.CANDIDATE, Role.OWNER): "its claim is in the record",
    (Role.OWNER, Role.IDLE): "it was deposed and is wanted no longer",
    (Role.OWNER, Role.LEARNER): "it was deposed and evicted",
    (Role.OWNER, Role.FOLLOWER): "it was deposed, resigned or handed over",
}
