"""Compares two runs of a match: two saved ones, or one under two versions of a game.

Both are played side by side, and the first revision is named at which they differ, and
the field. A log that brings its digests needs no second run: they tell whether other
code does the same; what each step changed, if the log has it, tells what it does
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from ..errors import EngineError, ReplayError
from ..frozen import FDict
from ..jsonvalue import Json
from ..machine import Machine
from ..playback import Place, play_record, start_record
from ..record import Record, RecordKind, seal_record
from ..snapshot import Snapshot
from ..step import Batch
from ..value_diff import iter_changes
from ..versions import FindMachine, Versions, no_machines
from .effect import FieldChange, first_effect_change, state_changes
from .frame import Frame
from .log_file import LogFile
from .timeline import Timeline

__all__ = ["Difference", "compare_log", "compare_timelines"]


# What the input of a record says beside seat, event and payload.
_ASKED: Final[Mapping[RecordKind, tuple[str, ...]]] = MappingProxyType(
    {
        RecordKind.TAKEBACK: ("verb", "phase", "to"),
        RecordKind.EDIT: ("patch",),
        RecordKind.UPGRADE: ("from", "to"),
    }
)


class Difference(msgspec.Struct, frozen=True):
    """The first difference between two runs."""

    revision: int
    field: str
    """`creation`, `action`, `answer`, `end`, or a part of the state: `G.board[3]`.

    `answer`: one of them refuses what the other accepts. `state`: the digests differ,
    and nothing tells in what.
    """
    before: Json
    after: Json


def compare_timelines(before: Timeline, after: Timeline) -> Difference | None:
    """The first difference of two runs; None if they are the same, views apart.

    Times of creation, seeds and what was done are part of it; action ids are not.
    """
    for change in _creations(before, after):
        return Difference(0, change.field, change.before, change.after)
    revision = 0
    while True:
        old, new = _frame(before, revision), _frame(after, revision)
        if isinstance(old, str) or isinstance(new, str):
            if old == new:
                return None
            return Difference(revision, "answer", _said(old), _said(new))
        if old is None or new is None:
            if old is new:
                return None
            return Difference(revision, "end", _ended(old), _ended(new))
        for change in _frame_changes(old, new):
            return Difference(revision, change.field, change.before, change.after)
        revision += 1


def compare_log(
    machine: Machine, log: LogFile, find: FindMachine = no_machines
) -> Difference | None:
    """Where a machine makes something else of a log than the log says, if anywhere.

    Of a match that was upgraded, it plays what the log ends with; `find` gives the
    other versions.

    Raises:
        ReplayError: A version from before an upgrade is not at hand.
    """
    place: Place | None = None
    versions, first = Versions(machine, find), machine
    if log.upgrades:
        recording = log.recording()
        versions = Versions(machine, find, plays=recording.version_at(log.upgrades[-1]))
        first = _first_version(versions, machine, log)
    for index, record in enumerate(log.records):
        before = None if place is None else place.snapshot
        batch = None
        reached = 0 if before is None else before.revision
        try:
            if place is None:
                place = Place(first, start_record(first, record, named=False))
            else:
                batch, place = play_record(place, index, record, versions)
        except ReplayError as error:
            step = reached if before is None else reached + 1
            return Difference(step, "answer", "accepted", str(error))
        snapshot = place.snapshot
        if _digest(record, before, batch, snapshot) != record.digest:
            number, change = _named(log, index, before, batch, snapshot)
            return Difference(
                reached + number, change.field, change.before, change.after
            )
    return None


def _first_version(versions: Versions, machine: Machine, log: LogFile) -> Machine:
    version = log.records[0].input.get("version")
    first = versions.get(version)
    if first is None:
        raise ReplayError(
            0,
            f"it begins under version {version!r} of {machine.game.name}, which is "
            "not at hand",
        )
    return first


def _digest(
    record: Record, before: Snapshot | None, batch: Batch | None, after: Snapshot
) -> bytes:
    return seal_record(
        record.prev_digest,
        index=record.index,
        kind=record.kind,
        time_ms=record.time_ms,
        revision_after=after.revision,
        input=record.input,
        before=before,
        batch=batch,
        snapshot=after,
    ).digest


def _named(
    log: LogFile,
    index: int,
    before: Snapshot | None,
    batch: Batch | None,
    after: Snapshot,
) -> tuple[int, FieldChange]:
    """The step of the batch and the field in which a record's outcome differs."""
    if before is not None and log.effects:
        found = first_effect_change(log.effects[index], before, batch)
        if found is not None:
            return found[0] + 1, found[1]
    if index in log.snapshots:
        kept = log.snapshots[index]()
        steps = after.revision - (0 if before is None else before.revision)
        for change in state_changes(kept, after):
            return steps, change
    record = log.records[index]
    steps = record.revision_after - (0 if before is None else before.revision)
    if record.revision_after != after.revision:
        expected, made = record.revision_after, after.revision
        return min(steps, 1), FieldChange("revision", expected, made)
    return steps, FieldChange("state", record.digest.hex(), None)


def _creations(before: Timeline, after: Timeline) -> Iterator[FieldChange]:
    old, new = before.recording, after.recording
    pairs: list[tuple[str, Json, Json]] = [
        ("seed", old.creation.get("seed"), new.creation.get("seed")),
        ("now", old.records[0].time_ms, new.records[0].time_ms),
    ]
    for name, was, now in pairs:
        for change in iter_changes(was, now, f"creation.{name}"):
            yield FieldChange(change.path, change.before, change.after)


def _frame(timeline: Timeline, revision: int) -> Frame | str | None:
    """A frame, what keeps it from being made, or None after the last one."""
    try:
        return timeline.frame(revision)
    except LookupError:
        return None
    except EngineError as error:
        return str(error)


def _said(frame: Frame | str | None) -> Json:
    return frame if isinstance(frame, str) else "accepted" if frame else "nothing"


def _ended(frame: Frame | None) -> Json:
    return "the match has ended" if frame is None else "it goes on"


def _frame_changes(old: Frame, new: Frame) -> Iterator[FieldChange]:
    if old.record is not None and new.record is not None and old.revision:
        for change in iter_changes(_done(old.record), _done(new.record), "action"):
            yield FieldChange(change.path, change.before, change.after)
    yield from state_changes(old.snapshot, new.snapshot)


def _done(record: Record) -> dict[str, Json]:
    """What was done: neither under which id, nor in which session, nor by which
    operator."""
    given: FDict = record.input
    asked = _ASKED.get(record.kind, ())
    done = {name: given.get(name) for name in ("seat", "event", "payload", *asked)}
    return {"kind": record.kind.value, "time_ms": record.time_ms, **done}
