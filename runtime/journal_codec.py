"""What a journal's file holds, as bytes: groups, summaries, lines, states, history.

Each is sealed (`sealed.py`) on its own: a format version and a checksum. It is written
by msgspec's encoder, which writes what `msgpack.packb` writes.

A group is an array of operations, each [tag, field, ...]:
    0 shard [entry...]      appended; an entry is [epoch, seq, match, index, record]
    1 shard seq             truncated
    2 shard epoch           promised
    3 shard seq             commit
    4 shard seq epoch done  wiped; done: the install is complete
    5 shard seq epoch       checkpointed
    6 ident boot nonce      the replica identity

Version history of `JOURNAL_FORMAT`:
1: the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from .errors import CodecError, FormatTooNew, JournalCorrupt
from .journal import Checkpointed, MatchLine
from .replication.message import Entry
from .replication.output import (
    Appended,
    Commit,
    IdentityKept,
    Promised,
    Truncated,
    Wiped,
)
from .sealed import seal, unseal
from .stored_log import LogOp, LogOutline

__all__ = [
    "JOURNAL_FORMAT",
    "GroupOp",
    "pack_group",
    "pack_history",
    "pack_line",
    "pack_node",
    "pack_opaque",
    "pack_summary",
    "unpack_group",
    "unpack_history",
    "unpack_line",
    "unpack_node",
    "unpack_opaque",
    "unpack_summary",
]

JOURNAL_FORMAT: Final = 1

GroupOp = LogOp | IdentityKept
"""What a group in the journal holds; states and history have tables of their own."""

T = TypeVar("T")

_encode = msgspec.msgpack.Encoder().encode


def pack_group(ops: Sequence[GroupOp]) -> bytes:
    """A group of operations."""
    return seal(JOURNAL_FORMAT, _encode([_wire(op) for op in ops]))


def unpack_group(data: bytes) -> list[GroupOp]:
    """Read what `pack_group` wrote. Entries keep `data` alive.

    Raises:
        JournalCorrupt: It has changed, or is no group.
        FormatTooNew: A newer version wrote it.
    """
    return [op.read() for op in _unpack(data, _decode_group, "a journal's group")]


def pack_line(line: MatchLine) -> bytes:
    """A line of the manifest."""
    return seal(JOURNAL_FORMAT, _encode(msgspec.structs.astuple(line)))


def unpack_line(data: bytes) -> MatchLine:
    """Read what `pack_line` wrote.

    Raises:
        JournalCorrupt: It has changed, or is no line.
        FormatTooNew: A newer version wrote it.
    """
    wire = _unpack(data, _decode_line, "a line of the manifest")
    return MatchLine(*msgspec.structs.astuple(wire))


def pack_history(records: Sequence[bytes]) -> bytes:
    """Packed records that follow each other."""
    return seal(JOURNAL_FORMAT, _encode(records))


def unpack_history(data: bytes) -> list[bytes]:
    """Read what `pack_history` wrote.

    Raises:
        JournalCorrupt: It has changed, or is no history.
        FormatTooNew: A newer version wrote it.
    """
    return _unpack(data, _decode_history, "a part of a match's history")


def pack_opaque(body: bytes) -> bytes:
    """Bytes whose meaning is somebody else's: a state."""
    return seal(JOURNAL_FORMAT, body)


def unpack_opaque(data: bytes, what: str) -> bytes:
    """Read what `pack_opaque` wrote; `what` names it in errors.

    Raises:
        JournalCorrupt: It has changed.
        FormatTooNew: A newer version wrote it.
    """
    return _unpack(data, bytes, what)


def pack_summary(log: LogOutline, wiped: int) -> bytes:
    """A shard's log without its entries: what a cut journal no longer says.

    `wiped` is the number of the group that wiped it last, 0 if none did.
    """
    return seal(
        JOURNAL_FORMAT,
        _encode(
            (
                log.shard,
                log.promised,
                log.base_seq,
                log.base_epoch,
                log.commit,
                log.installing,
                wiped,
            )
        ),
    )


def unpack_summary(data: bytes) -> tuple[LogOutline, int]:
    """Read what `pack_summary` wrote.

    Raises:
        JournalCorrupt: It has changed, or is no summary.
        FormatTooNew: A newer version wrote it.
    """
    *numbers, installing, wiped = _unpack(data, _decode_summary, "a shard's summary")
    return LogOutline(*numbers, installing=installing), wiped


def pack_node(identity: IdentityKept, cut: int) -> bytes:
    """The identity, and the number of the last group that was cut off."""
    return seal(
        JOURNAL_FORMAT, _encode((identity.ident, identity.boot, identity.nonce, cut))
    )


def unpack_node(data: bytes) -> tuple[IdentityKept, int]:
    """Read what `pack_node` wrote.

    Raises:
        JournalCorrupt: It has changed, or is no such thing.
        FormatTooNew: A newer version wrote it.
    """
    ident, boot, nonce, cut = _unpack(data, _decode_node, "the node's summary")
    return IdentityKept(ident, boot, nonce), cut


def _unpack(data: bytes, decode: Callable[[memoryview], T], what: str) -> T:
    try:
        _, body = unseal(data, JOURNAL_FORMAT, what)
        return decode(body)
    except FormatTooNew:
        raise
    except CodecError as error:
        raise JournalCorrupt(str(error)) from error
    except (RecursionError, ValueError, TypeError, OverflowError) as error:
        # msgspec's, and those of dates and keys that cannot be.
        raise JournalCorrupt(f"{what} cannot be read: {error}") from error


def _wire(op: GroupOp) -> tuple[Any, ...]:
    match op:
        case Appended(shard, entries):
            return (0, shard, entries)
        case Truncated(shard, seq):
            return (1, shard, seq)
        case Promised(shard, epoch):
            return (2, shard, epoch)
        case Commit(shard, seq):
            return (3, shard, seq)
        case Wiped(shard, seq, epoch, complete):
            return (4, shard, seq, epoch, complete)
        case Checkpointed(shard, seq, epoch):
            return (5, shard, seq, epoch)
        case IdentityKept(ident, boot, nonce):
            return (6, ident, boot, nonce)


class _Op(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """One operation as it is read."""


class _Appended(_Op, tag=0):
    shard: int
    entries: tuple[Entry, ...]

    def read(self) -> GroupOp:
        return Appended(self.shard, self.entries)


class _Truncated(_Op, tag=1):
    shard: int
    seq: int

    def read(self) -> GroupOp:
        return Truncated(self.shard, self.seq)


class _Promised(_Op, tag=2):
    shard: int
    epoch: int

    def read(self) -> GroupOp:
        return Promised(self.shard, self.epoch)


class _Commit(_Op, tag=3):
    shard: int
    seq: int

    def read(self) -> GroupOp:
        return Commit(self.shard, self.seq)


class _Wiped(_Op, tag=4):
    shard: int
    seq: int
    epoch: int
    complete: bool

    def read(self) -> GroupOp:
        return Wiped(self.shard, self.seq, self.epoch, self.complete)


class _Checkpointed(_Op, tag=5):
    shard: int
    seq: int
    epoch: int

    def read(self) -> GroupOp:
        return Checkpointed(self.shard, self.seq, self.epoch)


class _Identity(_Op, tag=6):
    ident: str
    boot: int
    nonce: str

    def read(self) -> GroupOp:
        return IdentityKept(self.ident, self.boot, self.nonce)


class _Line(MatchLine, frozen=True, array_like=True):
    """A line as it is written; a field that was added later has its default."""


_AnyOp = (
    _Appended | _Truncated | _Promised | _Commit | _Wiped | _Checkpointed | _Identity
)
_decode_group = msgspec.msgpack.Decoder(list[_AnyOp]).decode
_decode_line = msgspec.msgpack.Decoder(_Line).decode
_decode_history = msgspec.msgpack.Decoder(list[bytes]).decode
_decode_summary = msgspec.msgpack.Decoder(
    tuple[int, int, int, int, int, bool, int]
).decode
_decode_node = msgspec.msgpack.Decoder(tuple[str, int, str, int]).decode
