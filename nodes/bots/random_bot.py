"""The bot that plays at random."""

from __future__ import annotations

import random

from .bot import BotView, CannotDecide, Choice, LegalActions

__all__ = ["RandomBot"]


class RandomBot:
    """Any of the legal actions, each as likely."""

    def decide(
        self, view: BotView, legal_actions: LegalActions, rng: random.Random
    ) -> Choice:
        """
        Raises:
            CannotDecide: The game lists no legal action.
        """
        if not legal_actions:
            raise CannotDecide(f"{view.game!r} lists no legal action for {view.seat!r}")
        return rng.choice(legal_actions)
