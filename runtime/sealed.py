"""Bytes that last: a format version and a checksum in front of a body.

    version  1 byte    of the body's format; each kind of content counts its own
    crc32    4 bytes   big endian, over the version and the body
    body

CRC-32 finds what a disk or a torn write does to a few kilobytes; it is no protection
from somebody who writes on purpose, and a body is validated all the same.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from .errors import ChecksumWrong, FormatTooNew

__all__ = ["SEAL_BYTES", "seal", "unseal"]

SEAL_BYTES: Final = 5


def seal(version: int, body: bytes) -> bytes:
    """Put the version and the checksum in front of `body`."""
    mark = bytes((version,))
    return b"".join((mark, crc32(body, crc32(mark)).to_bytes(4, "big"), body))


def unseal(data: bytes | memoryview, newest: int, what: str) -> tuple[int, memoryview]:
    """The version and the body. `newest` is the newest version that is known.

    Raises:
        ChecksumWrong: It is cut off, or has changed.
        FormatTooNew: The version is beyond `newest`.
    """
    view = memoryview(data)
    if len(view) < SEAL_BYTES:
        raise ChecksumWrong(f"{what} is cut off: {len(view)} bytes")
    body = view[SEAL_BYTES:]
    if crc32(body, crc32(view[:1])) != int.from_bytes(view[1:SEAL_BYTES], "big"):
        raise ChecksumWrong(f"{what} has changed since it was written: wrong checksum")
    version = view[0]
    if version > newest:
        raise FormatTooNew(
            f"{what} has format {version}, known up to {newest}: a newer version of"
            " hotseat wrote it; upgrade this node"
        )
    return version, body
