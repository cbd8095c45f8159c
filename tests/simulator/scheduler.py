"""Virtual time: a heap of what is to happen, in microseconds from 0.

Nothing else in the simulator knows a clock. What is due at the same time happens in
the order in which it was asked for, so a run is a function of its seed.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

__all__ = ["MS", "Scheduler"]

MS = 1_000
"""Microseconds in a millisecond."""


class Scheduler:
    """The one loop of a simulated world."""

    def __init__(self) -> None:
        self.now_us = 0
        self.steps = 0
        self._heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._asked = 0

    def at(self, at_us: int, step: Callable[..., None], *args: Any) -> None:
        """Do `step(*args)` at a time; in the past means now."""
        self._asked += 1
        heappush(self._heap, (max(at_us, self.now_us), self._asked, step, args))

    def after(self, delay_us: int, step: Callable[..., None], *args: Any) -> None:
        """Do `step(*args)` so much later."""
        self._asked += 1
        heappush(self._heap, (self.now_us + delay_us, self._asked, step, args))

    def run(self, until_us: int) -> None:
        """Do all that is due up to a time, and stop there."""
        heap = self._heap
        while heap and heap[0][0] <= until_us:
            self.now_us, _, step, args = heappop(heap)
            self.steps += 1
            step(*args)
        self.now_us = until_us

    def clear(self) -> None:
        """Forget what is left, so that the world can be collected."""
        self._heap.clear()
