"""What each kind of record does to a match.

The same functions serve those who decide and those who replay, so that both get the
same state and the same digests from the same input. They do not judge: whether a
command may become a record is for `match.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from ..engine.digest import NO_DIGEST, canonical_bytes
from ..engine.frozen import enclose
from ..engine.jsonvalue import Json
from ..engine.machine import Machine
from ..engine.record import Record, RecordKind, covers_all, seal_sized
from ..engine.refusal import Refusal
from ..engine.snapshot import Snapshot
from ..engine.step import Batch
from ..engine.takeback import UndoState, remember, take_back
from .dedupe import RememberedKey
from .interventions import Interventions
from .match_state import MatchState, SeatState, armed_deadline, measure, progress

__all__ = [
    "Change",
    "advance",
    "apply_action",
    "apply_attach",
    "apply_create",
    "apply_delivered",
    "apply_detach",
    "apply_credit_outage",
    "apply_seat",
    "apply_session",
    "apply_takeback",
    "apply_timeout",
    "content_digest",
    "seal_change",
]


class Change(msgspec.Struct, frozen=True):
    """The record, the match after it, and the steps it caused, if any."""

    state: MatchState
    record: Record
    batch: Batch | None = None


def content_digest(*content: Json) -> bytes:
    """A digest of what a key stands for: equal content, equal digest."""
    return hashlib.blake2b(canonical_bytes(list(content)), digest_size=8).digest()


def apply_create(machine: Machine, given: Mapping[str, Json], time_ms: int) -> Change:
    """Start a match. `given` is the create record's input.

    Raises:
        InvalidGameError: The game does not pass validation.
        InvalidMatchError: The match input does not fit the game.
    """
    snapshot = machine.start(given["match"], given["seed"], time_ms)
    record, packed = seal_sized(
        NO_DIGEST,
        index=0,
        kind=RecordKind.CREATE,
        time_ms=time_ms,
        revision_after=snapshot.revision,
        input=_frozen(given),
        before=None,
        batch=None,
        snapshot=snapshot,
    )
    armed_ms, stuck = armed_deadline(snapshot, time_ms, None)
    at_most, unmeasured = measure(None, snapshot, packed, whole=True)
    state = MatchState(
        machine=machine,
        match=given["id"],
        epoch=given["epoch"],
        creation=given["creation"],
        snapshot=snapshot,
        seats={seat: SeatState() for seat in snapshot.meta.match["players"]},
        index=0,
        digest=record.digest,
        time_ms=time_ms,
        position_revision=snapshot.revision,
        armed_ms=armed_ms,
        stuck=stuck,
        bytes_at_most=at_most,
        bytes_unmeasured=unmeasured,
    )
    return Change(state, record)


def apply_seat(state: MatchState, given: Mapping[str, Json], time_ms: int) -> Change:
    """A free seat is taken, and its first session begins."""
    seat = state.seats[given["seat"]]
    taken = SeatState(
        given["token"], seat.window.begin_session(), seat.touched_revision
    )
    return _with_seat(state, RecordKind.SEAT, given, time_ms, taken)


def apply_session(state: MatchState, given: Mapping[str, Json], time_ms: int) -> Change:
    """Another session of a taken seat begins."""
    seat = state.seats[given["seat"]]
    renewed = SeatState(
        seat.token_hash, seat.window.begin_session(), seat.touched_revision
    )
    return _with_seat(state, RecordKind.SESSION, given, time_ms, renewed)


def apply_action(
    state: MatchState, given: Mapping[str, Json], content: bytes, time_ms: int
) -> Change | Refusal:
    """Put an action through the engine; accepted, its key takes a place.

    `content` is the `content_digest` of its event and payload.
    """
    name = given["seat"]
    batch = state.machine.apply(
        state.snapshot,
        name,
        given["event"],
        given["payload"],
        now=state.clock_ms(time_ms),
        action_id=given["action_id"],
    )
    if isinstance(batch, Refusal):
        return batch
    record, packed = seal_change(
        state, RecordKind.ACTION, given, time_ms, batch.snapshot, batch
    )
    seat = state.seats[name]
    window = seat.window.remember(_key(given, content, record))
    own = SeatState(seat.token_hash, window, state.revision + 1)
    after = advance(
        state,
        record,
        batch,
        {name: own},
        time_ms=time_ms,
        waiting_ms=state.armed_ms,
        packed=packed,
        undo=remember(state.machine.game.undo, state.undo, state.snapshot, batch),
    )
    return Change(after, record, batch)


def apply_takeback(
    state: MatchState, asked: Mapping[str, Json], content: bytes, time_ms: int
) -> Change | Refusal:
    """Ask to take back, or answer; the record's input says what came of it too.

    `content` is the `content_digest` of the verb and the revision, behind a mark that
    no action has. Only a takeback that is done makes older views stale.
    """
    name = asked["seat"]
    taken = take_back(
        state.machine,
        state.snapshot,
        state.undo,
        seat=name,
        verb=asked["verb"],
        revision=asked["revision"],
        now=state.clock_ms(time_ms),
        action_id=asked["action_id"],
    )
    if isinstance(taken, Refusal):
        return taken
    given = {**asked, "phase": taken.phase, "to": taken.to}
    batch = taken.batch
    record, packed = seal_change(
        state, RecordKind.TAKEBACK, given, time_ms, batch.snapshot, batch
    )
    window = state.seats[name].window.remember(_key(given, content, record))
    after = advance(
        state,
        record,
        batch,
        {name: msgspec.structs.replace(state.seats[name], window=window)},
        time_ms=time_ms,
        waiting_ms=state.armed_ms,
        packed=packed,
        undo=taken.undo,
    )
    if taken.phase == "done":
        after = msgspec.structs.replace(after, position_revision=after.revision)
    return Change(after, record, batch)


def apply_timeout(
    state: MatchState, given: Mapping[str, Json], time_ms: int
) -> Change | Refusal | None:
    """Fire the deadline. None: no transition of the position answers to it."""
    batch = state.machine.fire_timeout(
        state.snapshot, now=state.clock_ms(time_ms), action_id=given["action_id"]
    )
    if batch is None or isinstance(batch, Refusal):
        return batch
    record, packed = seal_change(
        state, RecordKind.TIMEOUT, given, time_ms, batch.snapshot, batch
    )
    after = advance(
        state,
        record,
        batch,
        {},
        time_ms=time_ms,
        waiting_ms=None,
        packed=packed,
        undo=remember(state.machine.game.undo, state.undo, state.snapshot, batch),
    )
    return Change(after, record, batch)


def apply_credit_outage(
    state: MatchState, given: Mapping[str, Json], time_ms: int
) -> Change:
    """Set the match's own clock back by `ms`: its deadline comes so much later.

    Not further than to the last record's time: its clock never goes back.
    """
    ms = given["ms"]
    record, _ = seal_change(
        state, RecordKind.CREDIT_OUTAGE, given, time_ms, state.snapshot, None
    )
    after = msgspec.structs.replace(
        state,
        index=record.index,
        digest=record.digest,
        time_ms=time_ms,
        armed_ms=None if state.armed_ms is None else state.armed_ms + ms,
        credit_ms=state.credit_ms + ms,
    )
    return Change(after, record)


def apply_delivered(
    state: MatchState, given: Mapping[str, Json], time_ms: int
) -> Change:
    """The result of the match has reached its sinks."""
    record, _ = seal_change(
        state, RecordKind.RESULT_DELIVERED, given, time_ms, state.snapshot, None
    )
    after = msgspec.structs.replace(
        state,
        index=record.index,
        digest=record.digest,
        time_ms=time_ms,
        reported=True,
    )
    return Change(after, record)


def apply_detach(state: MatchState, given: Mapping[str, Json], time_ms: int) -> Change:
    """The match is to leave for a shard of its own. Nothing else changes."""
    return _placed(state, RecordKind.DETACH, given, time_ms, given["shard"], given["n"])


def apply_attach(state: MatchState, given: Mapping[str, Json], time_ms: int) -> Change:
    """The match is at home. Nothing else changes."""
    return _placed(state, RecordKind.ATTACH, given, time_ms, 0, state.pins)


def _placed(
    state: MatchState,
    kind: RecordKind,
    given: Mapping[str, Json],
    time_ms: int,
    pinned: int,
    pins: int,
) -> Change:
    record, _ = seal_change(state, kind, given, time_ms, state.snapshot, None)
    after = msgspec.structs.replace(
        state,
        index=record.index,
        digest=record.digest,
        time_ms=time_ms,
        pinned=pinned,
        pins=pins,
    )
    return Change(after, record)


def _key(given: Mapping[str, Json], content: bytes, record: Record) -> RememberedKey:
    return RememberedKey(
        given["session"],
        given["action"],
        content,
        record.revision_after,
        record.index,
    )


def _with_seat(
    state: MatchState,
    kind: RecordKind,
    given: Mapping[str, Json],
    time_ms: int,
    seat: SeatState,
) -> Change:
    record, _ = seal_change(state, kind, given, time_ms, state.snapshot, None)
    after = msgspec.structs.replace(
        state,
        seats={**state.seats, given["seat"]: seat},
        index=record.index,
        digest=record.digest,
        time_ms=time_ms,
    )
    return Change(after, record)


def advance(
    state: MatchState,
    record: Record,
    batch: Batch,
    changed: dict[str, SeatState],
    *,
    time_ms: int,
    waiting_ms: int | None,
    packed: int,
    undo: UndoState,
    interventions: Interventions | None = None,
) -> MatchState:
    """The state after a record that caused steps. `changed` are seats, by name.

    `interventions` is None when players or time did it: then nothing that an operator
    did can be undone any more.
    """
    seen = progress(state, batch)
    if interventions is None:
        interventions = state.interventions.played_on()
    seats: Mapping[str, SeatState] = state.seats
    if changed or seen.touched:
        seats = merged = {**seats, **changed}
        for name, revision in seen.touched.items():
            if name in merged:
                merged[name] = msgspec.structs.replace(
                    merged[name], touched_revision=revision
                )
    credit_ms = state.credit_ms
    armed_ms, stuck = armed_deadline(batch.snapshot, time_ms, waiting_ms, credit_ms)
    at_most, unmeasured = measure(
        state, batch.snapshot, packed, whole=covers_all(record.index)
    )
    return MatchState(
        machine=state.machine,
        match=state.match,
        epoch=state.epoch,
        creation=state.creation,
        snapshot=batch.snapshot,
        seats=seats,
        index=record.index,
        digest=record.digest,
        time_ms=time_ms,
        position_revision=seen.position_revision,
        armed_ms=armed_ms,
        stuck=stuck,
        bytes_at_most=at_most,
        bytes_unmeasured=unmeasured,
        undo=undo,
        credit_ms=credit_ms,
        pinned=state.pinned,
        pins=state.pins,
        interventions=interventions,
    )


def seal_change(
    state: MatchState,
    kind: RecordKind,
    given: Mapping[str, Json],
    time_ms: int,
    snapshot: Snapshot,
    batch: Batch | None,
) -> tuple[Record, int]:
    """The next record of the match, and the bytes that it covers."""
    return seal_sized(
        state.digest,
        index=state.index + 1,
        kind=kind,
        time_ms=time_ms,
        revision_after=snapshot.revision,
        input=_frozen(given),
        before=state.snapshot,
        batch=batch,
        snapshot=snapshot,
    )


def _frozen(given: Mapping[str, Json]) -> Any:
    return enclose(dict(given), label="the input of a record")
