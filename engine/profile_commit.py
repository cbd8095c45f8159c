"""What players keep of a match that is over.

A game's profile may declare `commit`: a pure function of the result that answers with
deltas. They are done to the profiles as they are stored by then, each player's on its
own: what does not apply for one is reported, and the others still get theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .definition import Game
from .errors import InvalidJsonValueError, ProfileCommitError, ProfileDeltaError
from .frozen import EMPTY_DICT, FDict, freeze
from .jsonvalue import Json
from .profile_change import ProfileChanges
from .profile_delta import apply_profile_delta
from .profiles import hydrate_profiles
from .refusal import fault_from

__all__ = [
    "ProfileCommit",
    "ProfileCommitContext",
    "ProfileRejection",
    "commit_profiles",
]


@dataclass(frozen=True, slots=True)
class ProfileCommitContext:
    """What a profile's `commit` sees; everything is frozen."""

    match: FDict
    profiles: Mapping[str, Json]
    result: Json

    @property
    def profile(self) -> ProfileChanges:
        """Makes the deltas to answer with."""
        return ProfileChanges(self.profiles)


@dataclass(frozen=True, slots=True)
class ProfileRejection:
    """Why one player's profile stays as it was. `at` is the failing operation."""

    player_id: str
    reason: str
    message: str
    at: int | None


@dataclass(frozen=True, slots=True)
class ProfileCommit:
    """The deltas of the seated players, their profiles after, and what failed."""

    deltas: Mapping[str, Json]
    profiles: Mapping[str, Json]
    rejections: tuple[ProfileRejection, ...]


def commit_profiles(
    game: Game, match: Mapping[str, Json], stored: Mapping[str, Json], result: Json
) -> ProfileCommit:
    """Commit a result to the profiles of a match's players.

    `stored` holds the profiles as they are now; whoever has none starts from the
    default, and strangers are left out.

    Raises:
        ProfileCommitError: The game's `commit` raised, or gave no deltas.
        InvalidMatchError: invalid_profile: a stored profile cannot be read.
        InvalidJsonValueError: The match, the result or a profile is not JSON.
    """
    given = freeze({**match, "profiles": dict(stored)}, label="match")
    before = hydrate_profiles(game, given)["profiles"]
    if game.profile is None or game.profile.commit is None:
        return ProfileCommit(EMPTY_DICT, before, ())
    ctx = ProfileCommitContext(given, before, freeze(result, label="result"))
    try:
        answer = game.profile.commit(ctx)
    except Exception as error:
        raise ProfileCommitError(
            f"the commit of game {game.name!r} failed: {error}",
            fault_from(error, event=None, label="profile commit"),
        ) from error
    deltas = _seated(answer, given["players"])
    after, rejections = dict(before), []
    for player, delta in deltas.items():
        try:
            after[player] = apply_profile_delta(before[player], delta)
        except ProfileDeltaError as error:
            rejections.append(
                ProfileRejection(player, error.reason, str(error), error.at)
            )
    profiles = freeze(after, label="profiles")
    return ProfileCommit(deltas, profiles, tuple(rejections))


def _seated(answer: object, players: Json) -> FDict:
    """The deltas of the players of the match; None is no deltas."""
    if answer is None:
        return EMPTY_DICT
    if not isinstance(answer, Mapping):
        raise ProfileCommitError(
            "commit answers with deltas by player, such as "
            f'ctx.profile.inc("0", "wins", 1), not with {type(answer).__name__}'
        )
    try:
        seated: FDict = freeze(
            {player: delta for player, delta in answer.items() if player in players},
            label="the deltas of commit",
        )
    except InvalidJsonValueError as error:
        raise ProfileCommitError(str(error)) from error
    return seated
