"""What a node knows of pinned matches, for all of its shards; see `pinning.py` and
`folding.py`.

`NodeReplicas` owns it and keeps it up to date; shards only read it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from ..errors import PinRefused
from ..pin_table import PinTable

__all__ = ["Guest", "PinBoard", "Placed"]

ENDED_KEPT = 1_024
"""Pins that are gone, of which the revision is remembered."""


@dataclass(frozen=True, slots=True)
class Placed:
    """How the pinned match of a shard is here. `index` is that of its last record, if
    that says that it goes home; else -1. `ended`: it is over."""

    match: str
    index: int
    ended: bool


@dataclass(frozen=True, slots=True)
class Guest:
    """A match came by the log of its home, as it was at its record `index` in shard
    `pin`. `revision`: of the coordinator, when it was still pinned. `whole`: all of it
    is here."""

    pin: int
    index: int
    revision: int
    whole: bool = False


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
        self.placed: dict[int, Placed] = {}
        """By pinned shard."""
        self.returning: dict[int, None] = {}
        """Those of `placed` whose match is to go home."""
        self.guests: defaultdict[int, dict[str, Guest]] = defaultdict(dict)
        """By home: who came, and is not known to be at home, nor to be elsewhere."""
        self.worthless: dict[tuple[int, str], Guest] = {}
        """By home and match: guests that are not the match, and never will be."""
        self.ended: dict[str, int] = {}
        """Matches that are pinned no longer: as of this revision."""
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

    def place(self, shard: int, placed: Placed | None) -> None:
        """News of a pinned shard's match; None: it is not here any more."""
        self.placed.pop(shard, None)
        self.returning.pop(shard, None)
        if placed is not None:
            self.placed[shard] = placed
            if placed.index >= 0:
                self.returning[shard] = None

    def came(self, home: int, match: str, guest: Guest | None) -> None:
        """News of a guest; None: no longer."""
        if self.worthless.get((home, match)) != guest:
            self.worthless.pop((home, match), None)
        if guest is not None:
            self.guests[home][match] = guest
        elif match in self.guests[home]:
            del self.guests[home][match]
        if not self.guests[home]:
            del self.guests[home]

    def is_home(self, match: str, guest: Guest) -> bool:
        """It is whole, and its pin is known to be gone: so it is the match."""
        if (
            not guest.whole
            or match in self.unreadable
            or self.table.pin_of(match) == guest.pin
        ):
            return False
        return max(self.complete, self.ended.get(match, 0)) >= guest.revision

    def waits_for_guests(self, home: int) -> bool:
        """Something that came there may be the match, or become it."""
        return any(
            self.worthless.get((home, match)) != guest
            for match, guest in self.guests.get(home, {}).items()
        )

    def note_ended(self, match: str, revision: int) -> str | None:
        """Its pin is gone, as of that revision. Returns a match of which that is known
        no longer."""
        self.ended.pop(match, None)
        self.ended[match] = revision
        if len(self.ended) <= ENDED_KEPT:
            return None
        oldest = next(iter(self.ended))
        del self.ended[oldest]
        return oldest

    def check_free(self, match: str) -> None:
        """May it be pinned?

        Raises:
            PinRefused: It is pinned, or as many matches are as may be.
        """
        if self.is_pinned(match):
            raise PinRefused("already_pinned", f"match {match} is pinned already")
        if len(self.table) >= self.cap:
            raise PinRefused(
                "pins_full", f"{self.cap} matches are pinned: no more may be"
            )

    def is_pinned(self, match: str) -> bool:
        """It has a pin, as far as is known."""
        return bool(self.table.pin_of(match)) or match in self.unreadable
