"""How long a fault silenced the matches that it hit.

The silence of a match runs from the instant of the fault to the match's first
acknowledgement after it. It means something only because a player of it was asking
all the while: whoever runs the players has to see to that.

Pure: times are given, in seconds of one monotonic clock.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Silence", "Silences"]


@dataclass(frozen=True, slots=True)
class Silence:
    """Percentiles over matches, in seconds. `unbroken`: never heard of again."""

    matches: int
    p50_s: float
    p99_s: float
    max_s: float
    unbroken: int

    def to_json(self) -> dict[str, float]:
        """In milliseconds, as `silence_ms`."""
        return {
            "p50": round(self.p50_s * 1000, 1),
            "p99": round(self.p99_s * 1000, 1),
            "max": round(self.max_s * 1000, 1),
        }


class Silences:
    """Measures one fault after another."""

    def __init__(self) -> None:
        self._waiting: dict[str, float] = {}  # since when a match is silent
        self._faults: list[list[float]] = []

    @property
    def waiting(self) -> int:
        """Matches that have not been heard since the fault that hit them."""
        return len(self._waiting)

    def struck(self, matches: Iterable[str], at_s: float) -> None:
        """A fault struck these matches. One that still waits for an earlier fault
        goes on waiting for that one."""
        self._faults.append([])
        for match in matches:
            self._waiting.setdefault(match, at_s)

    def acknowledged(self, match: str, at_s: float) -> float | None:
        """A match was heard; returns the silence that this ended, if it did."""
        since_s = self._waiting.pop(match, None)
        if since_s is None:
            return None
        silence_s = at_s - since_s
        self._faults[-1].append(silence_s)
        return silence_s

    def dropped(self, match: str) -> None:
        """Nobody asks any more: the match had ended, or its players left."""
        self._waiting.pop(match, None)

    def last(self) -> Silence:
        """Of the newest fault."""
        return self._summary(self._faults[-1] if self._faults else [])

    def total(self) -> Silence:
        """Of all faults together: each match counts once per fault that hit it."""
        return self._summary([one for fault in self._faults for one in fault])

    def _summary(self, all_s: Sequence[float]) -> Silence:
        ordered = sorted(all_s)
        return Silence(
            len(ordered),
            _percentile(ordered, 50),
            _percentile(ordered, 99),
            ordered[-1] if ordered else 0.0,
            len(self._waiting),
        )


def _percentile(ordered: Sequence[float], percent: float) -> float:
    """The smallest value that `percent` of all do not exceed; 0 of none."""
    if not ordered:
        return 0.0
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]

