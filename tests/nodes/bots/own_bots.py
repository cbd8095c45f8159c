"""Bots of an author who makes mistakes."""

from __future__ import annotations

import os
import sys
from typing import Any

from hotseat.nodes.bots import BotView, LegalActions


class Last:
    """Does the last thing that is legal, and says much about it."""

    def decide(self, view: BotView, legal_actions: LegalActions, rng: Any) -> Any:
        print("I", view.seat, "think of", legal_actions, flush=True)  # noqa: T201  # as authors do
        return legal_actions[-1]


class Endless:
    """Never comes to an end."""

    def decide(self, view: BotView, legal_actions: LegalActions, rng: Any) -> Any:
        while True:
            try:
                sum(range(10_000))
            except BaseException:
                continue


class Faulty:
    """Raises, dies, wants too much, or answers nonsense: as the seat's name says."""

    def decide(self, view: BotView, legal_actions: LegalActions, rng: Any) -> Any:
        if view.seat == "raise":
            raise LookupError("no idea")
        if view.seat == "exit":
            sys.exit(3)
        if view.seat == "die":
            os._exit(4)
        if view.seat == "memory":
            return "x", bytearray(2**31)
        if view.seat == "nonsense":
            return 7
        if view.seat == "set":
            return "go", {1, 2}
        return "go", rng.random()


def process(view: BotView, legal_actions: LegalActions, rng: Any) -> Any:
    """Not a bot: it has no `decide`."""


class Where:
    """Answers with the process that it runs in."""

    def decide(self, view: BotView, legal_actions: LegalActions, rng: Any) -> Any:
        sum(range(2_000_000))  # a while
        return "here", [os.getpid(), view.think_s]


where = Where()
