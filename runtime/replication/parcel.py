"""Entries of a shard's log that carry a match home, and that say that it did not come.

A pinned match that goes home is logged there in pieces, all of it, as entries with its
id and the number of its last record. They change nothing by themselves: the match is
at home only when its pin is gone. Unlike packed records, which are of msgpack's type
bin, they are arrays: the core tells the two apart, and looks into neither.
"""

from __future__ import annotations

import msgspec

from .message import Raw

__all__ = ["Kept", "Parcel", "is_parcel", "pack_parcel", "read_parcel"]

_BIN_32 = 0xC6
"""What each packed record begins with: see `record_codec.py`."""


class Parcel(
    msgspec.Struct, frozen=True, array_like=True, tag="parcel", tag_field="t", gc=False
):
    """A piece of the match: `data` at `offset` of a part that has `size` bytes."""

    pin: int
    """The pinned shard that it comes from."""
    revision: int
    """A revision of the coordinator at which it was there."""
    first: bool
    """The first piece: what came before is worth nothing."""
    offset: int
    size: int
    data: bytes


class Kept(
    msgspec.Struct, frozen=True, array_like=True, tag="kept", tag_field="t", gc=False
):
    """It did not come home from that pinned shard, and never will as it was then."""

    pin: int


def is_parcel(record: Raw) -> bool:
    """Whether an entry's record is one of these."""
    return bytes(memoryview(record)[:1]) != bytes((_BIN_32,))


def pack_parcel(parcel: Parcel | Kept) -> Raw:
    """The record of such an entry."""
    return Raw(msgspec.msgpack.encode(parcel))


_decode = msgspec.msgpack.Decoder(Parcel | Kept).decode


def read_parcel(record: Raw) -> Parcel | Kept | None:
    """What `pack_parcel` made; None: this version does not know it."""
    try:
        return _decode(record)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
