"""Which bots can play a game. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.game import Game
from .room_setup import BotOffer

__all__ = ["offered_bots"]

RANDOM = BotOffer("random", "Random", "Any legal move.", "easy")
MCTS = BotOffer("mcts", "Thinker", "Looks ahead by playing on in its head.", "medium")


def offered_bots(game: Game) -> Sequence[BotOffer]:
    """Those that can; none can where the game does not list its legal actions."""
    return () if game.legal_actions is None else (RANDOM, MCTS)
