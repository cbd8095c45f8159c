"""What a bot is: it is shown what its seat sees, and answers with an action.

Rules:
- It sees what a player at its seat sees, no more.
- It keeps nothing: each decision may be made in another process, and the same one may
  be asked for again.
- Chance comes from the generator that it is given: then a seed repeats its play.

It must not know of the cluster.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from ...engine.imagine import Imagined, Seen, imagine
from ...engine.machine import Machine
from ...runtime.errors import RuntimeFault

__all__ = ["Bot", "BotView", "CannotDecide", "Choice", "LegalActions"]

Choice: TypeAlias = tuple[str, Any]
"""An event and its payload."""

LegalActions: TypeAlias = Sequence[Choice]
"""What the game says the seat may do; empty where the game does not say."""


class Bot(Protocol):
    """Chooses actions. The same object is asked for many seats of many matches."""

    def decide(
        self, view: BotView, legal_actions: LegalActions, rng: random.Random
    ) -> Choice:
        """The event and payload to dispatch.

        Whatever it raises, the seat is played at random this once.
        """
        ...


class CannotDecide(RuntimeFault):
    """A bot has no answer; the message says why."""

    code = "cannot_decide"


@dataclass(frozen=True, slots=True)
class BotView:
    """What the bot's seat sees of its match, now. Times in milliseconds since 1970."""

    game: str
    version: str
    match: str
    """The match's id."""
    seat: str
    players: tuple[str, ...]
    """All seats that play, in the order of their turns."""
    config: Any
    """The match's settings; None where the game has none."""
    view: Any
    """The game's view for this seat, as a player's page gets it."""
    state: str
    """The name of the state in which the match stands."""
    turn: int
    revision: int
    active_players: tuple[str, ...]
    """Who may act now; this seat is among them."""
    deadline_ms: int | None
    now_ms: int
    think_s: float
    """How long it should think. It is stopped somewhat later."""
    machine: Machine | None = field(default=None, repr=False, compare=False)
    """The game's rules, where they are installed beside the bot."""

    def imagine(self, rng: random.Random) -> Imagined:
        """A match that could stand behind this view, to try out moves in.

        What is hidden is drawn anew at each call. See `define_game(imagine=...)`.

        Raises:
            CannotDecide: The game's rules are not here.
            ImagineError: The game does not say how, or failed.
        """
        if self.machine is None:
            raise CannotDecide(
                f"{self.game!r} version {self.version!r} is not installed here; name "
                "it with --game"
            )
        match: dict[str, Any] = {"players": self.players}
        match |= {} if self.config is None else {"config": self.config}
        seen = Seen(
            match,
            self.seat,
            self.view,
            self.state,
            self.turn,
            self.revision,
            self.now_ms,
        )
        return imagine(self.machine, seen, f"{rng.getrandbits(64):x}")
