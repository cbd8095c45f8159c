"""An exported log: all records of a match with their digests, as one file.

MessagePack: `["hotseat log", format, checksum, body]`. The body holds the records, and
what was known of the match when it was exported: a snapshot every `SNAPSHOT_EVERY`
records, so that a reader opens the file in the middle without playing what comes
before, and what each step changed, so that other code can be told what it does
otherwise. Both are there if the game was at hand.

Rules:
- A file is taken as a whole or not at all: the checksum covers all of the body.
- Opening costs one pass over the bytes; a record is built when it is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, Final, TypeVar

import msgspec

from ..digest import DIGEST_BYTES, NO_DIGEST
from ..errors import InvalidJsonValueError, ReplayError, SnapshotError
from ..frozen import enclose
from ..limits import FULL_DIGEST_EVERY
from ..machine import Machine
from ..playback import verify_records
from ..record import Record, RecordKind
from ..snapshot import Snapshot, snapshot_from_json, snapshot_to_json
from ..versions import FindMachine, no_machines
from .effect import Effect, effects_of
from .lazy_sequence import LazySequence
from .recording import Recording
from .replay_error import LogFileError

__all__ = [
    "SNAPSHOT_EVERY",
    "LogFile",
    "is_log_file",
    "read_log_file",
    "read_snapshot",
    "write_log_file",
]

# Records between two snapshots in a file. A jump plays these at most: a fortieth of a
# match of 10,000 records. Digests cover the whole state at the same places.
SNAPSHOT_EVERY: Final = FULL_DIGEST_EVERY

_MAGIC: Final = "hotseat log"
_FORMAT: Final = 1
_PREFIX: Final = b"\x94" + msgspec.msgpack.encode(_MAGIC)

T = TypeVar("T")


class _Outer(msgspec.Struct, array_like=True):
    magic: str
    format: int
    checksum: bytes
    body: bytes


class _Row(msgspec.Struct, array_like=True, gc=False):
    kind: RecordKind
    time_ms: int | float
    revision_after: int
    digest: bytes
    input: msgspec.Raw


class _Body(msgspec.Struct, array_like=True):
    records: list[_Row]
    snapshots: dict[int, msgspec.Raw]
    effects: list[msgspec.Raw]


class LogFile(msgspec.Struct, frozen=True):
    """What an exported log holds."""

    records: Sequence[Record]
    snapshots: Mapping[int, Callable[[], Snapshot]]
    """By the index of the record that left it. Believed until it is verified."""
    effects: Sequence[Sequence[Effect]]
    """Of each record; empty when the game was not at hand."""
    revisions: Sequence[int]
    upgrades: Sequence[int] = ()
    """The indexes of the records by which the game's version changed."""

    def recording(self) -> Recording:
        """What is played back from it."""
        return Recording(
            self.records,
            revisions=self.revisions,
            marks=dict(self.snapshots),
            upgrades=self.upgrades,
        )


def is_log_file(data: bytes) -> bool:
    """Whether bytes begin as an exported log does."""
    return data.startswith(_PREFIX)


def write_log_file(
    records: Sequence[Record],
    machine: Machine | None = None,
    find: FindMachine = no_machines,
) -> bytes:
    """The bytes of a log. With a machine it is verified, and snapshots are added.

    `find` gives other versions of the machine's game, if the log needs them.

    Raises:
        ReplayError: There are no records, or they do not follow one another.
        DigestMismatchError: A record differs from what the machine makes of it.
    """
    if not records:
        raise ReplayError(0, "the log is empty")
    chain = NO_DIGEST
    rows = []
    for index, record in enumerate(records):
        if record.index != index or record.prev_digest != chain:
            raise ReplayError(index, f"record {record.index} does not follow the last")
        chain = record.digest
        rows.append(_row(record))
    snapshots: dict[int, msgspec.Raw] = {}
    effects: list[msgspec.Raw] = []
    if machine is not None:
        for index, played in enumerate(verify_records(machine, records, find)):
            if index % SNAPSHOT_EVERY == 0:
                snapshots[index] = _raw(snapshot_to_json(played.snapshot))
            effects.append(_raw(effects_of(played)))
    body = msgspec.msgpack.encode(_Body(rows, snapshots, effects))
    return msgspec.msgpack.encode(_Outer(_MAGIC, _FORMAT, _checksum(body), body))


def read_log_file(data: bytes) -> LogFile:
    """Read an exported log.

    Raises:
        LogFileError: not_a_log, unsupported_format or damaged_file.
    """
    if not is_log_file(data):
        raise LogFileError("not_a_log", "these bytes are no exported log")
    outer = _decoded(_Outer, data)
    if outer.format != _FORMAT:
        raise LogFileError(
            "unsupported_format",
            f"the log is of format {outer.format}; {_FORMAT} is known here",
        )
    if outer.checksum != _checksum(outer.body):
        raise LogFileError("damaged_file", "the checksum of the log is wrong")
    body = _decoded(_Body, outer.body)
    count = len(body.records)
    if not count or body.records[0].kind is not RecordKind.CREATE:
        raise LogFileError("damaged_file", "the log does not begin with a creation")
    if len(body.effects) not in (0, count):
        raise LogFileError("damaged_file", "the log lacks some of its effects")
    if any(not 0 <= index < count for index in body.snapshots):
        raise LogFileError("damaged_file", "a snapshot is of no record of the log")
    revisions = [row.revision_after for row in body.records]
    if revisions[0] != 0 or any(map(int.__gt__, revisions, revisions[1:])):
        raise LogFileError("damaged_file", "the revisions of the log go back")
    return LogFile(
        LazySequence(count, partial(_record, body.records)),
        {at: partial(read_snapshot, raw) for at, raw in body.snapshots.items()},
        LazySequence(len(body.effects), partial(_effect, body.effects)),
        revisions,
        [n for n, row in enumerate(body.records) if row.kind is RecordKind.UPGRADE],
    )


def _row(record: Record) -> _Row:
    return _Row(
        record.kind,
        record.time_ms,
        record.revision_after,
        record.digest,
        _raw(record.input),
    )


def _record(rows: Sequence[_Row], index: int) -> Record:
    row = rows[index]
    try:
        given = enclose(_decoded(dict[str, Any], row.input), label="a record's input")
    except InvalidJsonValueError as error:
        raise ReplayError(index, f"record {index} is malformed: {error}") from error
    return Record(
        index,
        row.kind,
        row.time_ms,
        row.revision_after,
        given,
        rows[index - 1].digest if index else NO_DIGEST,
        row.digest,
    )


def read_snapshot(packed: bytes | msgspec.Raw) -> Snapshot:
    """A snapshot as logs have it: `snapshot_to_json`, packed.

    Raises:
        SnapshotError: It is none.
    """
    try:
        return snapshot_from_json(msgspec.msgpack.decode(packed))
    except (msgspec.DecodeError, RecursionError) as error:
        raise SnapshotError(f"this is not a snapshot: {error}") from error


def _effect(raws: Sequence[msgspec.Raw], index: int) -> list[Effect]:
    return _decoded(list[Effect], raws[index])


def _decoded(kind: type[T], data: bytes | msgspec.Raw) -> T:
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise LogFileError("damaged_file", f"the log cannot be read: {error}") from None


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.msgpack.encode(value))


def _checksum(body: bytes) -> bytes:
    return blake2b(body, digest_size=DIGEST_BYTES).digest()
