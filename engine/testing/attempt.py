"""What a player may try: actions that were legal somewhere, bent ones, and junk.

A refusal is an answer too, so that what is refused must be tried as well as what is
legal. Payloads of the right shape come farthest into a game's code: most attempts are
legal payloads with one value changed, or sent with another event.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from ..jsonvalue import Json
from ..rng import Rng
from ..session import Session
from .states import match_states
from .transcript import action_text

__all__ = ["Attempt", "Attempts"]

Attempt: TypeAlias = "tuple[str, Json]"

POOL_MAX = 400  # legal actions that are kept
JUNK: tuple[Json, ...] = (None, -1, "junk", [[]], {"junk": None})
STEPS = (-100, -10, -1, 1, 10, 100)  # from a number to another


class Attempts:
    """Draws attempts at random, from what one match has shown to be of use."""

    def __init__(self, played: Session, extra: Iterable[Attempt], rng: Rng) -> None:
        self._rng = rng
        self._events: Sequence[str] = list(played.game.events)
        self._extra = list(extra)
        known: dict[str, Attempt] = {}
        for _, session in match_states(played):
            for seat in session.snapshot.derived.active_players:
                for event, payload in session.legal_actions(seat):
                    known.setdefault(action_text("", event, payload), (event, payload))
        self._legal = list(known.values())
        while len(self._legal) > POOL_MAX:
            self._legal.pop(rng.int_(len(self._legal)))

    def draw(self, count: int) -> list[Attempt]:
        """The extra ones, and as many others."""
        return [*self._extra, *(self._one() for _ in range(count))]

    def _one(self) -> Attempt:
        rng = self._rng
        kind = rng.int_(8) if self._legal else 7
        if kind == 7:
            return rng.pick(self._events), rng.pick(JUNK)
        event, payload = rng.pick(self._legal)
        if kind < 3:
            return event, payload
        if kind == 3:
            return rng.pick(self._events), payload
        return event, self._bent(payload)

    def _bent(self, value: Json) -> Json:
        """The value with one scalar changed."""
        rng = self._rng
        if isinstance(value, dict) and value:
            key = rng.pick(list(value))
            return {**value, key: self._bent(value[key])}
        if isinstance(value, (list, tuple)) and value:
            place = rng.int_(len(value))
            return [*value[:place], self._bent(value[place]), *value[place + 1 :]]
        if isinstance(value, bool):
            return not value
        if isinstance(value, (int, float)):
            return value + rng.pick(STEPS)
        if isinstance(value, str) and len(value) > 1:
            place = rng.int_(len(value))  # another order of the same letters
            return value[place:] + value[:place]
        return rng.pick(JUNK)
