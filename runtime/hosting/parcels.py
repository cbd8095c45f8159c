"""Matches that come home by the log of their home shard, until it is known that they
are there.

A pinned match that is folded back is logged in its home in pieces. Here they are put
together, and wait: the match is in its own shard until its pin is gone. Then it is
taken in (`open`); or its home's log says that it did not come (`Kept`).

Invariant: the home's log, from the first piece on, is found again at a start, as long
as what it brought waits (`Checkpoints.hold_back`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec

from ..errors import CodecError
from ..replica_runner import Visiting
from ..replication.message import Entry, Piece, Raw
from ..replication.parcel import Kept, Parcel, pack_parcel, read_parcel
from ..replication.pin_board import Guest
from .feed import Feeder
from .hot_match import INABILITIES, HotMatch
from .roster import Roster
from .transfer import Assembly, Part

__all__ = ["Parcels", "pack_all"]

_PAGE_BYTES = 512 * 1024


@dataclass(slots=True)
class _Arrival:
    guest: Guest
    before: tuple[int, int]
    """Where the home's log was before the first piece."""
    assembly: Assembly = field(default_factory=Assembly)
    parts: list[Part] = field(default_factory=list)


class Parcels:
    """By home and match."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._waiting: dict[tuple[int, str], _Arrival] = {}

    def take(self, shard: int, entry: Entry) -> None:
        """An entry of a home's log that is no record."""
        checkpoints = self._roster.checkpoints
        before = checkpoints.place(shard)
        checkpoints.passed(shard, entry.seq, entry.epoch)
        parcel = read_parcel(entry.record)
        place = (shard, entry.match)
        if isinstance(parcel, Kept):
            known = self._waiting.get(place)
            if known is not None and known.guest.pin == parcel.pin:
                self._drop(place)
            return
        if parcel is None or self._is_old(shard, entry):
            return
        if parcel.first:
            guest = Guest(parcel.pin, entry.index, parcel.revision)
            self._waiting[place] = _Arrival(guest, before)
            self._hold_back(shard)
            self._roster.news.append(Visiting(shard, entry.match, guest))
        arrival = self._waiting.get(place)
        if arrival is None or arrival.guest.index != entry.index:
            return
        piece = Piece(entry.match, entry.index, parcel.offset, parcel.size, parcel.data)
        try:
            part = arrival.assembly.add(piece)
        except CodecError as error:
            self._roster.alarm(shard, "parcel_malformed", str(error))
            return
        if part is not None:
            arrival.parts.append(part)
            if part.last:
                arrival.guest = replace(arrival.guest, whole=True)
                self._roster.news.append(Visiting(shard, entry.match, arrival.guest))

    def open(self, shard: int, match: str) -> HotMatch | None:
        """The match is at home: it is held from now on. None: it was already, or is not
        whole."""
        arrival = self._waiting.get((shard, match))
        if arrival is None or not arrival.guest.whole:
            return None
        self._drop((shard, match))
        roster = self._roster
        index = arrival.guest.index
        known = roster.matches.get(match)
        if known is None:
            line = roster.stored_line(shard, match)
            known = None if line is None or line.shard < 0 else roster.found(line)
        if known is not None and (
            known.index > index or (known.index == index and known.shard == shard)
        ):
            return None
        held = _match_of(arrival.parts, shard)
        roster.hold(held)
        roster.checkpoints.touch(held, roster.now_ms)
        if not held.line.ended:
            roster.wake(held)
        return held

    def next_is(self, shard: int, entry: Entry) -> bool:
        """Whether the entry goes on with a match that waits: so it is at home."""
        arrival = self._waiting.get((shard, entry.match))
        return (
            arrival is not None
            and arrival.guest.whole
            and entry.index == arrival.guest.index + 1
        )

    def wipe(self, shard: int) -> None:
        """Nothing of the shard is here any more."""
        for place in [place for place in self._waiting if place[0] == shard]:
            self._drop(place)

    def _is_old(self, shard: int, entry: Entry) -> bool:
        """It has come home already, or has gone on since: the log is read again."""
        roster = self._roster
        held = roster.matches.get(entry.match)
        if held is not None:
            return held.shard == shard and held.index >= entry.index
        line = roster.stored_line(shard, entry.match)
        return line is not None and line.shard == shard and line.index >= entry.index

    def _drop(self, place: tuple[int, str]) -> None:
        del self._waiting[place]
        shard, match = place
        self._hold_back(shard)
        self._roster.news.append(Visiting(shard, match, None))

    def _hold_back(self, shard: int) -> None:
        places = [a.before for (s, _), a in self._waiting.items() if s == shard]
        self._roster.checkpoints.hold_back(shard, min(places, default=None))


def pack_all(feeder: Feeder, shard: int, match: str, revision: int) -> Sequence[Raw]:
    """A match of a pinned shard, in pieces; none if something of it cannot be read."""
    records: list[Raw] = []
    cursor: str | None = ""
    while cursor is not None:
        page = feeder.page(shard, cursor, _PAGE_BYTES)
        if page.withheld:
            return ()
        for piece in page.pieces:
            if piece.match != match:
                continue
            parcel = Parcel(
                shard, revision, not records, piece.offset, piece.size, piece.data
            )
            records.append(pack_parcel(parcel))
        cursor = page.cursor
    return records


def _match_of(parts: Sequence[Part], shard: int) -> HotMatch:
    """All of it, to be written."""
    last = parts[-1]
    line = msgspec.structs.replace(last.line, shard=shard, pinned=0)
    if last.state and line.quarantined in INABILITIES:
        line = msgspec.structs.replace(line, quarantined="")  # perhaps not here
    match = HotMatch(line)
    match.body = last.state
    first = parts[0].first
    match.tail = [record for part in parts for record in part.records]
    match.index = max(line.index, first + len(match.tail) - 1)
    match.emitted = first - 1
    match.looked = True
    return match
