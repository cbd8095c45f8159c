"""What becomes of matches that are over: kept for a while, then remembered.

Pure. An ended match stays in memory for its log and for late answers. When it is
dropped a tombstone stays, so that its creation key does not start it anew. Both are
bounded, and the oldest goes first.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ...runtime.match_state import MatchState

__all__ = ["EndedMatches", "Tombstone"]


class Tombstone(msgspec.Struct, frozen=True, gc=False):
    """A match that was here, ended, and was dropped."""

    epoch: int
    creation: str
    game: str
    version: str
    seats: tuple[str, ...]


class EndedMatches:
    """The ended matches that are kept, and the tombstones of those before them."""

    def __init__(self, kept_max: int, kept_ms: int, tombstones_max: int) -> None:
        self._kept_max = kept_max
        self._kept_ms = kept_ms
        self._tombstones_max = tombstones_max
        self._ended: dict[str, int] = {}
        self._tombstones: dict[str, Tombstone] = {}

    def __len__(self) -> int:
        return len(self._ended)

    @property
    def tombstones(self) -> int:
        """How many are remembered."""
        return len(self._tombstones)

    def add(self, match: str, now_ms: int) -> None:
        """A match has ended."""
        self._ended[match] = now_ms

    def forget(self, match: str) -> None:
        """A match has left this node: it is not ours to keep."""
        self._ended.pop(match, None)

    def expired(self, now_ms: int) -> Iterator[str]:
        """Matches to be dropped now: too many, or kept long enough. Oldest first."""
        while self._ended:
            match, ended_ms = next(iter(self._ended.items()))
            too_many = len(self._ended) > self._kept_max
            # The wall clock may have stepped back: then age is counted from now.
            if ended_ms > now_ms:
                self._ended[match] = ended_ms = now_ms
            if not too_many and now_ms - ended_ms < self._kept_ms:
                return
            del self._ended[match]
            yield match

    def oldest(self) -> str | None:
        """Take the match that would be dropped first, or None."""
        if not self._ended:
            return None
        match = next(iter(self._ended))
        del self._ended[match]
        return match

    def bury(self, state: MatchState) -> str | None:
        """Remember a match that is dropped; returns the one that is forgotten."""
        game = state.machine.game
        self._tombstones[state.match] = Tombstone(
            state.epoch, state.creation, game.name, game.version, tuple(state.seats)
        )
        if len(self._tombstones) <= self._tombstones_max:
            return None
        forgotten = next(iter(self._tombstones))
        del self._tombstones[forgotten]
        return forgotten

    def tombstone(self, match: str) -> Tombstone | None:
        """What is remembered of a match that was dropped."""
        return self._tombstones.get(match)
