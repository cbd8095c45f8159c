"""How a simulated player chooses. A policy sees what its seat may see, no more."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any, Protocol

from ..client.view import View

__all__ = ["Policy", "RandomLegal", "Scripted"]


class Policy(Protocol):
    """Chooses the next action of one seat of one match."""

    def choose(self, view: View) -> tuple[str, Any] | None:
        """The event and payload to dispatch at this view; None: nothing now."""


class RandomLegal:
    """Any of the legal actions, each as likely."""

    def __init__(self, choices: random.Random) -> None:
        self._choices = choices

    def choose(self, view: View) -> tuple[str, Any] | None:
        return self._choices.choice(view.legal) if view.legal else None


class Scripted:
    """The given actions, one after another, whenever it is this seat's turn."""

    def __init__(self, actions: Iterable[tuple[str, Any]]) -> None:
        self._actions = iter(actions)

    def choose(self, view: View) -> tuple[str, Any] | None:
        return next(self._actions, None) if view.my_turn else None
