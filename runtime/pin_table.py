"""Which matches are pinned, and to which shards: where a match is looked for first.

The pin keys of the coordinator are the truth; this is what a process knows of them.
`shard_of` is the one way from a match to its shard, for whoever routes, hosts or
commits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from .match_id import shard_of as hashed_shard_of

__all__ = ["PinTable"]

HASHES_KEPT = 65_536
"""Matches of a process whose home is remembered, so that it is hashed once."""


class PinTable:
    """Pins by match; each at the revision of its key, which never goes back."""

    def __init__(self, shards: int) -> None:
        self._count = shards
        self._shards: dict[str, int] = {}
        self._matches: dict[int, str] = {}
        self.histories: dict[int, int] = {}
        """By shard, where it is not 0: the `history` of its record."""

    def __len__(self) -> int:
        return len(self._shards)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """(match, shard) of each pin."""
        return iter(tuple(self._shards.items()))

    def home(self, match: str) -> int:
        """The shard that the match's name falls into."""
        return _home(match, self._count)

    def shard_of(self, match: str) -> int:
        """The shard that the match is in, as far as is known."""
        return self._shards.get(match) or _home(match, self._count)

    def pin_of(self, match: str) -> int:
        """The shard that it is pinned to; 0 if it is not."""
        return self._shards.get(match, 0)

    def match_of(self, shard: int) -> str | None:
        """The match that is pinned to that shard."""
        return self._matches.get(shard)

    def pin(self, match: str, shard: int) -> None:
        """It is pinned to that shard."""
        self.unpin(match)
        self._shards[match] = shard
        self._matches[shard] = match

    def unpin(self, match: str) -> None:
        """It is in its home shard again."""
        shard = self._shards.pop(match, None)
        if shard is not None:
            self._matches.pop(shard, None)
            self.histories.pop(shard, None)


_home = lru_cache(HASHES_KEPT)(hashed_shard_of)
