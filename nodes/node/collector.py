"""Bounds how long the garbage collector holds the loop.

A full collection walks every object that lives: with a thousand matches in memory it
holds the loop for a tenth of a second, again and again as their number grows. Most of
what lives is matches, and they are not garbage. So what has survived a full collection
is set aside (`gc.freeze`), and the next one walks only what is newer. Objects that are
set aside still die by their reference counts; cycles among them wait until about twice
as much is set aside as was found alive the last time, and all is walked once more.

Whoever knows of moments that must not be lost, such as those in which a dead node's
matches are taken over, may have it wait a little (`hold`).
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

__all__ = ["Collector", "CollectorStatistics", "bounded_pauses"]

YOUNG = 1_000
"""Objects made before the youngest are looked at. Each is looked at three times in its
life, whatever the numbers are here; they say how many at once. A thousand take 1 ms
or two."""

MIDDLE = 3
"""Looks at the youngest before those that survived them are looked at as well."""

OLD = 1
"""Looks at those before all that is not set aside is: some 11,000 objects, or what a
`hold` has let pile up."""

HOLD_S = 0.5
"""How long nothing is collected from each `hold` on."""

HOLD_S_MAX = 2.0
"""How long at a stretch, however often that is asked for: a busy node makes some
hundred thousand objects in that time."""

WALKED_MIN = 500_000
"""Objects set aside below which nothing is walked again."""

COUNTED_EVERY = 64
"""Full collections between two counts of what is set aside: a count walks it all. So it
may grow by some hundred thousand more before that is noticed."""


@dataclass(frozen=True, slots=True)
class CollectorStatistics:
    """`set_aside` is as counted last; the others count since the start."""

    GAUGES: ClassVar[frozenset[str]] = frozenset({"set_aside"})

    set_aside: int
    full_collections: int
    walks_of_all: int
    holds: int


class Collector:
    """Made by `bounded_pauses`."""

    def __init__(
        self, walked_min: int = WALKED_MIN, counted_every: int = COUNTED_EVERY
    ) -> None:
        self._walked_min = walked_min
        self._counted_every = counted_every
        self._limit = walked_min
        self._set_aside = gc.get_freeze_count()
        self._full = self._walks = self._holds = 0
        self._held_since_s = self._held_until_s = math.inf  # inf: it is not held
        self._all_is_next = False  # the next full collection walks everything

    def statistics(self) -> CollectorStatistics:
        return CollectorStatistics(
            self._set_aside, self._full, self._walks, self._holds
        )

    def hold(self, now_s: float) -> None:
        """Collect nothing for `HOLD_S`. `look` ends it: call that often."""
        if self._held_until_s == math.inf:
            if not gc.isenabled():
                return  # somebody else's choice
            gc.disable()
            self._holds += 1
            self._held_since_s = now_s
        self._held_until_s = min(now_s + HOLD_S, self._held_since_s + HOLD_S_MAX)

    def hold_longer(self, now_s: float) -> None:
        """`hold`, if it is held already."""
        if self._held_until_s != math.inf:
            self.hold(now_s)

    def look(self, now_s: float) -> None:
        """Go on, if it was held long enough."""
        if now_s >= self._held_until_s:
            self.go_on()

    def go_on(self) -> None:
        """Collect again, if it is held."""
        if self._held_until_s != math.inf:
            self._held_since_s = self._held_until_s = math.inf
            gc.enable()

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if phase != "stop" or info["generation"] != 2:
            return
        self._full += 1
        gc.freeze()
        if self._all_is_next:
            self._all_is_next = False
            self._walks += 1
            self._set_aside = gc.get_freeze_count()
            self._limit = max(self._walked_min, 2 * self._set_aside)
        elif self._full % self._counted_every == 0:
            self._set_aside = gc.get_freeze_count()
            if self._set_aside >= self._limit:
                self._all_is_next = True
                gc.unfreeze()


@contextmanager
def bounded_pauses(
    walked_min: int = WALKED_MIN, counted_every: int = COUNTED_EVERY
) -> Iterator[Collector]:
    """For the process's life: enter it when the program has been loaded."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    collector = Collector(walked_min, counted_every)
    gc.set_threshold(YOUNG, MIDDLE, OLD)
    gc.callbacks.append(collector._collected)
    try:
        yield collector
    finally:
        collector.go_on()
        gc.callbacks.remove(collector._collected)
        gc.set_threshold(*thresholds)
        gc.unfreeze()
