"""Whose turn a turn is: the policy of a game, which counts turns from 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..turn import Turn, turn_of

__all__ = ["TurnPolicy", "round_robin"]


@dataclass(frozen=True, slots=True)
class TurnPolicy:
    """How turns go around. Made by `round_robin`, which is the only one there is.

    A game with another order says in each phase who is active.
    """

    kind: Literal["round_robin"]

    def read(self, players: Sequence[str], turn: int) -> Turn:
        """Read a turn number; turn 1 is the first player's."""
        return turn_of(players, turn)

    def current_player(self, players: Sequence[str], turn: int) -> str:
        """The player whose turn it is."""
        return players[(turn - 1) % len(players)]


def round_robin() -> TurnPolicy:
    """The players in the order of the match, one after the other."""
    return TurnPolicy("round_robin")
