"""The profiles of a match: read when it starts, changed by what resolvers answer.

A profile is what a player keeps between matches. A match starts with those of its
players (`hydrate_profiles`); a resolver may answer with deltas for them
(`apply_profile_deltas`), which hold for the rest of the match. What is kept after the
match is `profile_commit.py`'s matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .definition import Game
from .errors import InvalidJsonValueError, InvalidMatchError, ProfileDeltaError
from .frozen import FDict, freeze
from .jsonvalue import Json
from .profile_delta import apply_profile_delta, validate_profile_delta

__all__ = ["apply_profile_deltas", "hydrate_profiles"]

_MISSING: Final = object()


def hydrate_profiles(game: Game, match: FDict) -> FDict:
    """The match with one profile for each player, read by the game's `parse`.

    A game without `profile` passes on what the match holds, untouched.

    Raises:
        InvalidMatchError: invalid_profile: `parse` raised, or a profile is not JSON.
    """
    if game.profile is None:
        return match
    stored = match.get("profiles")
    if stored is not None and not isinstance(stored, Mapping):
        raise InvalidMatchError("match.profiles must be an object")
    given: Mapping[str, Json] = stored if isinstance(stored, Mapping) else {}
    profiles: dict[str, Json] = {}
    for player in match["players"]:
        data = given.get(player, _MISSING)
        data = game.profile.default if data is _MISSING else data
        profiles[player] = _parsed(game, player, data)
    return _frozen_match({**match, "profiles": profiles})


def apply_profile_deltas(match: FDict, deltas: object) -> tuple[FDict, FDict | None]:
    """The match after a resolver's deltas, and the deltas of seated players.

    The shape of every delta is checked, those of players who do not sit here too;
    these are then dropped. The second value is None when nothing is left of them.

    Raises:
        ProfileDeltaError: A delta is malformed or does not apply.
        InvalidJsonValueError: They are not JSON.
    """
    if not isinstance(deltas, Mapping):
        raise ProfileDeltaError(
            f"profile must map players to deltas, not be {type(deltas).__name__}",
            reason="invalid_delta",
        )
    for player, delta in deltas.items():
        try:
            validate_profile_delta(delta)
        except ProfileDeltaError as error:
            raise _of_player(player, error) from None
    seated = {p: delta for p, delta in deltas.items() if p in match["players"]}
    if not seated:
        return match, None
    frozen: FDict = freeze(seated, label="profile")
    profiles = dict(match.get("profiles") or {})
    for player, delta in frozen.items():
        try:
            profiles[player] = apply_profile_delta(profiles.get(player), delta)
        except ProfileDeltaError as error:
            raise _of_player(player, error) from None
    changed: FDict = freeze({**match, "profiles": profiles}, label="match")
    return changed, frozen


def _of_player(player: object, error: ProfileDeltaError) -> ProfileDeltaError:
    return ProfileDeltaError(
        f"the profile delta of player {player!r}: {error}",
        reason=error.reason,
        at=error.at,
    )


def _parsed(game: Game, player: str, data: Json) -> Json:
    assert game.profile is not None
    if game.profile.parse is None:
        return data
    try:
        return game.profile.parse(data)
    except Exception as error:
        raise InvalidMatchError(
            f"the profile of player {player!r} cannot be read: {error}",
            code="invalid_profile",
        ) from error


def _frozen_match(match: Mapping[str, Json]) -> FDict:
    try:
        frozen: FDict = freeze(dict(match), label="match")
    except InvalidJsonValueError as error:
        raise InvalidMatchError(str(error), code="invalid_profile") from error
    return frozen
