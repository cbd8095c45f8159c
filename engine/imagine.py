"""A match as one seat may suppose it: for bots that try out what would come of a move.

A seat's view hides a part of G. A game that declares `imagine(ctx)` says how to fill it
in: it returns a G that could stand behind the view, and draws at random, from
`ctx.rng`, what the seat cannot know. A game without views hides nothing, and need not
declare it.

What is imagined is a value, and never a match: it has a seed of its own, and nothing of
the real one but what the seat has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from .context import ImagineContext
from .errors import EngineError, ImagineError
from .frozen import freeze
from .game import Game
from .jsonvalue import Json
from .machine import Machine
from .match_input import normalize_match_input
from .profiles import hydrate_profiles
from .refusal import Refusal
from .rng import initial_rng, rng_from
from .snapshot import EMPTY_DERIVED, Meta, Position, Snapshot

__all__ = ["Imagined", "Seen", "can_imagine", "imagine"]

STEP_MS = 1
"""Between two events of what is imagined."""


class Seen(msgspec.Struct, frozen=True):
    """What a seat knows of a match that goes on."""

    match: Mapping[str, Json]
    """As it was created: at least its players."""
    seat: str
    view: Json
    state: str
    """The name of the leaf in which it stands."""
    turn: int
    revision: int = 0
    now: int | float = 0


class Imagined:
    """A match that could be the one that is seen. It never changes."""

    __slots__ = ("_machine", "_snapshot")

    def __init__(self, machine: Machine, snapshot: Snapshot) -> None:
        self._machine = machine
        self._snapshot = snapshot

    @property
    def players(self) -> Sequence[str]:
        """The seats that play, in the order of their turns."""
        players: Sequence[str] = self._snapshot.meta.match["players"]
        return players

    @property
    def active_players(self) -> Sequence[str]:
        """Who may act."""
        return self._snapshot.derived.active_players

    @property
    def G(self) -> Json:
        """The whole state, frozen."""
        return self._snapshot.G

    @property
    def position(self) -> Position:
        """Where it stands."""
        return self._snapshot.position

    @property
    def result(self) -> Json:
        """The result; None while it goes on."""
        return self._snapshot.meta.result

    def legal_actions(self, seat: str) -> list[tuple[str, Json]]:
        """What the game says a seat may do.

        Raises:
            ViewError: The game's `legal_actions` failed.
        """
        return self._machine.legal_actions(self._snapshot, seat)

    def view(self, seat: str) -> Json:
        """What a seat would see.

        Raises:
            ViewError: The game's view failed.
        """
        return self._machine.player_view(self._snapshot, seat)

    def simulate(
        self, seat: str, event: str, payload: object = None
    ) -> Imagined | Refusal:
        """What would come of an action."""
        before = self._snapshot
        answer = self._machine.apply(
            before, seat, event, payload, now=before.meta.now + STEP_MS, action_id="m_1"
        )
        if isinstance(answer, Refusal):
            return answer
        return Imagined(self._machine, answer.snapshot)

    def let_time_pass(self) -> Imagined | Refusal | None:
        """What would come if nobody acted until the deadline; None: nothing would."""
        before = self._snapshot
        deadline = before.derived.control_meta.deadline
        if deadline is None:
            return None
        now = max(deadline, before.meta.now + STEP_MS)
        answer = self._machine.fire_timeout(before, now=now, action_id="m_1")
        if answer is None or isinstance(answer, Refusal):
            return answer
        return Imagined(self._machine, answer.snapshot)


def can_imagine(game: Game) -> bool:
    """Whether a match of the game can be imagined from what a seat sees of it."""
    return game.imagine is not None or game.views is None


def imagine(machine: Machine, seen: Seen, seed: str) -> Imagined:
    """Draw a match that could stand behind what is seen; the same for the same seed.

    Raises:
        ImagineError: The game cannot be imagined, or its `imagine` failed.
    """
    game, node = machine.game, machine.nodes.get(seen.state)
    if node is None:
        raise ImagineError(f"{game!r} has no state {seen.state!r}")
    position = Position(node.name, node.path, seen.turn)
    try:
        match = hydrate_profiles(game, normalize_match_input(game, seen.match))
        G = _drawn(game, seen, position, match, seed)
        rng = initial_rng(f"{seed} onwards")
        meta = Meta(match, seen.now, None, rng, seed)
        snapshot = Snapshot(G, position, EMPTY_DERIVED, meta, seen.revision)
        return Imagined(machine, machine.restore(snapshot))
    except ImagineError:
        raise
    except EngineError as error:
        raise ImagineError(f"{game!r} cannot be imagined: {error}") from error


def _drawn(
    game: Game, seen: Seen, position: Position, match: Mapping[str, Json], seed: str
) -> Json:
    view = freeze(seen.view, label="the view")
    if game.imagine is None:
        if game.views is not None:
            raise ImagineError(f"{game!r} does not say how to imagine what it hides")
        return view
    ctx = ImagineContext(
        view, seen.seat, position, match, seen.now, rng_from(initial_rng(seed))
    )
    try:
        return freeze(game.imagine(ctx), label="what `imagine` returned")
    except Exception as error:
        raise ImagineError(
            f"`imagine` of {game!r} failed: {type(error).__name__}: {error}"
        ) from error
