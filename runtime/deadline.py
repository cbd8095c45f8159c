"""The deadlines of all matches of a node: one heap, one timer.

Pure: the time is an argument. A match has one deadline at most; arming it again
replaces the former, which stays in the heap until it surfaces (lazy deletion) or
until dead entries outnumber the living. A deadline belongs to a revision: whoever
is told that it has come compares, and does nothing if the match has moved on.
"""

from __future__ import annotations

import heapq
import sys
from dataclasses import dataclass
from typing import ClassVar

__all__ = ["Deadlines", "DeadlinesStatistics", "DueDeadline"]

# Dead entries that are kept before the heap is rebuilt, beside one per living one.
_DEAD_MAX = 64


@dataclass(frozen=True, slots=True)
class DueDeadline:
    """A deadline that has come. It is disarmed by being returned."""

    match: str
    revision: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class DeadlinesStatistics:
    """`armed` and `heap` are now; `fired` counts what came due."""

    GAUGES: ClassVar[frozenset[str]] = frozenset({"armed", "heap"})

    armed: int
    heap: int
    fired: int


class Deadlines:
    """Armed deadlines by match.

    Invariant: len(heap) <= 2 * len(armed) + _DEAD_MAX.
    """

    __slots__ = ("_armed", "_fired", "_heap")

    def __init__(self) -> None:
        self._armed: dict[str, DueDeadline] = {}
        self._heap: list[tuple[int, str, int]] = []
        self._fired = 0

    def arm(self, match: str, revision: int, at_ms: int) -> None:
        """Set the match's deadline, in place of any other."""
        armed = DueDeadline(match, revision, at_ms)
        if self._armed.get(match) == armed:
            return
        self._armed[match] = armed
        heapq.heappush(self._heap, (at_ms, match, revision))
        self._compact()

    def disarm(self, match: str) -> None:
        """Forget the match's deadline, if it has one."""
        if self._armed.pop(match, None) is not None:
            self._compact()

    def next_ms(self) -> int | None:
        """When the earliest deadline comes, or None."""
        self._drop_dead()
        return self._heap[0][0] if self._heap else None

    def due(self, now_ms: int, most: int = sys.maxsize) -> list[DueDeadline]:
        """Take the deadlines at or before `now_ms`, earliest first, `most` at most."""
        due: list[DueDeadline] = []
        while self._heap and self._heap[0][0] <= now_ms and len(due) < most:
            at_ms, match, revision = heapq.heappop(self._heap)
            armed = self._armed.get(match)
            if armed == DueDeadline(match, revision, at_ms):
                del self._armed[match]
                due.append(armed)
        self._fired += len(due)
        return due

    def statistics(self) -> DeadlinesStatistics:
        """What is armed, and what came due so far."""
        return DeadlinesStatistics(len(self._armed), len(self._heap), self._fired)

    def _drop_dead(self) -> None:
        while self._heap and not self._is_armed(self._heap[0]):
            heapq.heappop(self._heap)

    def _is_armed(self, entry: tuple[int, str, int]) -> bool:
        at_ms, match, revision = entry
        return self._armed.get(match) == DueDeadline(match, revision, at_ms)

    def _compact(self) -> None:
        if len(self._heap) > 2 * len(self._armed) + _DEAD_MAX:
            self._heap = [(d.at_ms, d.match, d.revision) for d in self._armed.values()]
            heapq.heapify(self._heap)
