"""Which matches are idle, and how long: running ones rest, resting ones are put away.

Pure: the time is an argument. Both tiers are kept in the order in which their matches
were last used, so that a sweep looks only at those it moves.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["Tiers"]


class Tiers:
    """The tier of each match that has an actor.

    Invariant: a match is in one tier at most.
    """

    def __init__(self, rest_after_ms: int, put_away_after_ms: int) -> None:
        self._rest_after_ms = rest_after_ms
        self._put_away_after_ms = put_away_after_ms
        self._running: dict[str, int] = {}
        self._resting: dict[str, int] = {}

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def resting(self) -> int:
        return len(self._resting)

    def runs(self, match: str, now_ms: int) -> None:
        """The match was used, and runs."""
        self._resting.pop(match, None)
        self._running.pop(match, None)
        self._running[match] = now_ms

    def rests(self, match: str, now_ms: int) -> bool:
        """The match rests, or is used while it does. True: it ran before."""
        ran = self._running.pop(match, None) is not None
        self._resting.pop(match, None)
        self._resting[match] = now_ms
        return ran

    def forget(self, match: str) -> None:
        """The match has no actor any more."""
        self._running.pop(match, None)
        self._resting.pop(match, None)

    def idle(self, now_ms: int) -> Iterator[str]:
        """Running matches that may rest; the caller says `rests`, or `runs` again."""
        return _older(self._running, now_ms, self._rest_after_ms)

    def stale(self, now_ms: int) -> Iterator[str]:
        """Resting matches that may be put away; the caller says `forget` or `rests`."""
        return _older(self._resting, now_ms, self._put_away_after_ms)

    def oldest(self, count: int) -> Iterator[str]:
        """The matches used longest ago, resting ones first; at most `count` of each."""
        for tier in (self._resting, self._running):
            yield from [match for match, _ in zip(tier, range(count), strict=False)]


def _older(tier: dict[str, int], now_ms: int, age_ms: int) -> Iterator[str]:
    for match, used_ms in list(_expired(tier, now_ms, age_ms)):
        if tier.get(match) == used_ms:
            yield match


def _expired(
    tier: dict[str, int], now_ms: int, age_ms: int
) -> Iterator[tuple[str, int]]:
    for match, used_ms in tier.items():
        # A wall clock that stepped back only makes a match look younger.
        if now_ms - used_ms < age_ms:
            return
        yield match, used_ms
