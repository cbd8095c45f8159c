"""Invariants of a game: what must hold in every state of every match.

An invariant is a function of the state context, as derivations and views are. It
returns False or raises, by `assert` say, when it does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from ..context import StateContext
from ..refusal import fault_from
from ..session import Session
from .states import context_of

__all__ = ["Invariant", "broken_invariant"]

Invariant: TypeAlias = Callable[[StateContext], object]


def broken_invariant(session: Session, invariants: Iterable[Invariant]) -> str | None:
    """What is broken now, or None."""
    for invariant in invariants:
        name = getattr(invariant, "__name__", repr(invariant))
        place = f"the invariant {name} does not hold at revision {session.revision}"
        try:
            answer = invariant(context_of(session.snapshot))
        except Exception as error:
            fault = fault_from(error, event=None, label=name)
            said = f": {fault.message}" if fault.message else ""
            return f"{place} ({fault.exception_type}{said})"
        if answer is False:
            return place
    return None
