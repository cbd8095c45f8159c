"""Who had control before a step, and who has it after, in a word and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

__all__ = ["Handoff", "HandoffKind", "describe_handoff"]

HandoffKind = Literal["terminal", "shared", "same", "pass", "unknown"]


class Handoff(msgspec.Struct, frozen=True):
    """How control went from one set of seats to another."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    kind: HandoffKind
    """`unknown`: one seat has control, and there was not exactly one before."""
    label: str
    summary: str


def describe_handoff(before: Sequence[str] | None, after: Sequence[str]) -> Handoff:
    """Describe a change of the active seats; `before` is None at the beginning."""
    old, new = tuple(before or ()), tuple(after)
    if not new:
        if before is None:
            summary = "Starts with no active players"
        elif not old:
            summary = "No active players remain"
        else:
            summary = f"Control leaves {_names(old)}"
        return Handoff(old, new, "terminal", "none", summary)
    names = _names(new)
    if len(new) > 1:
        starts = "Starts shared with" if before is None else "Shared control:"
        return Handoff(old, new, "shared", "shared", f"{starts} {names}")
    if before is None:
        return Handoff(old, new, "unknown", f"Start: {names}", f"Starts with {names}")
    label = f"{_names(old)} -> {names}" if old else names
    if len(old) != 1:
        return Handoff(old, new, "unknown", label, f"Control shifts to {names}")
    if old == new:
        return Handoff(old, new, "same", label, f"Control stays with {names}")
    summary = f"Control passes from {_names(old)} to {names}"
    return Handoff(old, new, "pass", label, summary)


def _names(seats: Sequence[str]) -> str:
    """Numbered seats are P0, P1; a seat that has a name of its own is called by it."""
    return ", ".join(f"P{seat}" if seat.isdigit() else seat for seat in seats)
