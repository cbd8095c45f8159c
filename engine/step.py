"""What one event caused: its record, the transition it took, and the new snapshot.

Values throughout. Which candidates were asked, and what they said, is part of the
record: it is what an inspector shows. What of it a seat may see is `redact.py`'s
matter. `gc=False` as for snapshots.
"""

from __future__ import annotations

from typing import Literal, Self, TypeAlias

import msgspec

from .frozen import FDict
from .jsonvalue import Json
from .snapshot import Position, Snapshot

__all__ = [
    "TIMEOUT_EVENT",
    "Batch",
    "Candidate",
    "Enqueued",
    "Evaluation",
    "EventRecord",
    "EventType",
    "RngTrace",
    "Step",
    "StepKind",
    "TransitionRecord",
]

TIMEOUT_EVENT = "__timeout"
"""How records name the event of a deadline that passed."""

StepKind: TypeAlias = Literal[
    "action", "internal", "timeout", "takeback", "edit", "upgrade", "terminate"
]
EventType: TypeAlias = Literal[
    "event", "internal", "timeout", "takeback", "edit", "upgrade", "terminate"
]


class EventRecord(msgspec.Struct, frozen=True, gc=False):
    """The event as it came. `turn` is the turn in which it came."""

    action_id: str
    at: int | float
    event: str
    payload: Json
    player_id: str | None
    """None for internal events and timeouts, and for what an operator did."""
    turn: int
    type: EventType


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """One transition that was asked, and its answer."""

    source: str
    target: str
    matched: bool
    rejected_by: Literal["resolver", "reject"] | None
    """Who said no: a resolver without a word, or one that gave a reason."""
    resolver: str | None
    reason: str | None = None
    details: Json = None


class Evaluation(msgspec.Struct, frozen=True, gc=False):
    """One node of the path that had candidates for the event."""

    event: str
    source: str
    target: str | None
    outcome: Literal["selected", "no_match"]
    path: tuple[str, ...]
    candidates: tuple[Candidate, ...]


class Enqueued(msgspec.Struct, frozen=True, gc=False):
    """An internal event that a resolver asked for."""

    kind: str
    payload: Json


class RngTrace(msgspec.Struct, frozen=True, gc=False):
    """The generator's state before and after, and how many floats it gave."""

    before: int
    after: int
    draws: int


class TransitionRecord(msgspec.Struct, frozen=True, gc=False):
    """The transition that was taken."""

    enqueued: tuple[Enqueued, ...]
    event: str
    evaluations: tuple[Evaluation, ...]
    source: str
    """The leaf that was left; `matched_from` is where the transition is declared."""
    source_path: tuple[str, ...]
    matched_from: str
    matched_from_path: tuple[str, ...]
    profile: FDict | None
    """Deltas by seated player; None when the transition touched no profile."""
    resolver: str | None
    rng: RngTrace | None
    target: str
    target_path: tuple[str, ...]
    turn: str

    @classmethod
    def unasked(cls, event: str, source: Position, target: Position) -> Self:
        """Of a step that no transition of the game led to: none was evaluated."""
        return cls(
            enqueued=(),
            event=event,
            evaluations=(),
            source=source.name,
            source_path=source.path,
            matched_from=source.name,
            matched_from_path=source.path,
            profile=None,
            resolver=None,
            rng=None,
            target=target.name,
            target_path=target.path,
            turn="preserve",
        )


class Step(msgspec.Struct, frozen=True, gc=False):
    """What one event caused."""

    kind: StepKind
    event: EventRecord
    transition: TransitionRecord
    snapshot: Snapshot


class Batch(msgspec.Struct, frozen=True, gc=False):
    """An action's or a timeout's step, and the internal steps after it."""

    steps: tuple[Step, ...]
    """Never empty. The revision grows by one with each."""
    snapshot: Snapshot
    """The last step's."""
