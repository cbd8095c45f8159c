"""Refusals of a player's action: values with a stable code.

A refusal changes nothing: not G, not the rng, not the revision, deadline or log.
All codes of the engine stand in the one table `REFUSALS`. Whatever names an author's
exception (`Fault`) is for the operator and never leaves for a seat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from .author_trace import AuthorTrace, author_trace, definition_trace
from .jsonvalue import Json

if TYPE_CHECKING:
    from .step import Evaluation

__all__ = ["REFUSALS", "Fault", "Refusal", "blame", "fault_from", "refuse"]

# What is kept of an exception: enough to find the line, not what a payload made of it.
_FAULT_MESSAGE_CHARS_MAX = 1_000
_FAULT_TRACEBACK_CHARS_MAX = 8_000

REFUSALS: Mapping[str, str] = MappingProxyType(
    {
        "game_over": "The match is over.",
        "unknown_player": "This player does not sit in the match.",
        "inactive_player": "It is not this player's turn.",
        "unknown_event": "The game declares no such event.",
        "non_serializable_args": "The payload is not JSON.",
        "too_deep": "The payload is nested too deeply.",
        "too_large": "The payload or the state is too large.",
        "invalid_payload": "The payload does not have the event's shape.",
        "invalid_event": "The game does not accept this event now.",
        "ambiguous_transition": "More than one transition answers this event.",
        "invalid_transition_result": "The game answered with an invalid result.",
        "queue_overflow": "The event set off an endless chain of events.",
        "resolver_error": "The game failed on this event.",
        "derivation_error": "The game failed to describe its new state.",
        "view_error": "The game failed to draw this view.",
        "undo_not_allowed": "The game does not let this seat take that back.",
        "nothing_to_undo": "There is no such move that can still be taken back.",
        "undo_past_random": "What chance has decided since cannot be taken back.",
        "undo_past_reveal": "What was revealed since cannot be taken back.",
        "undo_past_profile": "What profiles were given since cannot be taken back.",
        "undo_past_deadline": "The clock of that revision has run out since.",
        "undo_pending": "A request to take back waits for its answers already.",
        "undo_declined": "That was declined. Ask again after the next move.",
        "no_undo_request": "No such request waits for this seat's answer.",
        "no_resign": "The game has no event by which a seat is given up.",
        "patch_failed": "The patch does not apply to the state.",
        "migrate_failed": "The version cannot take the match over.",
        "position_missing": "The version has no state of the match's position.",
    }
)


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure of the author's code, kept for the operator."""

    event: str | None
    label: str | None
    """What raised: a resolver's description, `label of state x`, `view player`."""
    exception_type: str
    """Or the code of a refusal, if nothing was raised."""
    message: str
    traceback: str
    """Without the engine's own frames."""
    where: str | None = None
    """`file:line` of the author's code: the innermost of their lines that was running,
    or where the resolver is defined whose answer was at fault."""
    source: str | None = None
    """The text of that line."""

    def __str__(self) -> str:
        """For a terminal: what failed, how, and where."""
        on = "" if self.event is None else f" on {self.event}"
        lines = [f"{self.label or 'the game'} failed{on}"]
        lines.append(f"  {self.exception_type}: {self.message}")
        if self.where is not None:
            lines.append(f"  {self.where}")
        if self.source is not None:
            lines.append(f"    {self.source}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an event changed nothing.

    `reason` and `details` are the game's own words, from `reject(...)`.
    `fault` and `evaluations` are for the operator and for tools, and no part of the
    value: never compared, never sent to players.
    """

    code: str
    message: str
    reason: str | None = None
    details: Json = None
    fault: Fault | None = field(default=None, compare=False, repr=False)
    evaluations: tuple[Evaluation, ...] = field(default=(), compare=False, repr=False)
    """Who was asked before it was refused, and what each answered."""


def refuse(
    code: str,
    message: str | None = None,
    *,
    reason: str | None = None,
    details: Json = None,
    fault: Fault | None = None,
    evaluations: tuple[Evaluation, ...] = (),
) -> Refusal:
    """Build a refusal; `code` must stand in the table."""
    sentence = REFUSALS[code]
    return Refusal(code, message or sentence, reason, details, fault, evaluations)


def blame(
    refusal: Refusal, *, event: str, label: str | None, function: object
) -> Refusal:
    """The refusal of an answer, with the author's function that gave it."""
    trace = definition_trace(function)
    fault = Fault(
        event, label, refusal.code, refusal.message, "", trace.where, trace.source
    )
    return replace(refusal, fault=fault)


def fault_from(
    error: Exception,
    *,
    event: str | None,
    label: str | None,
    function: object = None,
) -> Fault:
    """Record an author's exception. Works for any exception, however hostile.

    `function` is the author's that was called, if its answer rather than itself may
    have raised.
    """
    kind = type(error).__name__
    try:
        message = str(error)
    except Exception:
        message = "<the exception's own text failed>"
    try:
        trace = author_trace(error, function)
    except Exception:
        trace = AuthorTrace(None, None, f"{kind}: {message}")
    return Fault(
        event,
        label,
        kind,
        message[:_FAULT_MESSAGE_CHARS_MAX],
        trace.text[-_FAULT_TRACEBACK_CHARS_MAX:],
        trace.where,
        trace.source,
    )
