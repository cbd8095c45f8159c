"""What of a step or a refusal a seat or a spectator may see, beside its view.

By default: who did what when, and where that led. Not: a payload of someone else's,
unless the event is declared public, nor which branch answered to it, which may depend
on what is hidden; the words of evaluations; draws of the rng, which would tell the next
ones; other seats' profiles; control, selectors and metadata. A game that wants it
otherwise declares `redact`.

A refusal goes to whoever acted: in the game's own words if it refused; where it failed,
in the table's alone, since what went wrong names places and values of G.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from .definition import Game
from .errors import ViewError
from .frozen import freeze
from .interruption import Interruption
from .jsonvalue import Json
from .refusal import REFUSALS, Refusal, fault_from
from .step import Evaluation, EventRecord, Step, StepKind, TransitionRecord

__all__ = ["redact_refusal", "redact_step"]

# What is none of the game's events: its own `redact` is not asked.
_NOT_OF_THE_GAME: Final[frozenset[StepKind]] = frozenset(
    {"takeback", "edit", "upgrade", "terminate"}
)

# What an operator's record says to everybody. An edit says nothing: its patch may hold
# secrets.
_OPERATORS_WORDS: Final[Mapping[StepKind, tuple[str, ...]]] = MappingProxyType(
    {"upgrade": ("from", "to"), "terminate": ("why",)}
)


def redact_step(game: Game, step: Step, seat: str | None) -> Json:
    """A step as `seat` may see it; `None` is a spectator.

    A hidden payload is left out, so it differs from a payload of null; so is the branch
    that answered to it (`resolver`, `matched_from`, `evaluations`). The value is fresh
    and on its way out; freezing it would cost more than the step did.

    Raises:
        ViewError: the game's own `redact` raised or gave what is not JSON.
    """
    if game.redact is not None and step.kind not in _NOT_OF_THE_GAME:
        try:
            return freeze(game.redact(step, seat), label="the redacted step")
        except Exception as error:
            fault = fault_from(error, event=step.event.event, label="redact")
            raise ViewError(REFUSALS["view_error"], fault) from error
        except Interruption as stop:
            stop.event = stop.event or step.event.event
            stop.label = stop.label or "redact"
            raise
    snapshot, event = step.snapshot, step.event
    own = seat is not None and event.player_id == seat
    open_to_all = event.type == "takeback" or _is_public(game, event.event)
    whole = own or open_to_all
    told = _event(event, whole)
    if words := _OPERATORS_WORDS.get(step.kind):
        told["payload"] = {name: event.payload[name] for name in words}
    return {
        "kind": step.kind,
        "event": told,
        "transition": _transition(game, step.transition, seat, whole),
        "revision": snapshot.revision,
        "position": {
            "name": snapshot.position.name,
            "path": list(snapshot.position.path),
            "turn": snapshot.position.turn,
        },
        "active_players": snapshot.derived.active_players,
        "result": snapshot.meta.result,
    }


def redact_refusal(refusal: Refusal) -> Refusal:
    """A refusal as whoever acted may be told it: a fault is the operator's."""
    if refusal.fault is None:
        return refusal
    return Refusal(refusal.code, REFUSALS.get(refusal.code, refusal.message))


def _event(event: EventRecord, whole: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "action_id": event.action_id,
        "at": event.at,
        "event": event.event,
        "player_id": event.player_id,
        "turn": event.turn,
        "type": event.type,
    }
    if whole:
        shown["payload"] = event.payload
    return shown


def _transition(
    game: Game, taken: TransitionRecord, seat: str | None, whole: bool
) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "event": taken.event,
        "source": taken.source,
        "target": taken.target,
        "turn": taken.turn,
        "enqueued": [
            {"kind": entry.kind, "payload": entry.payload}
            if _is_public(game, entry.kind)
            else {"kind": entry.kind}
            for entry in taken.enqueued
        ],
    }
    if whole:
        shown["matched_from"] = taken.matched_from
        shown["resolver"] = taken.resolver
        shown["evaluations"] = [_evaluation(asked) for asked in taken.evaluations]
    if taken.profile is not None and seat is not None and seat in taken.profile:
        shown["profile"] = {seat: taken.profile[seat]}
    return shown


def _evaluation(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "source": evaluation.source,
        "target": evaluation.target,
        "outcome": evaluation.outcome,
    }


def _is_public(game: Game, event: str) -> bool:
    declared = game.events.get(event)
    return declared is not None and declared.public
