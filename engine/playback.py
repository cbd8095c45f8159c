"""Plays a log back, and names the first record that differs.

A replay knows what changes a match by its rules alone, and by what its operators'
records say. A log of a match that was upgraded needs each version of its game: one
machine is given, the others are found (`versions.py`).

A game that has outages credited is told the time of its match's own clock: the
record's, less what was credited before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from .definition import Game
from .digest import NO_DIGEST
from .errors import DigestMismatchError, EngineError, ReplayError
from .machine import Machine, compile_game
from .operator.edit import edit_state
from .operator.terminate import terminate_match
from .operator.upgrade import upgrade_state
from .record import Record, RecordKind, seal_record
from .refusal import Refusal
from .session import Session
from .snapshot import Snapshot
from .step import Batch
from .takeback import NO_UNDO, UndoState, remember, take_back
from .versions import FindMachine, Versions, no_machines

__all__ = [
    "Place",
    "Played",
    "credit_of",
    "play_record",
    "replay_log",
    "start_record",
    "verify_records",
]

# Kinds that leave G, position, result and rng as they were.
_STILL: Final = frozenset(
    {
        RecordKind.SEAT,
        RecordKind.SESSION,
        RecordKind.DETACH,
        RecordKind.ATTACH,
        RecordKind.RESULT_DELIVERED,
    }
)

# In this order a difference is named.
_FIELDS: Final = (
    "index",
    "kind",
    "time_ms",
    "revision_after",
    "input",
    "prev_digest",
    "digest",
)


class Place(msgspec.Struct, frozen=True):
    """Where a playback stands: the match, and what of it can be taken back."""

    machine: Machine
    """The version of the game that it goes on under."""
    snapshot: Snapshot
    undo: UndoState = NO_UNDO
    credit_ms: int | float = 0
    """How far the match's own clock is behind that of the records."""


class Played(msgspec.Struct, frozen=True):
    """A record that was played back: what it found, did and left."""

    record: Record
    before: Snapshot | None
    """None for the creation."""
    batch: Batch | None
    """None when the record caused no steps."""
    snapshot: Snapshot
    machine: Machine
    """The version of the game that the match goes on under after it."""
    undo: UndoState = NO_UNDO
    """What can be taken back after it."""
    credit_ms: int | float = 0
    """How far the match's own clock is behind after it."""


def replay_log(
    game: Game, records: Iterable[Record], find: FindMachine = no_machines
) -> Session:
    """Rebuild a match from its log. Every digest is computed again and compared.

    `find` gives other versions of the game, if the log needs them.

    Raises:
        DigestMismatchError: a record differs; `index` and `field` say which and where.
        ReplayError: the log is empty, is of another game, does not begin with the
            creation, or holds what the game now refuses or a replay cannot do.
        DefinitionError: the states do not form a tree.
    """
    log = list(records)
    if not log:
        raise ReplayError(0, "the log is empty")
    machine = compile_game(game)
    last = deque(verify_records(machine, log, find), maxlen=1)[0]
    return Session(last.machine, last.snapshot, log, last.undo, last.credit_ms)


def verify_records(
    machine: Machine, records: Iterable[Record], find: FindMachine = no_machines
) -> Iterator[Played]:
    """Play a log back record by record; each is given out once its digest is right.

    `machine` is one version of its game; `find` gives others, if the log needs them.

    Raises, from the iteration:
        DigestMismatchError: a record differs; `index` and `field` say which and where.
        ReplayError: a record cannot be played back.
    """
    place: Place | None = None
    versions = Versions(machine, find)
    chain = NO_DIGEST
    for index, record in enumerate(records):
        batch = None
        before = None if place is None else place.snapshot
        if place is None:
            first = versions.get(record.input.get("version")) or machine
            place = Place(first, start_record(first, record))
        else:
            batch, place = play_record(place, index, record, versions)
        snapshot = place.snapshot
        made = seal_record(
            chain,
            index=index,
            kind=record.kind,
            time_ms=record.time_ms,
            revision_after=snapshot.revision,
            input=record.input,
            before=before,
            batch=batch,
            snapshot=snapshot,
        )
        _compare(index, record, made)
        chain = made.digest
        yield Played(
            record,
            before,
            batch,
            snapshot,
            place.machine,
            place.undo,
            place.credit_ms,
        )


def start_record(machine: Machine, record: Record, *, named: bool = True) -> Snapshot:
    """Do what a log's first record did; `named`: it must name this very game.

    Raises:
        ReplayError: it is no creation, is of another game, or the match does not start.
    """
    game, given = machine.game, record.input
    if record.kind is not RecordKind.CREATE:
        raise ReplayError(0, f"a log begins with the creation, not {record.kind}")
    name = (given.get("game"), given.get("version"))
    if named and name != (game.name, game.version):
        raise ReplayError(
            0,
            f"the log is of {name[0]} version {name[1]}, "
            f"not of {game.name} version {game.version}",
        )
    try:
        return machine.start(given.get("match"), given.get("seed", ""), record.time_ms)
    except EngineError as error:
        raise ReplayError(0, f"the match does not start: {error}") from error


def play_record(
    place: Place, index: int, record: Record, versions: Versions
) -> tuple[Batch | None, Place]:
    """Do what a record did, later than the first, and say where the match is then.

    The batch is None when it caused no steps.

    Raises:
        ReplayError: the game refuses it now, or a replay cannot do it.
    """
    if record.kind in _STILL:
        return None, place
    if record.kind is RecordKind.CREDIT_OUTAGE:
        return None, _credited(place, index, record)
    try:
        if record.kind is RecordKind.TAKEBACK:
            return _played_takeback(place, index, record)
        if record.kind is RecordKind.UPGRADE:
            return _played_upgrade(place, index, record, versions)
        answer = _answer(place, record)
    except (EngineError, KeyError) as error:
        raise ReplayError(index, f"the {record.kind} is malformed: {error}") from error
    if isinstance(answer, Batch):
        return answer, msgspec.structs.replace(
            place, snapshot=answer.snapshot, undo=_remembered(place, record, answer)
        )
    if isinstance(answer, str):
        raise ReplayError(index, answer)
    raise _not_accepted(index, record, answer)


def credit_of(records: Iterable[Record]) -> int | float:
    """What these records of a match credited to its clock."""
    outages = (r for r in records if r.kind is RecordKind.CREDIT_OUTAGE)
    credit: int | float = sum(outage.input["ms"] for outage in outages)
    return credit


def _remembered(place: Place, record: Record, batch: Batch) -> UndoState:
    """What can be taken back after a record: nothing goes past an operator's."""
    rule = place.machine.game.undo
    if rule is None:
        return NO_UNDO
    kind = record.kind
    played = kind is RecordKind.ACTION and "operator" not in record.input
    if played or kind is RecordKind.TIMEOUT:
        return remember(rule, place.undo, place.snapshot, batch)
    return UndoState(since=batch.snapshot.revision)


def _credited(place: Place, index: int, record: Record) -> Place:
    ms = record.input.get("ms")
    if not place.machine.game.credit_outages or type(ms) is not int or ms <= 0:
        raise ReplayError(index, f"{ms!r} ms cannot be credited in this game")
    return msgspec.structs.replace(place, credit_ms=place.credit_ms + ms)


def _played_upgrade(
    place: Place, index: int, record: Record, versions: Versions
) -> tuple[Batch, Place]:
    given, stands = record.input, place.machine
    machine = versions.get(given["to"])
    if machine is None:
        raise ReplayError(
            index,
            f"the match goes on under version {given['to']!r} of {stands.game.name}, "
            "which is not at hand",
        )
    upgraded = upgrade_state(machine, place.snapshot, given, now=_now(place, record))
    if isinstance(upgraded, Refusal):
        raise _not_accepted(index, record, upgraded)
    batch, _ = upgraded
    undo = NO_UNDO
    if machine.game.undo is not None:
        undo = UndoState(since=batch.snapshot.revision)
    return batch, Place(machine, batch.snapshot, undo, place.credit_ms)


def _played_takeback(place: Place, index: int, record: Record) -> tuple[Batch, Place]:
    given = record.input
    taken = take_back(
        place.machine,
        place.snapshot,
        place.undo,
        seat=given.get("seat", ""),
        verb=given.get("verb", ""),
        revision=given.get("revision"),
        now=_now(place, record),
        action_id=given.get("action_id", ""),
    )
    if isinstance(taken, Refusal):
        raise _not_accepted(index, record, taken)
    was = (given.get("phase"), given.get("to"))
    if was != (taken.phase, taken.to):
        raise ReplayError(
            index,
            f"the takeback was {was[0]}, to revision {was[1]}; now it is "
            f"{taken.phase}, to revision {taken.to}",
        )
    return taken.batch, msgspec.structs.replace(
        place, snapshot=taken.batch.snapshot, undo=taken.undo
    )


def _not_accepted(index: int, record: Record, answer: Refusal | None) -> ReplayError:
    why = "nothing was due" if answer is None else f"{answer.code}, {answer.message}"
    return ReplayError(index, f"the {record.kind} is not accepted now: {why}")


def _now(place: Place, record: Record) -> int | float:
    """What the match's own clock showed."""
    if not place.credit_ms:
        return record.time_ms
    return record.time_ms - place.credit_ms


def _answer(place: Place, record: Record) -> Batch | Refusal | str | None:
    before, given, now = place.snapshot, record.input, _now(place, record)
    machine = place.machine
    action_id = given.get("action_id", "")
    if record.kind is RecordKind.ACTION:
        return machine.apply(
            before,
            given.get("seat", ""),
            given.get("event", ""),
            given.get("payload"),
            now=now,
            action_id=action_id,
            by_operator="operator" in given,
        )
    if record.kind is RecordKind.TIMEOUT:
        return machine.fire_timeout(before, now=now, action_id=action_id)
    if record.kind is RecordKind.EDIT:
        return edit_state(machine, before, given, now=now)
    if record.kind is RecordKind.TERMINATE:
        return terminate_match(before, given, now=now)
    return f"a replay cannot do what {record.kind} did"


def _compare(index: int, found: Record, made: Record) -> None:
    for field in _FIELDS:
        if getattr(found, field) != getattr(made, field):
            raise DigestMismatchError(index, field)
