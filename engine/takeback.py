"""Takebacks: what of a match may be undone, and how it is asked for and done.

A takeback is a change like any other. Its step has the state of the revision that it
returns to (G, position, result, match, rng, deadline, and the time of that state's
last event) under a new revision: revisions only grow, and what was undone stays in the
log.

The protocol, each line one record of kind `takeback` with a phase:
- `asked`: a seat asks to go back to a revision; one request at a time.
- `agreed`: a seat agrees, and others must still.
- `declined`: a seat says no, or the one who asked withdraws.
- `done`: the last one who must agrees, or nobody must: the match goes back.

Rules:
- Any action or timeout voids a request. Who was declined asks again only after one.
- A finished match is not taken back.
- Deadlines are instants: one that has passed by now would fire at once, so there is
  no way back to its revision. One that has not is armed as it was.
- Chance and hidden information: see `undo.py`. A draw is found by the rng's position.
- What was written to players' profiles stays written: it may have left the match.

`UndoState` follows from the records alone, and is bounded: `back` snapshots, which
share what did not change.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from .frozen import enclose
from .machine import Machine
from .refusal import Refusal, refuse
from .snapshot import Snapshot
from .step import Batch, EventRecord, Step, TransitionRecord
from .undo import UndoRule

__all__ = [
    "NO_UNDO",
    "TAKEBACK_EVENT",
    "Past",
    "Phase",
    "TakenBack",
    "UndoRequest",
    "UndoState",
    "UndoVerb",
    "remember",
    "take_back",
]

TAKEBACK_EVENT: Final = "__takeback"
"""How records name the event of a takeback."""

UndoVerb: TypeAlias = Literal["ask", "agree", "decline"]
"""What a seat says."""

Phase: TypeAlias = Literal["asked", "agreed", "declined", "done"]
"""What came of it."""


class Past(msgspec.Struct, frozen=True, gc=False):
    """An action or timeout that may be undone."""

    snapshot: Snapshot
    """What it found; its revision names the place to return to."""
    seat: str | None
    """Who acted; None for a timeout."""
    reveals: bool
    """Whether one of its events shows what was hidden."""
    profiles: bool
    """Whether it wrote to players' profiles, which outlive the match."""


class UndoRequest(msgspec.Struct, frozen=True):
    """Somebody waits for an answer."""

    revision: int
    """At which it was asked; it names the request."""
    seat: str
    to: int
    """The revision to return to."""
    agreed: tuple[str, ...] = ()


class UndoState(msgspec.Struct, frozen=True):
    """What a match remembers for takebacks."""

    past: tuple[Past, ...] = ()
    """The last actions and timeouts of the line that stands, oldest first."""
    request: UndoRequest | None = None
    declined: tuple[str, ...] = ()
    """Who was declined since `since`."""
    since: int = 0
    """The revision that the last action, timeout or finished takeback led to."""


NO_UNDO: Final = UndoState()


class TakenBack(msgspec.Struct, frozen=True):
    """What came of a request or an answer."""

    phase: Phase
    to: int
    """The revision to return to; in the phase `done` the match has."""
    batch: Batch
    undo: UndoState


def remember(
    rule: UndoRule | None, undo: UndoState, before: Snapshot, batch: Batch
) -> UndoState:
    """What a match remembers after an action or a timeout."""
    if rule is None:
        return undo
    steps = batch.steps
    reveals = profiles = False
    for step in steps:
        reveals = reveals or step.event.event in rule.reveals
        profiles = profiles or step.transition.profile is not None
    entry = Past(before, steps[0].event.player_id, reveals, profiles)
    past = (*undo.past[1 - rule.back :], entry) if rule.back > 1 else (entry,)
    return UndoState(past, since=batch.snapshot.revision)


def take_back(
    machine: Machine,
    snapshot: Snapshot,
    undo: UndoState,
    *,
    seat: str,
    verb: UndoVerb,
    revision: int | None,
    now: int | float,
    action_id: str,
) -> TakenBack | Refusal:
    """Answer a request to take back, or an answer to one. A refusal changes nothing.

    `revision` of "ask" is the one to return to; None is that before the seat's newest
    action, or before the newest of all if anyone may ask. Of the other verbs it is the
    request's own.
    """
    rule = machine.game.undo
    players = snapshot.meta.match["players"]
    if snapshot.meta.result is not None:
        return refuse("game_over")
    if seat not in players:
        return refuse("unknown_player")
    if rule is None:
        return refuse("undo_not_allowed", "The game takes nothing back.")
    request = undo.request
    if verb == "ask":
        place = _asked_place(rule, undo, seat, revision)
        if isinstance(place, Refusal):
            return place
        request = UndoRequest(
            snapshot.revision + 1, seat, undo.past[place].snapshot.revision
        )
    elif request is None or request.revision != revision:
        return refuse("no_undo_request")
    else:
        place = _place(undo, request.to)
    made = _Making(snapshot, seat, now, action_id, request.to)
    if verb == "decline":
        declined = (*undo.declined, request.seat)
        after = UndoState(undo.past, None, declined, undo.since)
        return made.still("declined", after)
    if verb == "agree":
        if seat == request.seat or seat in request.agreed:
            return refuse("no_undo_request")
        request = msgspec.structs.replace(request, agreed=(*request.agreed, seat))
    if problem := _barrier(rule, snapshot, undo.past[place:], now):
        return refuse(problem)
    # Everyone but the one who asks; nobody agrees twice.
    if rule.agree == "opponents" and len(request.agreed) < len(players) - 1:
        after = msgspec.structs.replace(undo, request=request)
        return made.still("asked" if verb == "ask" else "agreed", after)
    return made.back(undo.past[place].snapshot, undo.past[:place])


def _asked_place(
    rule: UndoRule, undo: UndoState, seat: str, revision: int | None
) -> int | Refusal:
    """Which of the past entries a seat asks to undo first."""
    if undo.request is not None:
        return refuse("undo_pending")
    if seat in undo.declined:
        return refuse("undo_declined")
    own = rule.ask == "mover"
    if revision is not None:
        place = _place(undo, revision)
        if place >= 0 and own and undo.past[place].seat != seat:
            return refuse("undo_not_allowed")
    else:
        free = [n for n, e in enumerate(undo.past) if not own or e.seat == seat]
        place = free[-1] if free else -1
    return place if place >= 0 else refuse("nothing_to_undo")


def _place(undo: UndoState, revision: int) -> int:
    for place, entry in enumerate(undo.past):
        if entry.snapshot.revision == revision:
            return place
    return -1


def _barrier(
    rule: UndoRule, now_at: Snapshot, undone: tuple[Past, ...], now: int | float
) -> str:
    """What keeps the match from going back, as a code; "" if nothing does."""
    target = undone[0].snapshot
    if not rule.past_random:
        if target.meta.rng.draws != now_at.meta.rng.draws:
            return "undo_past_random"
        if any(entry.reveals for entry in undone):
            return "undo_past_reveal"
    if any(entry.profiles for entry in undone):
        return "undo_past_profile"
    deadline = target.derived.control_meta.deadline
    if deadline is not None and deadline <= now:
        return "undo_past_deadline"
    return ""


class _Making(msgspec.Struct, frozen=True):
    """Makes the one step of a takeback's batch."""

    before: Snapshot
    seat: str
    now: int | float
    action_id: str
    to: int

    def still(self, phase: Phase, undo: UndoState) -> TakenBack:
        """The match stays as it is, under a new revision."""
        return TakenBack(phase, self.to, self._batch(phase, self.before), undo)

    def back(self, target: Snapshot, past: tuple[Past, ...]) -> TakenBack:
        """The match is what it was."""
        batch = self._batch("done", target)
        undo = UndoState(past, since=batch.snapshot.revision)
        return TakenBack("done", self.to, batch, undo)

    def _batch(self, phase: Phase, state: Snapshot) -> Batch:
        before = self.before
        source, target = before.position, state.position
        event = EventRecord(
            self.action_id,
            self.now,
            TAKEBACK_EVENT,
            enclose({"phase": phase, "to": self.to}),
            self.seat,
            source.turn,
            "takeback",
        )
        taken = TransitionRecord.unasked(TAKEBACK_EVENT, source, target)
        after = msgspec.structs.replace(state, revision=before.revision + 1)
        return Batch((Step("takeback", event, taken, after),), after)
