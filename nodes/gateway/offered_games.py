"""The games that people may choose from. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET

from ...engine.config_schema import ConfigField, read_config_field
from ...engine.game import Game
from ...runtime.games import GameRegistry, UnknownGame
from ..lobby.bot_offers import offered_bots
from ..lobby.room_game import ROOM_GAME
from .lobby_bodies import Field, GameOffer

__all__ = ["config_of", "fields_of", "offered_game", "offered_games"]


def offered_games(games: GameRegistry, own_bots: Sequence[str] = ()) -> list[GameOffer]:
    """The newest version of each, by name."""
    names = sorted({name for name, _ in games.names()} - {ROOM_GAME})
    return [_offer(games.get(name).game, own_bots) for name in names]


def offered_game(games: GameRegistry, name: str, version: str) -> Game | None:
    """A game that people may choose; None: there is none of that name and version."""
    try:
        return None if name == ROOM_GAME else games.get(name, version).game
    except UnknownGame:
        return None


def config_of(
    games: GameRegistry, name: str, version: str
) -> Mapping[str, ConfigField] | None:
    """What a game may be configured with; None: we do not have it."""
    game = offered_game(games, name, version)
    if game is None:
        return None
    fields = game.config or {}
    return {key: read_config_field(field) for key, field in fields.items()}


def fields_of(config: Mapping[str, ConfigField]) -> dict[str, Field]:
    """The same, as pages are told."""
    return {
        key: Field(
            type=field.type,
            default=field.default,
            min=UNSET if field.min is None else field.min,
            max=UNSET if field.max is None else field.max,
            options=list(field.options) if field.options else UNSET,
            label=field.label or UNSET,
        )
        for key, field in config.items()
    }


def _offer(game: Game, own_bots: Sequence[str]) -> GameOffer:
    config = game.config
    fields = {key: read_config_field(field) for key, field in (config or {}).items()}
    return GameOffer(
        name=game.name,
        version=game.version,
        minPlayers=max(1, game.min_players),
        maxPlayers=len(game.player_ids),
        seats=list(game.player_ids),
        config=None if config is None else fields_of(fields),
        bots=list(offered_bots(game, own_bots)),
        openInformation=game.open_information,
    )
