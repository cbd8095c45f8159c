"""Which matches leave the memory: those that nobody used for long, or that are over.

A match whose state is in memory is hot. Used long ago, it keeps its line alone
(passivated); ended, it goes altogether, and is found in the store. Only what the store
has can go. The order of use is kept, so that a sweep looks at no more than it moves.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from .hot_match import HotMatch
from .options import HostingOptions

__all__ = ["Tiers"]

# Matches that are not saved yet and that one sweep passes over.
_PASSED_OVER_MAX = 256


class Tiers:
    """The matches in memory that have a state there, or are over."""

    def __init__(self, options: HostingOptions) -> None:
        self._options = options
        self._used: OrderedDict[str, HotMatch] = OrderedDict()
        self._over: OrderedDict[str, HotMatch] = OrderedDict()

    @property
    def hot(self) -> int:
        """Matches whose state is in memory, those that are over among them."""
        return len(self._used) + len(self._over)

    def used(self, match: HotMatch, now_ms: int) -> None:
        """It has a state, and somebody wanted it."""
        match.used_ms = now_ms
        state = match.state
        if state is None or state.ended:
            self._used.pop(match.match, None)
            self._over[match.match] = match
            self._over.move_to_end(match.match)
        else:
            self._used[match.match] = match
            self._used.move_to_end(match.match)

    def begin(self, now_ms: int) -> None:
        """The time is known from now on: what was used before was used now."""
        for match in (*self._used.values(), *self._over.values()):
            match.used_ms = now_ms

    def forget(self, match: HotMatch) -> None:
        """It has no state in memory any more."""
        self._used.pop(match.match, None)
        self._over.pop(match.match, None)

    def idle(self, now_ms: int) -> Iterator[HotMatch]:
        """Matches whose state can go to disk now. The caller forgets them."""
        options = self._options
        too_many = self.hot - options.hot_max
        yield from self._ripe(
            self._used, options.passivate_idle_s * 1_000, now_ms, too_many
        )

    def over(self, now_ms: int) -> Iterator[HotMatch]:
        """Matches that are over, and can go altogether. The caller forgets them."""
        options = self._options
        too_many = self.hot - options.hot_max
        yield from self._ripe(
            self._over, options.ended_kept_s * 1_000, now_ms, too_many
        )

    def _ripe(
        self,
        matches: OrderedDict[str, HotMatch],
        kept_ms: int,
        now_ms: int,
        too_many: int,
    ) -> Iterator[HotMatch]:
        ripe: list[HotMatch] = []
        passed_over = 0
        for match in matches.values():
            if match.used_ms > now_ms:  # the clock was set back
                match.used_ms = now_ms
            if len(ripe) >= too_many and now_ms - match.used_ms < kept_ms:
                break
            if match.saved:
                ripe.append(match)
            elif passed_over < _PASSED_OVER_MAX:
                passed_over += 1
            else:
                break
        yield from ripe
