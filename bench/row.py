"""One measured row: a value, its floor in the same run, and the goal for their ratio.

Absolute figures say something about a machine; ratios say something about the code.
So every value stands beside a floor that was measured in turn with it, and a goal is
a ratio. A row without a goal is there to be watched. A rival of the same work is a
floor too; where there is none to be had, the row says so and has no ratio.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Better", "Row", "pairs", "row_of", "take_turns"]

Better = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True)
class Row:
    """`ratio` is value / floor; `better` says which way is good.

    `floor` and `ratio` are None when there was nothing to compare with; `floor_is`
    then says why. `stretch` is what would be better than the goal.
    """

    name: str
    value: float
    unit: str
    floor: float | None
    floor_is: str
    ratio: float | None
    better: Better
    goal: float | None
    stretch: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the ratio meets the goal; None without a goal or a ratio."""
        return self._meets(self.goal)

    @property
    def stretch_met(self) -> bool | None:
        """Whether the ratio meets the stretch; None without one, or without a ratio."""
        return self._meets(self.stretch)

    def to_json(self) -> dict[str, Any]:
        """Fields as bench/results.json holds them."""
        row: dict[str, Any] = asdict(self)
        for name in ("value", "floor", "ratio"):
            if row[name] is not None:
                row[name] = float(f"{row[name]:.4g}")
        return row | {"met": self.met, "stretch_met": self.stretch_met}

    def _meets(self, wanted: float | None) -> bool | None:
        if wanted is None or self.ratio is None:
            return None
        return self.ratio <= wanted if self.better == "lower" else self.ratio >= wanted


def take_turns(
    measures: Mapping[str, Callable[[], float]], rounds: int
) -> dict[str, list[float]]:
    """Measure all in turn, so that what disturbs one disturbs the others.

    The first round warms up and is dropped.
    """
    taken: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds + 1):
        for name, measure in measures.items():
            taken[name].append(measure())
    return {name: values[1:] for name, values in taken.items()}


def row_of(
    name: str,
    unit: str,
    values: Sequence[float],
    floors: Sequence[float] | None,
    *,
    floor_is: str,
    better: Better = "lower",
    goal: float | None = None,
    stretch: float | None = None,
) -> Row:
    """A row of what was measured in turn.

    Each figure is the median of its own; the ratio is the median of the pairs' ratios.
    """
    floor = ratio = None
    if floors is not None:
        floor = statistics.median(floors)
        ratio = statistics.median(
            value / bottom for value, bottom in zip(values, floors, strict=True)
        )
    value = statistics.median(values)
    return Row(name, value, unit, floor, floor_is, ratio, better, goal, stretch)


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
    """Measure a value and its floor in turn, and make their row."""
    taken = take_turns({"value": measure, "floor": floor}, rounds)
    return row_of(
        name,
        unit,
        taken["value"],
        taken["floor"],
        floor_is=floor_is,
        better=better,
        goal=goal,
    )
