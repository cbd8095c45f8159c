"""Canonical bytes, and the digests over them.

Canonical bytes are MessagePack with the keys of every map sorted by their UTF-8 bytes,
integers in their shortest form, and floats as float64: what `msgpack.packb` writes for
a value with sorted keys. They are written by msgspec's encoder, which sorts in C; a
test holds the two equal.

A digest of changes is by value: identity of two parts only spares looking at them, so a
replay, a reloaded snapshot and a twin that shares nothing agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from itertools import compress, repeat
from operator import is_not
from typing import Final

import msgspec

from .frozen import LISTS, FDict, FList
from .jsonvalue import Json
from .snapshot import Snapshot

__all__ = [
    "DIGEST_BYTES",
    "NO_DIGEST",
    "canonical_bytes",
    "changes",
    "digest_of",
    "state_digest",
    "whole_state",
]

# BLAKE2b-128: collisions are out of reach, and records stay small.
DIGEST_BYTES: Final = 16

NO_DIGEST: Final = bytes(DIGEST_BYTES)
"""What stands before the first record."""

_encode = msgspec.msgpack.Encoder(order="sorted").encode

# Tags of a change, inside the digest only.
_SET, _IN_DICT, _IN_LIST = 0, 1, 2

_ABSENT: Final = object()

# The class of lists of scalars.
_FLAT_LIST: Final = LISTS[1]

# Items up to which encoding a flat list costs less than finding what is new in it.
_ONE_PART_MAX: Final = 64

# Names from which on passes of C find what is new faster than a loop.
_WIDE: Final = 16


def canonical_bytes(value: object) -> bytes:
    """The bytes of a frozen JSON value. Equal values give equal bytes.

    Raises:
        TypeError: it holds something that is not JSON.
    """
    return _encode(value)


def digest_of(value: object) -> bytes:
    """The digest of a value's canonical bytes."""
    return blake2b(_encode(value), digest_size=DIGEST_BYTES).digest()


def state_digest(snapshot: Snapshot) -> bytes:
    """The digest of a whole state: G, position, result, rng and match.

    The time and the way the state was reached are not part of it.
    """
    return digest_of(whole_state(snapshot))


def whole_state(snapshot: Snapshot) -> tuple[Json, ...]:
    """All of a state that a digest covers."""
    meta, position = snapshot.meta, snapshot.position
    return (
        snapshot.G,
        position.name,
        position.turn,
        meta.result,
        meta.rng.draws,
        meta.rng.state,
        meta.seed,
        meta.match,
    )


def changes(before: Json, after: Json) -> Json:
    """What is different, as a value that canonical bytes can hold; None for nothing.

    Costs the width of the containers that changed; shared parts are not entered. A
    short list of scalars is one part: it changed or it did not.
    """
    if before is after:
        return None
    kind = type(after)
    if kind is _FLAT_LIST and len(after) <= _ONE_PART_MAX:
        if before == after and _encode(before) == _encode(after):
            return None
        return (_SET, after)
    if isinstance(after, FDict) and isinstance(before, FDict):
        return _dict_changes(before, after)
    if isinstance(after, FList) and isinstance(before, FList):
        return _list_changes(before, after)
    if type(before) is kind and before == after:
        return None
    return (_SET, after)


def _dict_changes(before: FDict, after: FDict) -> Json:
    parts: dict[str, Json] = {}
    added = 0
    names: Iterable[str] = after
    if len(after) >= _WIDE:
        olds = map(before.get, after, repeat(_ABSENT))
        names = compress(after, map(is_not, olds, after.values()))
    for name in names:
        old, new = before.get(name, _ABSENT), after[name]
        if old is new:
            continue
        if old is _ABSENT:
            added += 1
            parts[name] = (_SET, new)
            continue
        part = changes(old, new)
        if part is not None:
            parts[name] = part
    removed: list[str] = []
    if len(after) - added != len(before):
        removed = sorted(name for name in before if name not in after)
    return (_IN_DICT, parts, removed) if parts or removed else None


def _list_changes(before: FList, after: FList) -> Json:
    length = len(after)
    shared = min(len(before), length)
    parts: list[tuple[int, Json]] = []
    for index in compress(range(shared), map(is_not, before, after)):
        part = changes(before[index], after[index])
        if part is not None:
            parts.append((index, part))
    if not parts and len(before) == length:
        return None
    return (_IN_LIST, length, parts, after[shared:] if length > shared else ())
