"""The profiles of one match: read before it, changed while it goes on and at its end.

    profiles = MatchProfiles(store, game, {"0": "ann", "1": "bob"})
    match = {"players": ["0", "1"], "profiles": await profiles.load()}
    ...
    await profiles.keep(batch.steps)
    await profiles.finish(session.snapshot.meta.match, session.result)

Rules:
- A delta is done to the profile as it is stored by then, not to what the match began
  with: two matches of one player both count. When somebody saves in between, it is
  done again.
- What a move kept is kept, even if the match never ends. (No action that changed a
  profile is taken back.)
- What does not apply for one player is reported, and the others still get theirs.

It remembers nothing of what it has done: who calls twice is counted twice. So it serves
a match that lives in one process; in a cluster, where a match can move in the middle of
anything, that would take a commit that follows the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..engine.errors import ProfileDeltaError
from ..engine.frozen import freeze
from ..engine.game import Game
from ..engine.jsonvalue import Json
from ..engine.profile_commit import ProfileRejection, commit_profiles
from ..engine.profile_delta import apply_profile_delta
from ..engine.profiles import hydrate_profiles
from ..engine.step import Step
from .profile_store import (
    ABSENT,
    ProfileConflict,
    ProfileDocument,
    ProfileStore,
    ProfileTooLarge,
)

__all__ = ["MatchProfiles"]

ATTEMPTS_MAX = 16
"""Each loses to somebody who saved meanwhile, so others make progress."""


class MatchProfiles:
    """Stands between a match and a store. `names` are the players, by seat.

    Its methods raise what the store raises, and InvalidMatchError (invalid_profile)
    when the game's `parse` cannot read what is stored.
    """

    def __init__(
        self, store: ProfileStore, game: Game, names: Mapping[str, str]
    ) -> None:
        self.names = dict(names)
        self._store = store
        self._game = game

    async def load(self) -> dict[str, Json]:
        """The stored profiles by seat, for a match to start with.

        Whoever has none is left out: the game's default stands in. The match itself
        has them read by `parse`.
        """
        stored: dict[str, Json] = {}
        for seat, name in self.names.items():
            document = await self._store.load(name)
            if document is not None:
                stored[seat] = document.data
        return stored

    async def keep(self, steps: Iterable[Step]) -> list[ProfileRejection]:
        """Save what steps of the match answered with; returns what did not apply."""
        rejections: list[ProfileRejection] = []
        for step in steps:
            if step.transition.profile is not None:
                rejections += await self._change(step.transition.profile)
        return rejections

    async def finish(
        self, match: Mapping[str, Json], result: Json
    ) -> list[ProfileRejection]:
        """Save what the game's `commit` makes of a result.

        Raises:
            ProfileCommitError: `commit` failed, or gave no deltas; nothing is saved.
        """
        stored = await self.load()
        commit = commit_profiles(self._game, match, stored, result)
        return await self._change(commit.deltas)

    async def _change(self, deltas: Mapping[str, Any]) -> list[ProfileRejection]:
        rejections: list[ProfileRejection] = []
        for seat, delta in deltas.items():
            try:
                await self._change_one(seat, delta)
            except ProfileDeltaError as error:
                rejections.append(
                    ProfileRejection(seat, error.reason, str(error), error.at)
                )
            except ProfileTooLarge as error:
                rejections.append(ProfileRejection(seat, error.code, str(error), None))
        return rejections

    async def _change_one(self, seat: str, delta: Any) -> None:
        name = self.names[seat]
        lost: ProfileConflict | None = None
        for _ in range(ATTEMPTS_MAX):
            document = await self._store.load(name)
            after = apply_profile_delta(self._read(seat, document), delta)
            expected = ABSENT if document is None else document.revision
            try:
                await self._store.save(name, after, expected=expected)
                return
            except ProfileConflict as error:
                lost = error
        assert lost is not None
        raise lost

    def _read(self, seat: str, document: ProfileDocument | None) -> Json:
        """A profile as the game reads it, or a new player's."""
        stored = {} if document is None else {seat: document.data}
        match = freeze({"players": [seat], "profiles": stored}, label="match")
        return hydrate_profiles(self._game, match)["profiles"][seat]
