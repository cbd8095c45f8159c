"""A match's log: one record for each thing that changed it, chained by digests.

The digest of a record covers the digest before it, the record itself, and the steps it
caused: position, result, rng, and the parts of G and of the match that changed. Every
`FULL_DIGEST_EVERY` records it covers the whole state too, so that a fault in a part
that nobody changes is found as well. Whoever holds two logs can name the first record
in which they differ.
"""

from __future__ import annotations

from enum import StrEnum
from hashlib import blake2b
from typing import Any

import msgspec

from .digest import DIGEST_BYTES, canonical_bytes, changes, whole_state
from .errors import RecordError
from .frozen import FDict, enclose, freeze, thaw
from .jsonvalue import Json
from .limits import FULL_DIGEST_EVERY
from .snapshot import Snapshot
from .step import Batch

__all__ = [
    "Record",
    "RecordKind",
    "covers_all",
    "record_from_json",
    "record_to_json",
    "seal_record",
    "seal_sized",
]


class RecordKind(StrEnum):
    """What can change a match. Closed: an unknown kind quarantines a match."""

    CREATE = "create"
    """The match was created; always at index 0."""
    SEAT = "seat"
    """Someone took a seat, or left it."""
    SESSION = "session"
    """A player's session began at a seat."""
    ACTION = "action"
    """A player's event was accepted."""
    TIMEOUT = "timeout"
    """A deadline's transition was taken."""
    TAKEBACK = "takeback"
    """The match went back to an earlier revision."""
    EDIT = "edit"
    """An operator changed the state."""
    UPGRADE = "upgrade"
    """The match goes on under another version of its game."""
    CREDIT_OUTAGE = "credit_outage"
    """Running clocks were credited with the length of an outage."""
    DETACH = "detach"
    """The match left its shard."""
    ATTACH = "attach"
    """The match came to a shard."""
    TERMINATE = "terminate"
    """An operator ended the match."""
    RESULT_DELIVERED = "result_delivered"
    """The result reached its sink."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """One entry of a log."""

    index: int
    """Its number in the match, from 0."""
    kind: RecordKind
    time_ms: int | float
    revision_after: int
    input: FDict
    """What the kind needs to be played again."""
    prev_digest: bytes
    digest: bytes


def seal_record(
    prev: bytes,
    *,
    index: int,
    kind: RecordKind,
    time_ms: int | float,
    revision_after: int,
    input: FDict,
    before: Snapshot | None,
    batch: Batch | None,
    snapshot: Snapshot,
) -> Record:
    """Make the record that follows the digest `prev`; see `seal_sized`."""
    return seal_sized(
        prev,
        index=index,
        kind=kind,
        time_ms=time_ms,
        revision_after=revision_after,
        input=input,
        before=before,
        batch=batch,
        snapshot=snapshot,
    )[0]


def seal_sized(
    prev: bytes,
    *,
    index: int,
    kind: RecordKind,
    time_ms: int | float,
    revision_after: int,
    input: FDict,
    before: Snapshot | None,
    batch: Batch | None,
    snapshot: Snapshot,
) -> tuple[Record, int]:
    """Make the record that follows the digest `prev`, and say how much it covers.

    That is the bytes of its input and of all that its steps changed, packed; if the
    record `covers_all`, of the whole state as well.

    `before` is the snapshot the record found (None for the first), `batch` the steps it
    caused (None when there are none), `snapshot` what it left.
    """
    covered: list[Json] = [index, str.__str__(kind), time_ms, revision_after, input]
    if batch is not None:
        for step in batch.steps:
            covered.append(_trail(before, step.snapshot))
            before = step.snapshot
    elif snapshot is not before:
        covered.append(_trail(before, snapshot))
    if covers_all(index):
        covered.append(whole_state(snapshot))
    packed = canonical_bytes(covered)
    digest = blake2b(prev + packed, digest_size=DIGEST_BYTES).digest()
    record = Record(index, kind, time_ms, revision_after, input, prev, digest)
    return record, len(packed)


def covers_all(index: int) -> bool:
    """Whether the digest of a match's record of that index covers the whole state."""
    return index % FULL_DIGEST_EVERY == 0


def _trail(before: Snapshot | None, after: Snapshot) -> tuple[Json, ...]:
    """What a step left behind, as the digest sees it."""
    meta, position = after.meta, after.position
    rng = meta.rng
    G = match = None
    if before is not None:
        G = changes(before.G, after.G)
        match = changes(before.meta.match, meta.match)
    return (
        position.name,
        position.turn,
        meta.result,
        rng.draws,
        rng.state,
        G,
        match,
    )


def record_to_json(record: Record) -> dict[str, Json]:
    """A plain copy for transport; digests in hexadecimal."""
    return {
        "index": record.index,
        "kind": record.kind.value,
        "time_ms": record.time_ms,
        "revision_after": record.revision_after,
        "input": thaw(record.input),
        "prev_digest": record.prev_digest.hex(),
        "digest": record.digest.hex(),
    }


class _Wire(msgspec.Struct):
    index: int
    kind: RecordKind
    time_ms: int | float
    revision_after: int
    input: dict[str, Any]
    prev_digest: str
    digest: str


def record_from_json(value: object) -> Record:
    """Read what `record_to_json` wrote.

    Raises:
        RecordError: it is not a record; the message says where.
    """
    try:
        wire = msgspec.convert(value, _Wire)
        return Record(
            wire.index,
            wire.kind,
            freeze(wire.time_ms),
            wire.revision_after,
            enclose(wire.input, label="the input of a record"),
            bytes.fromhex(wire.prev_digest),
            bytes.fromhex(wire.digest),
        )
    except ValueError as error:  # msgspec's, freeze's and fromhex's are all of it
        raise RecordError(f"this is not a record: {error}") from error
