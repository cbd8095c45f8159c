"""Latencies in constant memory: a histogram whose buckets grow by a fixed ratio.

A percentile is off by at most half a bucket (2 %); the maximum is exact.
"""

from __future__ import annotations

import math

__all__ = ["Latencies"]

SHORTEST_S = 1e-6
GROWTH = 1.04
BUCKETS = 1 + math.ceil(math.log(1e3 / SHORTEST_S, GROWTH))
"""Up to 1,000 seconds; what is longer falls into the last bucket."""


class Latencies:
    """Counts durations, and tells their percentiles."""

    def __init__(self) -> None:
        self._counts = [0] * BUCKETS
        self.count = 0
        self.max_s = 0.0

    def add(self, duration_s: float) -> None:
        self._counts[_bucket(duration_s)] += 1
        self.count += 1
        self.max_s = max(self.max_s, duration_s)

    def percentile_s(self, percent: float) -> float:
        """A duration that `percent` of all do not exceed; 0 when there are none."""
        wanted = math.ceil(self.count * percent / 100)
        seen = 0
        for bucket, count in enumerate(self._counts):
            seen += count
            if count and seen >= wanted:
                middle_s: float = SHORTEST_S * GROWTH ** (bucket + 0.5)
                return min(self.max_s, middle_s)
        return 0.0


def _bucket(duration_s: float) -> int:
    if duration_s <= SHORTEST_S:
        return 0
    return min(BUCKETS - 1, int(math.log(duration_s / SHORTEST_S, GROWTH)))
