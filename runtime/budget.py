"""How long a game's code may hold the loop, and what is made of code that does not end.

A guard runs one call of the engine for a match: an action, a deadline, a view, the
making of a match. One that can interrupt raises `BudgetExceeded` into code that is
over its budget. The owner's actor turns that into a refusal. Replay and followers use
no guard: what stands in a log has been judged.

Pure: who interrupts, and by what clock, is for the guard that is passed in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol, TypeVar, TypeVarTuple

from ..engine.interruption import Interruption

__all__ = [
    "NO_GUARD",
    "BudgetExceeded",
    "CodePlace",
    "Guard",
    "GuardStatistics",
    "NoGuard",
    "OverrunTally",
]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Guard(Protocol):
    """Runs calls, and may interrupt them."""

    def run(self, match: str, call: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Return what the call returns, or raise what it raises.

        Raises:
            BudgetExceeded: It was interrupted. What it may have returned all the
                same is thrown away: it would depend on when it was interrupted.
        """
        ...

    def statistics(self) -> GuardStatistics: ...


@dataclass(frozen=True, slots=True)
class GuardStatistics:
    """Counted since the start."""

    GAUGES: ClassVar[frozenset[str]] = frozenset()

    calls: int = 0
    interrupted: int = 0
    """Calls that were cut off."""
    strikes: int = 0
    """Budgets that ran out: more than one in a call that went on regardless."""
    held: int = 0
    """Calls that were over their budget, and could not be cut off."""


class NoGuard:
    """Interrupts nothing."""

    __slots__ = ()

    def run(self, match: str, call: Callable[[*Ts], T], *arguments: *Ts) -> T:
        return call(*arguments)

    def statistics(self) -> GuardStatistics:
        return GuardStatistics()


NO_GUARD: Final = NoGuard()


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A line that was being run."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


class BudgetExceeded(Interruption):
    """A game's code held the loop for longer than its budget and was interrupted."""

    def __init__(
        self,
        budget_s: float,
        author: CodePlace | None = None,
        stack: tuple[CodePlace, ...] = (),
    ) -> None:
        super().__init__(budget_s, author, stack)
        self.budget_s = budget_s
        self.author = author
        """The game's own line at the first interruption, if one was being run."""
        self.stack = stack
        """Outermost first, as a traceback; the innermost frames of it."""
        self.strikes = 1
        """Budgets that ran out before it ended."""

    def __str__(self) -> str:
        held = f"it was interrupted after {self.budget_s:g} s"
        if self.strikes > 1:
            held += f", and again {self.strikes - 1} times before it ended"
        return f"{held}, at {self.author}" if self.author else held


class OverrunTally:
    """Overruns of late: whether there were too many.

    A rate, not a row: whoever knows of an action that is too slow could else send a
    quick one in between, for ever.
    """

    __slots__ = ("_at_s", "_times_max", "_window_s")

    def __init__(self, times_max: int, window_s: float) -> None:
        self._times_max = times_max
        self._window_s = window_s
        self._at_s: deque[float] = deque(maxlen=times_max)

    def add(self, now_s: float, times: int = 1) -> bool:
        """Note as many overruns; True if there are too many now."""
        self._at_s.extend([now_s] * min(times, self._times_max))
        return self.is_full(now_s)

    def is_full(self, now_s: float) -> bool:
        """Whether `times_max` of them lie within the last `window_s` seconds."""
        if len(self._at_s) < self._times_max:
            return False
        return now_s - self._at_s[0] < self._window_s
