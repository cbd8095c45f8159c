"""Bots: players that are programs, in seats that were given to them.

    class Greedy:
        def decide(self, view, legal_actions, rng):
            return max(legal_actions, key=lambda action: worth(view, *action))

`hotseat bots --bot greedy=my_module:Greedy` lets it play; docs/bots.md tells more.
"""

from __future__ import annotations

from .bot import Bot as Bot
from .bot import BotView as BotView
from .bot import CannotDecide as CannotDecide
from .bot import Choice as Choice
from .bot import LegalActions as LegalActions
from .catalog import bots_of as bots_of
from .mcts import Mcts as Mcts
from .random_bot import RandomBot as RandomBot
from .rewards import rewards as rewards
