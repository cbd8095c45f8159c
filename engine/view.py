"""What one seat, or a spectator, may see of a snapshot.

Without `views.player` a seat sees what a spectator sees. Without any view G itself is
shown; a host refuses such a game unless it says `open_information=True`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .context import StateContext
from .definition import Game
from .errors import ViewError
from .frozen import freeze
from .interruption import Interruption
from .jsonvalue import Json
from .refusal import REFUSALS, fault_from
from .snapshot import Snapshot

__all__ = ["draw_player_view", "draw_public_view", "list_legal_actions"]

T = TypeVar("T")


def draw_public_view(game: Game, snapshot: Snapshot) -> Json:
    """What a spectator may see, frozen.

    Raises:
        ViewError: the view raised or is not JSON.
    """
    public = None if game.views is None else game.views.public
    if public is None:
        return snapshot.G
    return _drawn("public view", lambda: public(_context(snapshot)))


def draw_player_view(game: Game, snapshot: Snapshot, seat: str) -> Json:
    """What a seat may see, frozen. Any id may be asked for.

    Raises:
        ViewError: the view raised or is not JSON.
    """
    player = None if game.views is None else game.views.player
    if player is None:
        return draw_public_view(game, snapshot)
    return _drawn("player view", lambda: player(_context(snapshot), seat))


def list_legal_actions(
    game: Game, snapshot: Snapshot, seat: str
) -> list[tuple[str, Json]]:
    """What a seat may do now; empty when it may not act, or the game does not say.

    Raises:
        ViewError: the game's function raised or gave something else than pairs.
    """
    legal = game.legal_actions
    if legal is None or snapshot.meta.result is not None:
        return []
    if seat not in snapshot.derived.active_players:
        return []

    def pairs() -> list[tuple[str, Json]]:
        return [
            (event, freeze(payload, label=f"the payload of {event}"))
            for event, payload in legal(_context(snapshot), seat)
        ]

    return _guarded("legal actions", pairs)


def _context(snapshot: Snapshot) -> StateContext:
    meta = snapshot.meta
    return StateContext(
        snapshot.G, snapshot.position, snapshot.derived, meta.match, meta.now
    )


def _drawn(what: str, draw: Callable[[], Json]) -> Json:
    return _guarded(what, lambda: freeze(draw(), label=what))


def _guarded(what: str, draw: Callable[[], T]) -> T:
    try:
        return draw()
    except Exception as error:
        fault = fault_from(error, event=None, label=what)
        raise ViewError(REFUSALS["view_error"], fault) from error
    except Interruption as stop:
        stop.label = stop.label or what
        raise
