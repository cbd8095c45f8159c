"""So much a minute: a budget that fills evenly, up to a minute's worth."""

from __future__ import annotations

__all__ = ["Allowance"]

MINUTE_MS = 60_000


class Allowance:
    """Begins full."""

    __slots__ = ("_at_ms", "_budget", "_per_minute")

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._budget = per_minute * MINUTE_MS  # one costs 60,000
        self._at_ms = 0

    def left(self, now_ms: int) -> int:
        """How many there may be now."""
        passed_ms = max(0, now_ms - self._at_ms)
        self._at_ms = now_ms
        full = self._per_minute * MINUTE_MS
        self._budget = min(self._budget + self._per_minute * passed_ms, full)
        return max(0, self._budget // MINUTE_MS)

    def spend(self, count: int) -> None:
        """They were done; more than were left are made up for."""
        self._budget -= count * MINUTE_MS
