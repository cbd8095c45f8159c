"""Deltas for the players of a match, made by saying what changes.

`ProfileChanges` is bound to the profiles of a match. Each of its methods returns the
deltas for one player, ready to be a result's `profile` or the answer of a profile's
`commit`::

    return {"profile": ctx.profile.inc(ctx.player_id, "wins", 1)}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from .errors import ProfileDraftError
from .frozen import freeze
from .jsonvalue import Json
from .profile_draft import Operation, draft_profile

__all__ = [
    "Deltas",
    "ProfileChanges",
    "bind_profiles",
    "join_profile_deltas",
    "update_profile",
]

Deltas: TypeAlias = dict[str, list[Operation]]
Place: TypeAlias = "str | int | Sequence[str | int]"


class ProfileChanges:
    """Makes deltas for players who have a profile. Changes nothing itself.

    A place is a key of the profile, or the path to one deeper in it.
    Every method raises ProfileDraftError for a player without a profile, and
    InvalidJsonValueError for a value that is not JSON.
    """

    __slots__ = ("_profiles",)

    def __init__(self, profiles: Mapping[str, Json]) -> None:
        self._profiles = profiles

    def set(self, player: str, place: Place, value: Json) -> Deltas:
        """Put a value at a place; the path `[]` is the whole profile."""
        return self._delta(player, "set", place, freeze(value, label="the new value"))

    def inc(self, player: str, place: Place, amount: float) -> Deltas:
        """Add to a number; a missing one counts as 0."""
        return self._delta(player, "inc", place, freeze(amount, label="the amount"))

    def push(self, player: str, place: Place, value: Json) -> Deltas:
        """Add a value at the end of a list."""
        return self._delta(player, "push", place, freeze(value, label="the new value"))

    def remove(self, player: str, place: Place) -> Deltas:
        """Take a key, or an index of a list, away."""
        return self._delta(player, "remove", place)

    def update(self, player: str, recipe: Callable[[Any], object]) -> Deltas:
        """Let a recipe change a draft of the profile; nothing changed, no deltas.

        Raises:
            ProfileDraftError: The recipe asks for what no delta can say.
        """
        return update_profile(self._profiles, player, recipe)

    def _delta(self, player: str, op: str, place: Place, *value: Json) -> Deltas:
        _profile_of(self._profiles, player)
        path = [place] if isinstance(place, (str, int)) else list(place)
        operation: Operation = {"op": op, "path": path}
        if value:
            operation["value"] = value[0]
        return {player: [operation]}


def bind_profiles(profiles: Mapping[str, Json]) -> ProfileChanges:
    """A maker of deltas for these profiles, by player."""
    return ProfileChanges(profiles)


def update_profile(
    profiles: Mapping[str, Json], player: str, recipe: Callable[[Any], object]
) -> Deltas:
    """The deltas that do to a player's profile what a recipe does to its draft.

    Empty when the recipe changes nothing.

    Raises:
        ProfileDraftError: There is no such profile, or the recipe asks for what no
            delta can say.
        InvalidJsonValueError: A value that was assigned is not JSON.
    """
    operations = draft_profile(_profile_of(profiles, player), recipe)
    return {player: operations} if operations else {}


def join_profile_deltas(*parts: Mapping[str, Sequence[Operation]]) -> Deltas:
    """All deltas in one: those of one player follow each other, in order."""
    joined: Deltas = {}
    for part in parts:
        for player, delta in part.items():
            joined.setdefault(player, []).extend(delta)
    return joined


def _profile_of(profiles: Mapping[str, Json], player: str) -> Json:
    if player not in profiles:
        raise ProfileDraftError(
            f"no profile for player {player!r}; there are profiles of "
            f"{', '.join(map(repr, profiles)) or 'nobody'}"
        )
    return profiles[player]
