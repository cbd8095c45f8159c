"""The node's one timer: wakes matches at their deadlines."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from ...runtime.clock import Clock
from ...runtime.deadline import Deadlines, DeadlinesStatistics, DueDeadline

__all__ = ["TICK_MS", "MatchTimer"]

# Milliseconds between two looks at the wall clock, at most: it may be set while we
# wait. Also how often `on_tick` is called.
TICK_MS = 1_000

# Deadlines that are fired in one go. After a takeover very many may be overdue: what
# comes meanwhile must not wait for all of them.
_FIRED_AT_ONCE = 256

# A deadline whose match could take no message is tried again after so long.
_RETRY_MS = 50


class MatchTimer:
    """Deadlines of all matches of the node; the actors arm them.

    `fire` takes a deadline that has come to its match, and says whether it could.
    """

    def __init__(
        self,
        clock: Clock,
        fire: Callable[[DueDeadline], bool],
        on_tick: Callable[[int], None],
    ) -> None:
        self._clock = clock
        self._fire = fire
        self._on_tick = on_tick
        self._deadlines = Deadlines()
        self._wake_at_ms: int | None = None
        self._wake: anyio.Event | None = None

    def arm(self, match: str, revision: int, at_ms: int) -> None:
        """Set the match's deadline, in place of any other."""
        self._deadlines.arm(match, revision, at_ms)
        if self._wake_at_ms is not None and at_ms < self._wake_at_ms:
            self._wake_at_ms = None
            assert self._wake is not None
            self._wake.set()

    def disarm(self, match: str) -> None:
        """Forget the match's deadline, if it has one."""
        self._deadlines.disarm(match)

    def statistics(self) -> DeadlinesStatistics:
        """What is armed, and what came due so far."""
        return self._deadlines.statistics()

    def tick(self, now_ms: int) -> None:
        """Fire what has come by `now_ms`; if that is much, the rest is due at once."""
        self._on_tick(now_ms)
        for due in self._deadlines.due(now_ms, _FIRED_AT_ONCE):
            if not self._fire(due):
                self._deadlines.arm(due.match, due.revision, now_ms + _RETRY_MS)

    def next_due_ms(self) -> int | None:
        """When the earliest deadline comes; None: there is none."""
        return self._deadlines.next_ms()

    async def run(self) -> None:
        """Fire deadlines as they come, for ever."""
        while True:
            now_ms = self._clock.now_ms()
            self.tick(now_ms)
            next_ms = self.next_due_ms()
            wake_at_ms = now_ms + TICK_MS
            if next_ms is not None:
                wake_at_ms = min(wake_at_ms, next_ms)
            self._wake_at_ms = wake_at_ms
            self._wake = anyio.Event()
            with anyio.move_on_after((wake_at_ms - now_ms) / 1_000):
                await self._wake.wait()
