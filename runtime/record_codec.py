"""A record as bytes, and back: how it stands in journals and travels to replicas.

One packed record is one msgpack value, of type bin: a frame or a file that holds it
carries it as it is, and skips it without a look inside. In it, sealed (`sealed.py`), is
the array [index, kind, time_ms, revision_after, input, prev_digest, digest].

It is written by msgspec's encoder, which writes what `msgpack.packb` writes.

Rules:
- The input keeps the order of its keys: a game may look at it.
- Any bytes at all are answered with a record or a `CodecError`.

Version history of `RECORD_FORMAT`:
1: the first.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ..engine.digest import DIGEST_BYTES
from ..engine.frozen import enclose, freeze
from ..engine.record import Record, RecordKind
from .errors import ContentMalformed
from .sealed import seal, unseal

__all__ = ["RECORD_FORMAT", "pack_record", "unpack_record"]

RECORD_FORMAT: Final = 1

# msgpack's bin 32: a tag, and four bytes of length.
_BIN_32: Final = 0xC6
_HEADER_BYTES: Final = 5

_KINDS: Final = {str(kind): kind for kind in RecordKind}
_NAMES: Final = {kind: str(kind) for kind in RecordKind}

_encode = msgspec.msgpack.Encoder().encode


def pack_record(record: Record) -> bytes:
    """The bytes of a record: one msgpack value."""
    body = _encode(
        (
            record.index,
            _NAMES[record.kind],
            record.time_ms,
            record.revision_after,
            record.input,
            record.prev_digest,
            record.digest,
        )
    )
    sealed = seal(RECORD_FORMAT, body)
    return b"".join((b"\xc6", len(sealed).to_bytes(4, "big"), sealed))


def unpack_record(data: bytes | memoryview | msgspec.Raw) -> Record:
    """Read what `pack_record` wrote. Nothing of `data` is kept.

    Raises:
        ChecksumWrong: The bytes are cut off, or have changed.
        FormatTooNew: A newer version wrote them.
        ContentMalformed: They are no record, or one of an unknown kind.
    """
    view = memoryview(data)
    size = int.from_bytes(view[1:_HEADER_BYTES], "big")
    if len(view) != _HEADER_BYTES + size or view[0] != _BIN_32:
        raise ContentMalformed("this is no packed record")
    _, body = unseal(view[_HEADER_BYTES:], RECORD_FORMAT, "a record")
    try:
        wire = _decode(body)
        given = enclose(wire.input, label="the input of a record")
        time_ms = freeze(wire.time_ms)
    except (RecursionError, ValueError, TypeError, OverflowError) as error:
        # msgspec's, freeze's, and those of dates and keys that cannot be.
        raise ContentMalformed(f"this is no packed record: {error}") from error
    kind = _KINDS.get(wire.kind)
    if kind is None:
        raise ContentMalformed(f"a record of the unknown kind {wire.kind[:40]!r}")
    if not len(wire.prev_digest) == len(wire.digest) == DIGEST_BYTES:
        raise ContentMalformed("a record whose digest has another length")
    if wire.index < 0 or wire.revision_after < 0:
        raise ContentMalformed("a record with a negative number")
    return Record(
        wire.index,
        kind,
        time_ms,
        wire.revision_after,
        given,
        wire.prev_digest,
        wire.digest,
    )


class _Wire(msgspec.Struct, array_like=True, gc=False, forbid_unknown_fields=True):
    index: int
    kind: str
    time_ms: int | float
    revision_after: int
    input: dict[str, Any]
    prev_digest: bytes
    digest: bytes


_decode = msgspec.msgpack.Decoder(_Wire).decode
