"""What the players of a match in this terminal keep of it, in a folder of profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...engine.definition import Game
from ...engine.errors import ProfileCommitError
from ...engine.jsonvalue import Json
from ...engine.step import Batch
from ...runtime.match_profiles import MatchProfiles
from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from ..profile_files import ProfileFiles

__all__ = ["MatchKeeper"]


class MatchKeeper:
    """Keeps the profiles of one match. `stored` is what it starts from, by seat."""

    def __init__(self, profiles: MatchProfiles, stored: Mapping[str, Json]) -> None:
        self.stored = stored
        self._profiles = profiles
        self._lines: list[str] = []

    @classmethod
    async def open(
        cls, folder: Path, game: Game, names: Mapping[str, str]
    ) -> MatchKeeper:
        """Read the players' profiles; `names` are the players, by seat.

        Raises:
            OperatorError: no_profiles: the game keeps nothing.
            ProfileStoreFault: The folder or a profile cannot be used.
        """
        if game.profile is None:
            raise OperatorError(
                "no_profiles",
                f"{game.name} keeps nothing between matches",
                hint="leave --profiles out, or declare profile=profile(default, ...)",
                exit_code=ExitCode.USAGE,
            )
        profiles = MatchProfiles(ProfileFiles(folder, game), game, names)
        return cls(profiles, await profiles.load())

    async def keep(self, batch: Batch) -> None:
        """Save what a batch answered with, and at the end what its result leaves.

        Raises:
            OperatorError: profile_commit: the game's `commit` failed.
            ProfileStoreFault: The folder or a profile cannot be used.
        """
        rejections = await self._profiles.keep(batch.steps)
        meta = batch.snapshot.meta
        if meta.result is not None:
            try:
                rejections += await self._profiles.finish(meta.match, meta.result)
            except ProfileCommitError as error:
                raise OperatorError(
                    error.code,
                    f"{error}; nothing of the result is kept",
                    hint="what moves have kept before stays",
                ) from error
        for rejection in rejections:
            name = self._profiles.names[rejection.player_id]
            self._lines.append(
                f"The profile of {name} was not changed: {rejection.message}"
            )

    def told(self) -> Sequence[str]:
        """What is worth knowing at the end, in lines."""
        names = ", ".join(self._profiles.names.values())
        return [*self._lines, f"Profiles: {names}"]
