"""A match on its way to another replica.

It travels as one or more *parts*: first its history, oldest records first, as much as
fits into a part; the last part has the rest of the records and the state. Each is one
msgpack map (`Part`), and is cut into pieces. Pieces of one match follow one another;
one with offset 0 begins a part, whatever came before.

A place in a shard's matches is a cursor, opaque to everyone else: between two matches,
or within one. If the match has moved on since, its part is begun anew.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..errors import CodecError, ContentMalformed
from ..journal import MatchLine
from ..record_codec import unpack_record
from ..replication.message import ManifestLine, Piece

__all__ = [
    "Assembly",
    "Cursor",
    "Part",
    "cut",
    "digest_of",
    "manifest_line",
    "pack_part",
]

# Bytes of one part, at most: a state is 4 MiB and a little, a record 1 MiB.
PART_BYTES_MAX = 8 * 1024 * 1024

_SEPARATOR = "\n"


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """What comes of a match at once."""

    line: MatchLine
    first: int
    """The number of the first of `records`."""
    records: tuple[bytes, ...] = ()
    state: bytes | None = None
    """Packed, with the last part; empty if there is none that could be read."""

    @property
    def last(self) -> bool:
        """Whether the match is complete with it."""
        return self.state is not None


class Cursor(msgspec.Struct, frozen=True):
    """Behind `match`; or within it, if `size` is not 0."""

    match: str = ""
    first: int = 0
    """The first record of the part that is being sent."""
    offset: int = 0
    """So many of its bytes were sent."""
    size: int = 0
    index: int = 0
    """What the match was at when the part was made."""

    @property
    def within(self) -> bool:
        """Whether the match itself is not finished."""
        return self.size > 0

    @classmethod
    def read(cls, text: str) -> Cursor:
        """What `str` wrote.

        Raises:
            ValueError: It did not.
        """
        match, *numbers = text.split(_SEPARATOR)
        return cls(match, *map(int, numbers))

    def __str__(self) -> str:
        if not self.within:
            return self.match
        numbers = (self.first, self.offset, self.size, self.index)
        return _SEPARATOR.join((self.match, *map(str, numbers)))


def pack_part(part: Part) -> bytes:
    """The bytes of a part."""
    return msgspec.msgpack.encode(part)


def manifest_line(part: Part) -> ManifestLine:
    """How far a match is that ends with this part.

    Its state may stand still before its last records: then those count.
    """
    line = part.line
    end = part.first + len(part.records) - 1
    if part.records and end > line.index:
        return ManifestLine(line.match, end, digest_of(part.records[-1]))
    return ManifestLine(line.match, line.index, line.digest)


def digest_of(packed: bytes) -> bytes:
    """What the packed record says that its match comes to; nothing, if it cannot be
    read here."""
    try:
        return unpack_record(packed).digest
    except CodecError:
        return b""


def cut(
    match: str, index: int, body: bytes, piece_bytes: int, offset: int = 0
) -> Iterator[Piece]:
    """The pieces of a part, from `offset` on."""
    for start in range(offset, len(body), piece_bytes):
        data = body[start : start + piece_bytes]
        yield Piece(match, index, start, len(body), data)


class Assembly:
    """Puts pieces together, one part at a time.

    Invariant: what is held is no longer than its part says, and `PART_BYTES_MAX`.
    """

    __slots__ = ("_begun", "_data")

    def __init__(self) -> None:
        self._begun: Piece | None = None
        self._data = bytearray()

    @property
    def empty(self) -> bool:
        """Whether nothing is half here."""
        return self._begun is None

    def add(self, piece: Piece) -> Part | None:
        """The part that is whole now, or None.

        Raises:
            ContentMalformed: The piece joins on to nothing, or the whole is no part.
        """
        if piece.offset == 0:
            self._begun, self._data = piece, bytearray()
        begun = self._begun
        if (
            begun is None
            or (piece.match, piece.index, piece.size)
            != (begun.match, begun.index, begun.size)
            or piece.offset != len(self._data)
            or len(self._data) + len(piece.data) > piece.size
            or piece.size > PART_BYTES_MAX
        ):
            self._begun, self._data = None, bytearray()
            raise ContentMalformed(
                f"a piece of match {piece.match[:40]!r} at {piece.offset} of "
                f"{piece.size} bytes joins on to nothing"
            )
        self._data += piece.data
        if len(self._data) < piece.size:
            return None
        data, self._begun, self._data = self._data, None, bytearray()
        return _read(data, piece.match)


_decode = msgspec.msgpack.Decoder(Part).decode


def _read(data: bytearray, match: str) -> Part:
    try:
        part = _decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ContentMalformed(
            f"this is no part of match {match[:40]!r}: {error}"
        ) from error
    if part.line.match != match or part.first < 0:
        raise ContentMalformed(f"a part of match {match[:40]!r} is of another")
    return part
