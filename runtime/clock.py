"""Clocks: the wall clock for what is recorded, the monotonic one for waiting."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["AheadClock", "Clock", "SystemClock"]


class Clock(Protocol):
    """Where the runtime reads the time, so that a test can hold it."""

    def now_ms(self) -> int:
        """Wall time in milliseconds since 1970 UTC. May step backwards."""

    def monotonic_s(self) -> float:
        """Seconds since an unknown start. Never steps backwards."""


class SystemClock:
    """The machine's own clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()


class AheadClock:
    """Another clock whose wall time is ahead: time does not go back for those who have
    lived by a clock that was."""

    def __init__(self, clock: Clock, ahead_ms: int) -> None:
        self._clock = clock
        self._ahead_ms = ahead_ms

    def now_ms(self) -> int:
        return self._clock.now_ms() + self._ahead_ms

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s()
