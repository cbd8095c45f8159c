"""One measured row: a value, its floor in the same run, and the goal for their ratio.

Absolute figures say something about a machine; ratios say something about the code.
So every value stands beside a floor that was measured in turn with it, and a goal is
a ratio. A row without a goal is there to be watched.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Row", "pairs"]

Better = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True)
class Row:
    """`ratio` is value / floor; `better` says which way is good."""

    name: str
    value: float
    unit: str
    floor: float
    floor_is: str
    ratio: float
    better: Better
    goal: float | None

    @property
    def met(self) -> bool | None:
        """Whether the ratio meets the goal; None without a goal."""
        if self.goal is None:
            return None
        if self.better == "lower":
            return self.ratio <= self.goal
        return self.ratio >= self.goal

    def to_json(self) -> dict[str, Any]:
        """Fields as bench/results.json holds them."""
        row: dict[str, Any] = asdict(self)
        for name in ("value", "floor", "ratio"):
            row[name] = float(f"{row[name]:.4g}")
        return row | {"met": self.met}


def pairs(
    name: str,
    unit: str,
    measure: Callable[[], float],
    floor: Callable[[], float],
    *,
    floor_is: str,
    rounds: int,
    better: Better = "lower",
    goal: float | None = None,
) -> Row:
    """Measure value and floor in turn, so that what disturbs one disturbs both.

    The first pair warms up and is dropped. Each figure is the median of its own; the
    ratio is the median of the pairs' ratios.
    """
    measured = [(measure(), floor()) for _ in range(rounds + 1)][1:]
    return Row(
        name,
        statistics.median(value for value, _ in measured),
        unit,
        statistics.median(bottom for _, bottom in measured),
        floor_is,
        statistics.median(value / bottom for value, bottom in measured),
        better,
        goal,
    )
