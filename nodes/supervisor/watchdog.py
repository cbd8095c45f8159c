"""Interrupts a game's code that holds the loop for longer than its budget.

A thread looks at which call is running, a few times in each budget. One that it sees
again and again is struck: it sends the main thread a signal, whose handler raises
`BudgetExceeded` there, in the midst of the game's code.

Why it strikes nothing else:
- Each call has a number of its own. The handler, which runs in the main thread, raises
  only if the very call that was over its budget is still running; so a signal that
  comes late does nothing.
- A call's number is taken away by the first statement of a `finally`, at which the
  interpreter looks for no signals. An exception that is raised at the last moment
  leaves `run` like any other.
- What runs under a number is the engine's: it changes nothing that exists.
- Finalizers of whoever's objects may run in the midst of it, when the collector does:
  a strike is held back until it is done.

What counts is the processor time of the main thread, so that a machine that is busy
with something else blames nobody. A call that blocks uses none; it is struck when it
has lasted for ten budgets. Where the platform does not tell a thread's processor time,
all time counts.

What is promised: loops, recursion and blocking calls in Python. What is not: one long
call into C code that looks for no signals.

Code that catches `BaseException` is struck again in each budget, harder each time (see
`_on_signal`), and what it returns in the end is not used. A loop that outlasts even
that is logged, with its place, and holds the node until somebody ends the process.

The signal is SIGURG: it is ignored by default, so that one that is in flight when the
handler goes away does nothing. asyncio, uvloop and trio wake up once by it.
"""

from __future__ import annotations

import gc
import signal
import sysconfig
import threading
import time
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, TypeVar, TypeVarTuple

import structlog

from ...runtime.budget import BudgetExceeded, CodePlace, Guard, GuardStatistics

__all__ = ["LookBack", "Watchdog", "open_watchdog"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_log = structlog.get_logger()

# Looks per budget: a call is struck at most a quarter of its budget late.
_LOOKS_PER_BUDGET = 4

# Budgets for which a call may last that uses no processor: it waits for something.
_BUDGETS_BLOCKED = 10

# Exceptions that one strike raises, one after the other: doubles with each strike.
_BURST_MAX = 64

# Strikes after which a call is called stuck, in the log. It is struck on.
_STRIKES_TO_STUCK = 8

# Frames of the stack that are kept: enough to see a recursion.
_FRAMES_MAX = 20

_OUR_FOLDERS = tuple(
    f"{Path(__file__).resolve().parents[2] / name}/"
    for name in ("engine", "runtime", "config", "nodes")
)
_OUR_GAMES = f"{Path(__file__).resolve().parents[2] / 'engine' / 'games'}/"
_LIBRARY = f"{sysconfig.get_path('stdlib')}/"
_INSTALLED = f"{sysconfig.get_path('purelib')}/"


@contextmanager
def open_watchdog(budget_s: float) -> Iterator[Guard]:
    """The best guard that there is here; one that cannot interrupt says so at once."""
    reason = _unavailable()
    if reason is None:
        with Watchdog(budget_s) as watchdog:
            yield watchdog
    else:
        _log.warning("watchdog_cannot_interrupt", reason=reason, budget_s=budget_s)
        yield LookBack(budget_s)


def _unavailable() -> str | None:
    if threading.current_thread() is not threading.main_thread():
        return "the loop does not run in the main thread"
    if not hasattr(signal, "SIGURG") or not hasattr(signal, "pthread_kill"):
        return "the platform has no signals for threads"
    if signal.getsignal(signal.SIGURG) not in (signal.SIG_DFL, signal.SIG_IGN):
        return "something else in this process handles SIGURG"
    return None


class Watchdog:
    """The guard that interrupts. One per process; opened and used in its main thread.

    Invariant: `_error` is set only while the call that it is about runs.
    """

    __slots__ = (
        "_budget_s", "_burst", "_busy", "_calls", "_closing", "_collecting", "_error",
        "_held_back", "_interrupted",
        "_main", "_match", "_previous", "_signal", "_strikes", "_struck", "_target",
        "_thread",
    )  # fmt: skip

    def __init__(self, budget_s: float) -> None:
        self._budget_s = budget_s
        self._busy = 0  # the number of the call that runs; 0: none
        self._calls = 0
        self._match = ""
        self._error: BudgetExceeded | None = None
        self._target = 0  # the call that the signal is for
        self._burst = 0
        self._strikes = 0  # of that call, so far
        self._collecting = False
        self._held_back = False  # a strike, until the collector is done
        self._interrupted = 0
        self._struck = 0
        self._main = threading.main_thread().ident or 0
        self._signal = _Signal(signal.SIGURG)
        self._previous: Any = None
        self._closing = threading.Event()
        self._thread = threading.Thread(
            target=self._watch, name="watchdog", daemon=True
        )

    def __enter__(self) -> Watchdog:
        self._previous = signal.signal(self._signal, self._on_signal)
        signal.siginterrupt(self._signal, False)
        gc.callbacks.append(self._on_collection)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._thread.join()
        gc.callbacks.remove(self._on_collection)
        signal.signal(self._signal, self._previous)

    def run(self, match: str, call: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Run a call, or raise `BudgetExceeded`. Calls do not nest."""
        self._calls = number = self._calls + 1
        self._match = match
        try:
            self._busy = number
            return call(*arguments)
        finally:
            self._busy = 0
            if self._error is not None:
                self._conclude()

    def statistics(self) -> GuardStatistics:
        """Counted since it was made."""
        return GuardStatistics(self._calls, self._interrupted, self._struck)

    def _conclude(self) -> None:
        """The call has ended, one way or another: it was over its budget."""
        error, self._error = self._error, None
        assert error is not None
        self._interrupted += 1
        self._struck += error.strikes
        raise error

    def _watch(self) -> None:
        """The thread. Of the time between two looks it believes two pauses at most."""
        pause_s = self._budget_s / _LOOKS_PER_BUDGET
        used = _processor_clock(self._main)
        seen, strikes, used_s, lasted_s = 0, 0, 0.0, 0.0
        before_s, used_before_s = time.monotonic(), used()
        while not self._closing.wait(pause_s):
            now_s, used_now_s = time.monotonic(), used()
            passed_s = min(now_s - before_s, 2 * pause_s)
            worked_s = min(used_now_s - used_before_s, passed_s)
            before_s, used_before_s = now_s, used_now_s
            busy = self._busy
            if busy != seen:
                seen, strikes, used_s, lasted_s = busy, 0, 0.0, 0.0
            elif busy:
                used_s += worked_s
                lasted_s += passed_s
                budget_s = (strikes + 1) * self._budget_s
                if used_s >= budget_s or lasted_s >= _BUDGETS_BLOCKED * budget_s:
                    strikes += 1
                    self._strike(busy, strikes)

    def _strike(self, call: int, strikes: int) -> None:
        self._burst = min(2 ** (strikes - 1), _BURST_MAX)
        self._strikes = strikes
        self._target = call
        signal.pthread_kill(self._main, self._signal)
        error = self._error
        if strikes == _STRIKES_TO_STUCK and error is not None and self._busy == call:
            _log.error("loop_stuck", match=self._match, place=str(error.author))

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Raise into the call that is over its budget, if it still runs.

        Code that catches everything and loops on would see each of two strikes inside
        its `try`, if one exception came per budget. So every strike after the first
        raises several: the signal is pending again while the exception is raised, and
        is seen as soon as that one is caught.
        """
        if self._busy == 0 or self._busy != self._target:
            return
        code = None if frame is None else frame.f_code
        if self._collecting or code is Watchdog._on_collection.__code__:
            self._held_back = True
            return
        error = self._error
        if error is None:
            self._error = error = BudgetExceeded(self._budget_s, *_places(frame))
        error.strikes = self._strikes
        if self._burst > 1:
            self._burst -= 1
            _ = self._signal.again
        raise error

    def _on_collection(self, phase: str, info: dict[str, int]) -> None:
        """The collector begins or ends."""
        self._collecting = phase == "start"
        if self._held_back and not self._collecting:
            self._held_back = False
            _ = self._signal.again


def _processor_clock(thread: int) -> Callable[[], float]:
    """The processor time of a thread in seconds; all time where that is not told."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)


class LookBack:
    """The guard where nothing can be interrupted: it measures, and says afterwards."""

    __slots__ = ("_budget_s", "_calls", "_clock", "_held")

    def __init__(
        self, budget_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._budget_s = budget_s
        self._clock = clock
        self._calls = 0
        self._held = 0

    def run(self, match: str, call: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Run a call to its end."""
        self._calls += 1
        start_s = self._clock()
        try:
            return call(*arguments)
        finally:
            held_s = self._clock() - start_s
            if held_s > self._budget_s:
                self._held += 1
                _log.warning("loop_held", match=match, held_s=round(held_s, 3))

    def statistics(self) -> GuardStatistics:
        """Counted since it was made."""
        return GuardStatistics(self._calls, held=self._held)


class _Signal(int):
    """The signal's number; reading `again` makes it pending once more.

    The interpreter looks for signals after each call, but not after reading an
    attribute that is C all the way: so this one is seen later.
    """

    again = property(interrupt_main)


def _places(
    frame: FrameType | None,
) -> tuple[CodePlace | None, tuple[CodePlace, ...]]:
    """The game's line that was being run, and the stack around it up to the guard."""
    author: CodePlace | None = None
    stack: list[CodePlace] = []
    while frame is not None and frame.f_code is not Watchdog.run.__code__:
        code = frame.f_code
        place = CodePlace(code.co_filename, frame.f_lineno, code.co_qualname)
        if author is None and _is_author(code.co_filename):
            author = place
        if len(stack) < _FRAMES_MAX:
            stack.append(place)
        elif author is not None:
            break
        frame = frame.f_back
    return author, tuple(reversed(stack))


def _is_author(file: str) -> bool:
    if file.startswith(_OUR_FOLDERS):
        return file.startswith(_OUR_GAMES)
    return file.startswith(_INSTALLED) or not file.startswith((_LIBRARY, "<frozen"))
