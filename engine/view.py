"""What one seat, or a spectator, may see of a snapshot.

Without `views.player` a seat sees what a spectator sees. Without any view G itself is
shown; a host refuses such a game unless it says `open_information=True`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TypeVar

from .context import StateContext
from .definition import Game
from .errors import ViewError
from .frozen import freeze
from .interruption import Interruption
from .jsonvalue import Json
from .limits import LEGAL_ACTIONS_MAX
from .refusal import REFUSALS, fault_from
from .snapshot import Snapshot
from .suggestion import did_you_mean

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
        ViewError: the game's function raised, gave something else than pairs of a
            declared event and a payload, or more than `LEGAL_ACTIONS_MAX` of them.
    """
    legal = game.legal_actions
    if legal is None or snapshot.meta.result is not None:
        return []
    if seat not in snapshot.derived.active_players:
        return []

    def pairs() -> list[tuple[str, Json]]:
        listed = legal(_context(snapshot), seat)
        if isinstance(listed, (str, Mapping)) or not isinstance(listed, Iterable):
            raise TypeError(
                'legal_actions gives a list of pairs, [("take", 3), ("pass", None)], '
                f"not {type(listed).__name__}"
            )
        found = [_pair(entry, game) for entry in islice(listed, LEGAL_ACTIONS_MAX + 1)]
        if len(found) > LEGAL_ACTIONS_MAX:
            raise ValueError(f"more than {LEGAL_ACTIONS_MAX:,} legal actions")
        return found

    return _guarded("legal actions", pairs)


def _pair(entry: object, game: Game) -> tuple[str, Json]:
    """Raises TypeError or ValueError: it is no event of the game with a payload."""
    if not isinstance(entry, (tuple, list)) or len(entry) != 2:
        raise TypeError(
            'a legal action is an event and its payload, ("take", 3) or ("pass", '
            f"None), not {entry!r}"
        )
    event, payload = entry
    if not isinstance(event, str) or event not in game.events:
        hint = did_you_mean(event, game.events) or ""
        raise ValueError(f"{event!r} is no event of the game. {hint}".rstrip())
    return str.__str__(event), freeze(payload, label=f"the payload of {event}")


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
