"""Names of matches, and the shard that a name falls into. Pure arithmetic.

A match is named after who creates it and the key they chose, so that any process
routes without asking, and creating twice with one key names one match.
"""

from __future__ import annotations

import base64
import hashlib

__all__ = ["MATCH_ID_LENGTH", "is_match_id", "match_id", "pinned_shard", "shard_of"]

# Characters: 128 bits in base32 without padding.
MATCH_ID_LENGTH = 26
_ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyz234567")


def match_id(principal: str, key: str) -> str:
    """Name the match that `principal` creates with `key`.

    base32(BLAKE2b-128(principal, 0x00, key)), lower case, without padding.

    Raises:
        ValueError: `principal` contains a NUL, which would make names ambiguous,
            or either is not valid Unicode.
    """
    if "\0" in principal:
        raise ValueError("a principal must not contain a NUL character")
    name = principal.encode() + b"\0" + key.encode()
    digest = hashlib.blake2b(name, digest_size=16).digest()
    return base64.b32encode(digest).decode().rstrip("=").lower()


def shard_of(match: str, shards: int) -> int:
    """Return the shard of a match, in [0, shards).

    int(BLAKE2b-64(id)) mod shards, the digest read as big-endian.

    Raises:
        ValueError: `shards` is not positive.
    """
    if shards < 1:
        raise ValueError(f"a cluster has at least one shard, not {shards}")
    digest = hashlib.blake2b(match.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % shards


def pinned_shard(match: str, n: int, first: int) -> int:
    """Return the number of the shard that the `n`th pin of a match makes: >= `first`.

    first + the upper 52 bits of BLAKE2b-64(id, 0x00, n): a safe integer anywhere. Two
    matches with one number are as likely as any other hash that collides, and then the
    second pin is refused, since its record exists.
    """
    digest = hashlib.blake2b(f"{match}\0{n}".encode(), digest_size=8).digest()
    return first + (int.from_bytes(digest, "big") >> 12)


def is_match_id(text: str) -> bool:
    """Whether `text` has the form of a match id; says nothing of its existence."""
    return len(text) == MATCH_ID_LENGTH and _ALPHABET.issuperset(text)
