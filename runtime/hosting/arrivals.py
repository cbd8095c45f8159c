"""Matches that come from another replica: an install of a whole shard, or the owner's
copy of one match that differs here.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..errors import CodecError, JournalCorrupt
from ..games import UnknownGame
from ..journal import Buried, MatchLine, SavedHistory, SavedState, StoreOp
from ..match_codec import unpack_state
from ..match_state import MatchState
from ..record_codec import unpack_record
from ..replication.message import Piece
from ..replication.output import Install
from .hot_match import INABILITIES, HotMatch, blank_line
from .restore import CannotRestore, play
from .roster import Roster
from .transfer import Assembly, Part

__all__ = ["Arrivals"]


class Arrivals:
    """Puts what comes in pieces together, and takes it in."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._installs: dict[int, Assembly] = {}
        self._lacking: dict[int, dict[str, None]] = {}
        """By shard: matches of which the install had something that cannot be read."""
        self._behind: dict[int, tuple[str, list[bytes]]] = {}
        """By shard, of the match that is on its way: the records of its earlier parts
        that are behind its state. They may not be durable when it is to be played."""
        self._copies: dict[str, Assembly] = {}

    def wipe(self, shard: int) -> None:
        """What is half here of the shard is worth nothing."""
        self._installs.pop(shard, None)
        self._behind.pop(shard, None)
        self._lacking.pop(shard, None)
        roster = self._roster
        for match in [m for m in self._copies if m in roster.members(shard)]:
            del self._copies[match]

    def install(self, install: Install) -> Iterator[tuple[StoreOp, HotMatch | None]]:
        """A page of a shard's matches: what is to be persisted, and whose it is."""
        shard = install.shard
        if install.page == 0:
            self._installs[shard] = Assembly()
        assembly = self._installs.setdefault(shard, Assembly())
        for piece in install.pieces:
            try:
                part = assembly.add(piece)
            except CodecError as error:
                self._malformed(shard, piece.match, str(error))
                continue
            if part is not None and part.line.shard != shard:
                text = f"match {piece.match} is of shard {part.line.shard}"
                self._malformed(shard, piece.match, text)
            elif part is not None:
                yield from self._take_in(part, piece.index)
        if install.last:
            if not assembly.empty:
                match = install.pieces[-1].match if install.pieces else ""
                self._malformed(shard, match, "the install ends in a piece")
            del self._installs[shard]
            self._behind.pop(shard, None)
            self._set_apart(shard)

    def _malformed(self, shard: int, match: str, why: str) -> None:
        self._roster.alarm(shard, "install_malformed", why)
        if match:
            self._lacking.setdefault(shard, {})[match] = None

    def _set_apart(self, shard: int) -> None:
        """A match that should have come is known to be lacking: this replica may be in
        sync soon, and must not say that there is no such match."""
        for match in self._lacking.pop(shard, {}):
            if match not in self._roster.matches:
                lacking = self._roster.found(blank_line(match, shard, ""))
                lacking.looked = True
                why = "what the owner sent of it could not be taken"
                self._roster.set_apart(lacking, "log_gap", why)

    def copied(self, shard: int, piece: Piece) -> None:
        """A piece of the owner's copy of a match."""
        match = self._roster.apart.get(piece.match)
        if match is None or match.shard != shard:
            return  # it was not asked for, or is no longer
        assembly = self._copies.setdefault(piece.match, Assembly())
        try:
            part = assembly.add(piece)
        except CodecError as error:
            self._roster.alarm(shard, "copy_malformed", str(error))
            return
        if part is None:
            return
        del self._copies[piece.match]
        if not part.last:
            return
        problem = self._adopt(match, part)
        if problem:
            text = f"match {match.match}: {problem}"
            self._roster.alarm(shard, "copy_differs", text)

    def _take_in(
        self, part: Part, index: int
    ) -> Iterator[tuple[StoreOp, HotMatch | None]]:
        """`index` is that of the match's last record, of all its parts."""
        line = part.line
        if self._is_elsewhere(line, index):
            return
        if line.buried:
            yield Buried(line), None
            return
        if not part.last:
            self._keep_behind(part)
            yield SavedHistory(line.match, part.first, part.records), None
            return
        match, line = self._arrived(part)
        if part.records:
            yield SavedHistory(line.match, part.first, part.records), match
        yield SavedState(line, part.state or b""), match
        # A follower is hot; but what is over is wanted seldom.
        if not line.ended and part.state:
            self._roster.wake(match)

    def _keep_behind(self, part: Part) -> None:
        """Not more than are ever played behind a state."""
        line = part.line
        name, behind = self._behind.get(line.shard, ("", []))
        known = behind if name == line.match else []
        behind = [*known, *part.records[max(0, line.index + 1 - part.first) :]]
        if len(behind) > self._roster.options.replay_records_max:
            behind = []
        self._behind[line.shard] = (line.match, behind)

    def _is_elsewhere(self, line: MatchLine, last: int) -> bool:
        """This node has the match in another shard, and further: it was pinned, and the
        owner of its home still has it as it was when it left.

        What counts are the records: the state may stand still at an earlier one.
        """
        held = self._roster.matches.get(line.match)
        known = None if held is None else held.current_line()
        if held is None:
            known = self._roster.stored_line(line.shard, line.match)
        if known is None or known.shard in (-1, line.shard):
            return False
        index = known.index if held is None else held.index
        # At the same record it has left its home: the pinned one is what counts.
        return index > last or (index == last and known.shard > line.shard)

    def _arrived(self, part: Part) -> tuple[HotMatch, MatchLine]:
        line = part.line
        if part.state and line.quarantined in INABILITIES:
            line = msgspec.structs.replace(line, quarantined="")  # perhaps not here
        match = HotMatch(line)
        match.body = part.state
        name, behind = self._behind.pop(line.shard, ("", []))
        end = part.first + len(part.records) - 1
        if part.records and end > line.index:
            # The owner could not play these. This replica tries.
            records = [*(behind if name == line.match else ()), *part.records]
            match.tail = records[max(0, line.index - end + len(records)) :]
            match.index = end
        elif part.records and end == line.index:
            match.tail = list(part.records)  # until they are durable
        match.emitted = match.index
        match.in_flight = 1
        match.looked = True
        self._roster.hold(match)
        return match, line

    def _adopt(self, match: HotMatch, part: Part) -> str:
        """Go on from the owner's copy; why not, if that cannot be."""
        roster = self._roster
        if not part.state:
            return "the owner has no state of it"
        try:
            state = unpack_state(part.state, roster.find_machine)
        except (CodecError, UnknownGame) as error:
            return f"the owner's copy cannot be read: {error}"
        if state.match != match.match:
            return "the owner's copy is of another match"
        try:
            behind = self._records_behind(match, part, state)
            if isinstance(behind, str):
                return behind
            for packed in behind:
                state = play(roster.find_machine, state, packed)
        except JournalCorrupt as error:
            return str(error)
        except CannotRestore as error:
            return f"it differs again after the owner's copy: {error}"
        match.state = state
        roster.counts["copies_taken"] += 1
        asks = match.asks
        roster.unstick(match)
        match.asks = asks  # a game that differs again and again is not asked for ever
        roster.tiers.used(match, roster.now_ms)
        roster.note_place(match)
        return ""

    def _records_behind(
        self, match: HotMatch, part: Part, state: MatchState
    ) -> list[bytes] | str:
        """This replica's records behind the copy; what it lacks before is added."""
        roster = self._roster
        lacking = part.records[max(0, match.index + 1 - part.first) :]
        end = part.first + len(part.records) - 1
        if state.index > match.index:
            joins = part.first <= match.index + 1 or match.index < 0
            if end != state.index or not joins:
                return f"records {match.index + 1} to {part.first - 1} are lacking"
            if match.index < 0:
                match.emitted = part.first - 1
            match.tail += lacking
            match.index = state.index
            return []
        own = roster.packed_records(match.match, state.index, 1)[:1]
        try:
            if own and unpack_record(own[0]).digest != state.digest:
                return f"the owner's log has another record {state.index}"
        except CodecError as error:
            return str(error)
        behind: list[bytes] = []
        while state.index + len(behind) < match.index:
            after = state.index + len(behind) + 1
            page = roster.packed_records(
                match.match, after, roster.options.transfer_bytes
            )
            if not page:
                return f"record {after} is lacking"
            behind += page
        return behind
