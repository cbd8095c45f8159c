"""Which bots can play a game. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.game import Game
from ..bots.catalog import bots_of
from .room_setup import BotOffer

__all__ = ["offered_bots"]

OURS = {
    "random": BotOffer("random", "Random", "Any legal move.", "easy"),
    "mcts": BotOffer(
        "mcts", "Thinker", "Looks ahead by playing on in its head.", "medium"
    ),
}


def offered_bots(game: Game, own: Sequence[str] = ()) -> Sequence[BotOffer]:
    """Those of ours that can, and those that somebody has added, by id."""
    added = [BotOffer(name, name) for name in own]
    return [*added, *(OURS[name] for name in bots_of(game) if name not in own)]
