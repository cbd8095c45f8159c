"""Refusals of a player's action: values with a stable code.

A refusal changes nothing: not G, not the rng, not the revision, deadline or log.
All codes of the engine stand in the one table `REFUSALS`. Whatever names an author's
exception (`Fault`) is for the operator and never leaves for a seat.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .jsonvalue import Json

__all__ = ["REFUSALS", "Fault", "Refusal", "fault_from", "refuse"]

# What is kept of an exception: enough to find the line, not what a payload made of it.
_FAULT_MESSAGE_CHARS_MAX = 1_000
_FAULT_TRACEBACK_CHARS_MAX = 8_000
_FAULT_FRAMES = 20

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
    }
)


@dataclass(frozen=True, slots=True)
class Fault:
    """An exception of the author's code, kept for the operator."""

    event: str | None
    label: str | None
    """What raised: a resolver's description, `label of state x`, `view player`."""
    exception_type: str
    message: str
    traceback: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an event changed nothing.

    `reason` and `details` are the game's own words, from `reject(...)`.
    `fault` is not part of the value: never compared, never sent to players.
    """

    code: str
    message: str
    reason: str | None = None
    details: Json = None
    fault: Fault | None = field(default=None, compare=False, repr=False)


def refuse(
    code: str,
    message: str | None = None,
    *,
    reason: str | None = None,
    details: Json = None,
    fault: Fault | None = None,
) -> Refusal:
    """Build a refusal; `code` must stand in the table."""
    sentence = REFUSALS[code]
    return Refusal(code, message or sentence, reason, details, fault)


def fault_from(error: Exception, *, event: str | None, label: str | None) -> Fault:
    """Record an author's exception. Works for any exception, however hostile."""
    try:
        message = str(error)
    except Exception:
        message = "<the exception's own text failed>"
    try:
        text = "".join(traceback.format_exception(error, limit=-_FAULT_FRAMES))
    except Exception:
        text = f"{type(error).__name__}: {message}"
    return Fault(
        event,
        label,
        type(error).__name__,
        message[:_FAULT_MESSAGE_CHARS_MAX],
        text[-_FAULT_TRACEBACK_CHARS_MAX:],
    )
