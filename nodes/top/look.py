"""A look at a cluster for `hotseat top`: all nodes and shards, and who is played."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..cluster_dir import ClusterDir
from ..operator.ask_cluster import find_cluster
from ..operator.match_search import find_matches
from ..operator.rows import MatchRow
from ..operator.survey import Survey, survey
from ..operator_error import OperatorError

__all__ = ["MATCHES_MAX", "ClusterLooks", "Look"]

MATCHES_MAX = 5_000
"""Of running matches that are looked at; of more, the first ones by shard and id."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a cluster said at one time."""

    survey: Survey
    matches: tuple[MatchRow, ...] = ()
    more: bool = False
    """More matches run than were looked at."""


class ClusterLooks:
    """Looks at the cluster at `place`, a folder or a door."""

    def __init__(self, place: Path | str) -> None:
        self._place = place
        self._home: ClusterDir | None = None

    async def look(self) -> Look:
        """Ask all doors.

        Raises:
            OperatorError: There is no cluster. That nodes are silent is in the look.
        """
        if self._home is None:
            self._home = await find_cluster(self._place)
        seen = await survey(self._home)
        try:
            found = await find_matches(
                self._home, MATCHES_MAX, states=["running", "waiting"]
            )
        except OperatorError:
            return Look(seen)  # no node answers: the survey says so
        return Look(seen, found.matches, found.more)
