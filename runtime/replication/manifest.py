"""What an install must have brought, to be compared before a learner joins.

Each page of an install says, of every match that it completes, how far the match is
(`ManifestLine`); the last one says what all of them come to. The learner compares that
with what it holds, page by page: so a match that did not arrive as it was is known by
its name, and is sent again, and nobody joins with less, or with more.

A sum of digests is the same in whatever order they come: a match that was sent again
is taken off and put on. It guards against mistakes, not against an owner that lies.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from .message import ManifestLine

__all__ = ["MANIFEST_BYTES", "Manifest"]

MANIFEST_BYTES = 16

_MODULUS = 1 << 8 * MANIFEST_BYTES

_pack = msgspec.msgpack.Encoder().encode


class Manifest:
    """A set of lines, each in it once; only what they come to is kept."""

    __slots__ = ("_sum",)

    def __init__(self) -> None:
        self._sum = 0

    def add(self, lines: Iterable[ManifestLine]) -> None:
        """These are in it."""
        self._sum = (self._sum + sum(map(_weigh, lines))) % _MODULUS

    def remove(self, lines: Iterable[ManifestLine]) -> None:
        """These are in it no longer."""
        self._sum = (self._sum - sum(map(_weigh, lines))) % _MODULUS

    def digest(self) -> bytes:
        """Equal for equal sets."""
        return self._sum.to_bytes(MANIFEST_BYTES, "big")


def _weigh(line: ManifestLine) -> int:
    digest = blake2b(_pack(line), digest_size=MANIFEST_BYTES).digest()
    return int.from_bytes(digest, "big")
