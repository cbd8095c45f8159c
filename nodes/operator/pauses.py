"""How long matches were served by nobody while their shards changed owners: a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["BOUNDS_MS", "pauses_told"]

BOUNDS_MS = (5, 10, 20, 30, 50, 100, 200, 500, 1000)
"""Upper bounds of the table's lines; the last line is for what took longer."""


def pauses_told(pauses: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Of pairs (pause in milliseconds, matches that it befell): how many matches waited
    how long. `histogram` has pairs (up to so many milliseconds, 0 for longer; matches).
    """
    ordered = sorted(pauses)
    total = sum(matches for _, matches in ordered)
    table = [0] * (len(BOUNDS_MS) + 1)
    for pause_ms, matches in ordered:
        place = sum(pause_ms > bound for bound in BOUNDS_MS)
        table[place] += matches
    bounds = (*BOUNDS_MS, 0)
    return {
        "matches": total,
        "shards": len(ordered),
        "p50_ms": _percentile(ordered, total, 50),
        "p99_ms": _percentile(ordered, total, 99),
        "max_ms": ordered[-1][0] if ordered else 0,
        "histogram": [
            [bound, count] for bound, count in zip(bounds, table, strict=True) if count
        ],
    }


def _percentile(ordered: Sequence[tuple[int, int]], total: int, percent: int) -> int:
    """What so many percent of the matches did not wait longer than."""
    seen = 0
    for pause_ms, matches in ordered:
        seen += matches
        if seen * 100 >= total * percent:
            return pause_ms
    return 0
