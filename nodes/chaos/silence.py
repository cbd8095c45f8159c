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
        self._waiting: dict[str, tuple[int, float]] = {}  # by match: fault, instant
        self._faults: list[list[float]] = []

    @property
    def waiting(self) -> int:
        """Matches that have not been heard since the fault that hit them."""
        return len(self._waiting)

    def struck(self, matches: Iterable[str], at_s: float) -> int:
        """A fault struck these matches; returns its number. A match that still
        waits since an earlier fault goes on waiting since that one."""
        fault = len(self._faults)
        self._faults.append([])
        for match in matches:
            self._waiting.setdefault(match, (fault, at_s))
        return fault

    def acknowledged(self, match: str, at_s: float) -> None:
        """A match was heard."""
        waiting = self._waiting.pop(match, None)
        if waiting is not None:
            fault, since_s = waiting
            self._faults[fault].append(at_s - since_s)

    def dropped(self, match: str) -> None:
        """Nobody asks any more: the match had ended, or its players left."""
        self._waiting.pop(match, None)

    def of(self, faults: Iterable[int]) -> Silence:
        """Of these faults together: a match counts once for each that hit it."""
        chosen = frozenset(faults)
        ordered = sorted(one for fault in chosen for one in self._faults[fault])
        return Silence(
            len(ordered),
            _percentile(ordered, 50),
            _percentile(ordered, 99),
            ordered[-1] if ordered else 0.0,
            sum(1 for fault, _ in self._waiting.values() if fault in chosen),
        )


def _percentile(ordered: Sequence[float], percent: float) -> float:
    """The smallest value that `percent` of all do not exceed; 0 of none."""
    if not ordered:
        return 0.0
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
