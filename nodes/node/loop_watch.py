"""Notices when the event loop does not come round, and names what holds it.

A thread asks the loop a few times a second to say that it is there. When no answer
comes in time, it looks at where the loop's thread is, and logs that place with the
length of the delay, once the loop is back. If it does not come back for long, where
all threads are is logged before: perhaps it never does. It interrupts nothing: code of
games is watched by `supervisor/watchdog.py`; this is for all the rest.

A process that was stopped as a whole, or a machine that had no time for it, is not told
from a loop that is held; then the place says nothing. A delay in which this thread did
not run either is not counted.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import ClassVar

from ...runtime.wire import Post, current_post
from ..telemetry import get_logger

__all__ = ["LoopWatch", "LoopWatchStatistics", "loop_watch"]

LATE_S = 0.25
"""A loop that has not come round for so long is late. A frozen node is passed over
after five times as much."""

STANDS_S = 10.0
"""A loop that has not come round for so long stands: what it waits for may never be."""

LOOK_S = 0.2
"""Between two questions."""

OVERSLEPT_S = 0.5
"""Beyond its time: then this thread did not run either."""

FRAMES_MAX = 12
"""Of the stack that is logged, from the innermost outwards."""

log = get_logger()


@dataclass(frozen=True, slots=True)
class LoopWatchStatistics:
    """Counted since the start."""

    GAUGES: ClassVar[frozenset[str]] = frozenset({"longest_s"})

    late: int
    """Times that the loop did not come round in time."""
    late_s: float
    """Of those together, seconds."""
    longest_s: float
    """The longest."""


class LoopWatch:
    """Watches the loop of the thread that it is made in. Made by `loop_watch`."""

    def __init__(self, post: Post, late_s: float, stands_s: float) -> None:
        self._post = post
        self._late_s = late_s
        self._stands_s = stands_s
        self._watched = threading.get_ident()
        self._answered = threading.Event()
        self._closing = threading.Event()
        self._late = 0
        self._total_s = self._longest_s = 0.0
        self._thread = threading.Thread(
            target=self._watch, name="loop-watch", daemon=True
        )

    def statistics(self) -> LoopWatchStatistics:
        return LoopWatchStatistics(self._late, self._total_s, self._longest_s)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Called in the loop; the thread ends within one question."""
        self._closing.set()
        self._answered.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._closing.wait(LOOK_S):
            self._answered.clear()
            asked_s = time.monotonic()
            try:
                self._post(self._answered.set)
            except RuntimeError:
                return  # the loop has ended
            if self._answered.wait(self._late_s):
                continue
            slept_s = time.monotonic() - asked_s
            place, stack = _place(sys._current_frames().get(self._watched))
            self._wait_for_answer()
            held_s = time.monotonic() - asked_s
            if not self._closing.is_set() and slept_s < self._late_s + OVERSLEPT_S:
                self._count(held_s, place, stack)

    def _wait_for_answer(self) -> None:
        since_s = time.monotonic()
        if self._answered.wait(self._stands_s):
            return
        slept_s = time.monotonic() - since_s
        if slept_s < self._stands_s + OVERSLEPT_S:
            place, stack = _place(sys._current_frames().get(self._watched))
            log.error("loop_stands", place=place, frames=stack, threads=_threads())
        self._answered.wait()

    def _count(self, held_s: float, place: str, stack: list[str]) -> None:
        self._late += 1
        self._total_s += held_s
        self._longest_s = max(self._longest_s, held_s)
        log.warning("loop_late", held_s=round(held_s, 3), place=place, frames=stack)


@contextmanager
def loop_watch(
    late_s: float = LATE_S, stands_s: float = STANDS_S
) -> Iterator[LoopWatch]:
    """Watch the running event loop while the block runs."""
    watch = LoopWatch(current_post(), late_s, stands_s)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


def _place(frame: FrameType | None) -> tuple[str, list[str]]:
    """Where a thread is: the innermost line, and the stack around it."""
    stack: list[str] = []
    while frame is not None and len(stack) < FRAMES_MAX:
        code = frame.f_code
        stack.append(f"{code.co_filename}:{frame.f_lineno} {code.co_qualname}")
        frame = frame.f_back
    return (stack[0] if stack else "unknown"), stack


def _threads() -> dict[str, str]:
    """Where each thread is that runs Python, by name; the innermost line."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return {
        f"{names.get(ident, 'foreign')} {ident:#x}": _place(frame)[0]
        for ident, frame in sys._current_frames().items()
    }
