"""Outages that are still to be credited to running clocks.

Pure. Only to matches whose game says `credit_outages`; how much of it counts is the
match's own decision. A shard may have very many: they are taken some at a time, and
first of all by whoever asks for the match.
"""

from __future__ import annotations

from itertools import islice

from ...runtime.games import GameRegistry, UnknownGame
from ...runtime.journal import MatchLine

__all__ = ["OUTAGE_MS_MIN", "Outages"]

OUTAGE_MS_MIN = 1_000
"""A shorter one is a failover as it should be, and nothing is credited."""

_SOME = 256
"""Matches that are credited at once: some ten milliseconds of work."""


class Outages:
    """By match: for how long nobody could act in it."""

    def __init__(self, games: GameRegistry) -> None:
        self._games = games
        self._owed: dict[str, int] = {}
        self._credits: dict[tuple[str, str], bool] = {}

    def __len__(self) -> int:
        return len(self._owed)

    def owe(self, line: MatchLine, outage_ms: int) -> None:
        """An outage of that length ends now for the match, whose clock runs."""
        if outage_ms >= OUTAGE_MS_MIN and self._game_credits(line):
            self._owed[line.match] = outage_ms

    def take(self, match: str) -> int:
        """What is owed to the match, in milliseconds; nothing is any more."""
        return self._owed.pop(match, 0)

    def forget(self, match: str) -> None:
        """The match has left, or cannot be credited."""
        self._owed.pop(match, None)

    def some(self) -> list[str]:
        """Matches that something is owed to."""
        return list(islice(self._owed, _SOME))

    def _game_credits(self, line: MatchLine) -> bool:
        name = (line.game, line.version)
        credits = self._credits.get(name)
        if credits is None:
            try:
                credits = self._games.get(*name).game.credit_outages
            except UnknownGame:
                return False
            self._credits[name] = credits
        return credits
