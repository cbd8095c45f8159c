"""Pages of a shard's matches, for a learner; and one match, for a follower.

What is in memory is taken from there, the rest from the store, both in the order of
their ids. A page is made anew from its cursor alone: nobody is remembered here.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Protocol

from ..errors import JournalCorrupt
from ..journal import MatchLine, StoreReader
from ..match_codec import pack_state
from ..replica_runner import FeedPage
from ..replication.message import ManifestLine, Piece
from .hot_match import HotMatch
from .transfer import Cursor, Part, cut, manifest_line, pack_part

__all__ = ["Feeder"]

# Bytes that a piece counts for beside its data: its id and numbers.
_PIECE_BYTES = 64

# Matches of one page, at 10 to 50 us each: no action waits longer for it.
_PAGE_MATCHES = 128

# Records of which the newest go with a copy.
_COPIED_RECORDS_MAX = 1024


class _Matches(Protocol):
    """What a feeder asks of those who hold the matches."""

    def members(self, shard: int) -> dict[str, HotMatch]:
        """The shard's matches in memory."""

    def packed_records(
        self, match: str, first: int, bytes_max: int
    ) -> tuple[bytes, ...]:
        """As many as fit, without a gap."""

    def look(self, match: HotMatch) -> None:
        """Know all of its records that are stored."""

    def history_end(self, line: MatchLine) -> int:
        """The number of the last stored record of a match that is not in memory."""


class Feeder:
    """Makes the pieces."""

    def __init__(
        self,
        matches: _Matches,
        store: StoreReader,
        part_bytes: int,
        alarm: Callable[[int, str, str], None],
    ) -> None:
        self._matches = matches
        self._store = store
        self._part_bytes = part_bytes
        self._alarm = alarm

    def page(
        self, shard: int, text: str, limit: int, only: tuple[str, ...] = ()
    ) -> FeedPage:
        """The page behind a cursor, of at most `limit` bytes; withheld, if not even
        the lines can be read of all that should be on it. Of all matches, or `only`
        of these, which are in the order of their ids."""
        try:
            return self._page(shard, Cursor.read(text), limit, only)
        except JournalCorrupt as error:
            self._alarm(shard, "manifest_corrupt", f"no learner is fed: {error}")
            return FeedPage((), None, withheld=True)

    def _page(
        self, shard: int, cursor: Cursor, limit: int, only: tuple[str, ...]
    ) -> FeedPage:
        pieces: list[Piece] = []
        lines: list[ManifestLine] = []

        def page(cursor: str | None) -> FeedPage:
            return FeedPage(tuple(pieces), cursor, lines=tuple(lines))

        room = limit
        piece_bytes = min(limit, self._part_bytes)
        for number, match in enumerate(self._ids(shard, cursor, only)):
            if number == _PAGE_MATCHES:
                return page(str(cursor))
            within = cursor if cursor.within and match == cursor.match else None
            for piece, place, part in self._pieces(shard, match, within, piece_bytes):
                if pieces and len(piece.data) > room:
                    return page(str(cursor))
                pieces.append(piece)
                room -= len(piece.data) + _PIECE_BYTES
                cursor = place
                if not place.within:
                    lines.append(manifest_line(part))
            cursor = Cursor(match)
        return page(None)

    def copy(self, shard: int, match: str, history_bytes: int) -> tuple[Piece, ...]:
        """All pieces of one match's state, with its newest records."""
        try:
            found = self._find(shard, match)
        except JournalCorrupt as error:
            self._alarm(shard, "line_corrupt", f"match {match}: {error}")
            return ()
        if found is None:
            return ()
        line, index = found
        first = max(0, index + 1 - _COPIED_RECORDS_MAX)
        records: tuple[bytes, ...] = ()
        while first + len(records) <= index:
            first += len(records)
            records = self._matches.packed_records(match, first, history_bytes)
            if not records:
                break
        body = pack_part(Part(line, first, records, self._state(shard, match)))
        return tuple(cut(match, index, body, self._part_bytes))

    def _ids(self, shard: int, cursor: Cursor, only: tuple[str, ...]) -> Iterator[str]:
        """The ids of all matches behind a cursor, that of its own if it is within.

        Raises:
            JournalCorrupt: There are others, which cannot be read.
        """
        after = cursor.match
        if only:
            yield from (m for m in only if m > after or (cursor.within and m == after))
            return
        here = sorted(m for m in self._matches.members(shard) if m > after)
        stored = (line.match for line in self._store.manifest(shard, after))
        last = ""
        if cursor.within:
            yield after
        for match in heapq.merge(here, stored):
            if match != last:
                yield match
            last = match

    def _pieces(
        self, shard: int, match: str, within: Cursor | None, piece_bytes: int
    ) -> Iterator[tuple[Piece, Cursor, Part]]:
        """The pieces of a match, each with the cursor behind it, and its part."""
        offset = 0
        first = within.first if within else 0
        while True:
            found = self._find(shard, match)
            if found is None:
                return  # it has gone
            line, index = found
            part = self._part(shard, match, line, index, first)
            body = pack_part(part)
            if within and (within.size, within.index) == (len(body), index):
                offset = within.offset
            within = None
            for piece in cut(match, index, body, piece_bytes, offset):
                end = piece.offset + len(piece.data)
                place = Cursor(match, first, end, len(body), index)
                if end == len(body):
                    after = part.first + len(part.records)
                    # size 1, index -1: within the match, and no part is begun.
                    place = Cursor(match, after, 0, 1, -1)
                    if part.last:
                        place = Cursor(match)
                yield piece, place, part
            if part.last:
                return
            offset, first = 0, part.first + len(part.records)

    def _part(
        self, shard: int, match: str, line: MatchLine, index: int, first: int
    ) -> Part:
        records: tuple[bytes, ...] = ()
        if not line.buried:
            records = self._matches.packed_records(match, first, self._part_bytes)
            if records and first + len(records) <= index:
                return Part(line, first, records)
            # Nothing is there though something should be: the rest is lost here.
        state = b"" if line.buried else self._state(shard, match)
        return Part(line, first, records, state)

    def _find(self, shard: int, match: str) -> tuple[MatchLine, int] | None:
        """Its line, and the number of its last record.

        Raises:
            JournalCorrupt: The line cannot be read.
        """
        held = self._matches.members(shard).get(match)
        if held is not None:
            self._matches.look(held)
            return held.current_line(), held.index
        line = self._store.line(match)
        if line is None or line.shard != shard:
            return None  # it has gone, or is in another shard by now
        return line, self._matches.history_end(line)

    def _state(self, shard: int, match: str) -> bytes:
        held = self._matches.members(shard).get(match)
        if held is not None and held.state is not None:
            return pack_state(held.state)
        if held is not None and held.body is not None:
            return held.body
        try:
            return self._store.state(match) or b""
        except JournalCorrupt as error:
            self._alarm(shard, "state_corrupt", f"match {match}: {error}")
            return b""
