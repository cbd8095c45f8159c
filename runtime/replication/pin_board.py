"""What a node knows of pinned matches, for all of its shards; see `pinning.py`.

`NodeReplicas` owns it and keeps it up to date; shards only read it.
"""

from __future__ import annotations

from collections import defaultdict

from ..errors import PinRefused
from ..pin_table import PinTable

__all__ = ["PinBoard"]


class PinBoard:
    """The pins by the coordinator, and the matches that are leaving by their logs."""

    def __init__(self, table: PinTable | None = None) -> None:
        self.table = PinTable(1) if table is None else table
        self.unreadable: dict[str, None] = {}
        """Matches whose pin key cannot be read: pinned, but nobody knows where."""
        self.complete = 0
        """All keys were read as of this revision of the coordinator."""
        self.cap = 0
        """Pins that the cluster may have."""
        self._leaving: defaultdict[int, dict[str, tuple[int, int]]] = defaultdict(dict)
        self._by_target: dict[int, tuple[int, str]] = {}

    def left(self, shard: int, match: str, target: int, n: int = 0) -> None:
        """The last record of the match here, in `shard`, says that it leaves for
        `target`, as its `n`th pin; 0: it does not, or is not here any more."""
        known, _ = self._leaving[shard].pop(match, (0, 0))
        if self._by_target.get(known) == (shard, match):
            del self._by_target[known]
        if target:
            self._leaving[shard][match] = (target, n)
            self._by_target[target] = (shard, match)
        elif not self._leaving[shard]:
            del self._leaving[shard]

    def leaving(self, shard: int) -> dict[str, tuple[int, int]]:
        """The matches that leave the shard: where to, and which pin of theirs it is."""
        return self._leaving.get(shard, {})

    def bound_for(self, target: int) -> str | None:
        """The match that is here, at its last record in its shard, and leaves for that
        one."""
        found = self._by_target.get(target)
        return None if found is None else found[1]

    def home_of(self, target: int) -> int:
        """The shard that the match leaves for `target`: -1 if none does."""
        found = self._by_target.get(target)
        return -1 if found is None else found[0]

    def check_free(self, match: str) -> None:
        """May it be pinned?

        Raises:
            PinRefused: It is pinned, or as many matches are as may be.
        """
        if self.is_pinned(match):
            raise PinRefused(f"match {match} is pinned already")
        if len(self.table) >= self.cap:
            raise PinRefused(f"{self.cap} matches are pinned: no more may be")

    def is_pinned(self, match: str) -> bool:
        """It has a pin, as far as is known."""
        return bool(self.table.pin_of(match)) or match in self.unreadable
