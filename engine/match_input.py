"""What a match starts from: who sits where, which configuration, which profiles.

The mapping keeps the field names of the files that travel (`players`,
`hostPlayerID`, `config`, `data`, `profiles`), and whatever else it was given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .config_schema import complete_config
from .definition import Game
from .errors import InvalidJsonValueError, InvalidMatchError
from .frozen import FDict, freeze, freeze_parts
from .jsonvalue import Json

__all__ = ["freeze_match", "is_host", "normalize_match_input"]


def normalize_match_input(game: Game, raw: object) -> FDict:
    """The match as the engine keeps it: checked, completed, frozen.

    `hostPlayerID` is always there (null when nobody hosts), and `config` whenever the
    game declares a schema. Profiles are left for `hydrate_profiles`.

    Raises:
        InvalidMatchError: With the code of the first thing that is wrong.
        DefinitionError: The game's config schema is malformed.
    """
    if not isinstance(raw, Mapping):
        raise InvalidMatchError(
            'a match is an object such as {"players": ["0", "1"]}, '
            f"not {type(raw).__name__}"
        )
    match: FDict = raw if isinstance(raw, FDict) else freeze_match(raw)
    players = _players(game, match.get("players"))
    host = _host(match.get("hostPlayerID"), players)
    completed: dict[str, Json] = {**match, "hostPlayerID": host}
    config = complete_config(
        game.config, match.get("config"), present="config" in match
    )
    if config is not None:
        completed["config"] = freeze(config, label="match.config")
    return freeze_parts(completed)


def is_host(match: Mapping[str, Json], player_id: str) -> bool:
    """Whether a player is the one who hosts the match; often nobody does."""
    return player_id is not None and match.get("hostPlayerID") == player_id


def freeze_match(match: Mapping[str, Json]) -> FDict:
    """A match as it was given, frozen.

    Raises:
        InvalidMatchError: It is not JSON.
    """
    try:
        frozen: FDict = freeze(dict(match), label="match")
    except InvalidJsonValueError as error:
        raise InvalidMatchError(str(error), code="invalid_match") from error
    return frozen


def _players(game: Game, players: Json) -> Sequence[str]:
    if not isinstance(players, (list, tuple)):
        raise InvalidMatchError("match.players must be a list of seats")
    seats: list[str] = []
    for seat in players:
        if not isinstance(seat, str) or seat not in game.player_ids:
            raise InvalidMatchError(
                f"match.players names {seat!r}; the game has the seats "
                f"{', '.join(game.player_ids)}",
                code="unknown_player",
            )
        if seat in seats:
            raise InvalidMatchError(
                f"match.players names {seat!r} twice", code="duplicate_player"
            )
        seats.append(seat)
    # At least one seat, whatever a game says: nobody could ever act.
    if len(seats) < max(1, game.min_players):
        raise InvalidMatchError(
            f"match.players has {len(seats)} of at least {game.min_players} players",
            code="too_few_players",
        )
    return seats


def _host(host: Json, players: Sequence[str]) -> str | None:
    if host is None:
        return None
    if not isinstance(host, str) or host not in players:
        raise InvalidMatchError(
            f"match.hostPlayerID {host!r} is not in match.players",
            code="invalid_host_player",
        )
    if len(players) == 1:
        raise InvalidMatchError(
            "match.hostPlayerID must be null in a match of one player",
            code="single_player_host_set",
        )
    return host
