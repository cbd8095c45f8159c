"""By which time a shard lives: this node's, or that of an owner whose clock was ahead.

A shard's time does not go back when another node takes it over. If the former owner's
clock was ahead of ours, the shard goes on by its time: what it records is stamped so,
and its deadlines come when that clock would have said so.
"""

from __future__ import annotations

from dataclasses import replace

from ...runtime.actor_context import ActorContext, Alarm
from ...runtime.clock import AheadClock

__all__ = ["ShardTimes"]


class ShardTimes:
    """The context of each shard's actors."""

    def __init__(self, context: ActorContext) -> None:
        self._context = context
        self._ahead: dict[int, tuple[int, ActorContext]] = {}
        self._own: dict[int, ActorContext] = {}

    def begin(self, shard: int, ahead_ms: int) -> None:
        """The shard is served from now on, `ahead_ms` ahead of our clock."""
        self.end(shard)
        if ahead_ms > 0:
            context = replace(
                self.context(shard),
                clock=AheadClock(self._context.clock, ahead_ms),
                alarm=_AheadAlarm(self._context.alarm, ahead_ms),
            )
            self._ahead[shard] = (ahead_ms, context)

    def end(self, shard: int) -> None:
        """The shard is not served here any more."""
        self._ahead.pop(shard, None)
        self._own.pop(shard, None)

    def context(self, shard: int) -> ActorContext:
        """What the shard's actors share."""
        found = self._ahead.get(shard)
        if found is not None:
            return found[1]
        own = self._own.get(shard)
        if own is None:
            committer = self._context.committer.at_shard(shard)
            history = self._context.histories.get(shard, 0)
            own = self._own[shard] = replace(
                self._context, committer=committer, history=history
            )
        return own

    def ahead_ms(self, shard: int) -> int:
        """By how much the shard's time is ahead of our clock."""
        found = self._ahead.get(shard)
        return 0 if found is None else found[0]


class _AheadAlarm:
    """Arms at our time what is due at the shard's."""

    def __init__(self, alarm: Alarm, ahead_ms: int) -> None:
        self._alarm = alarm
        self._ahead_ms = ahead_ms

    def arm(self, match: str, revision: int, at_ms: int) -> None:
        self._alarm.arm(match, revision, at_ms - self._ahead_ms)

    def disarm(self, match: str) -> None:
        self._alarm.disarm(match)
