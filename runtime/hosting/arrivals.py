"""Matches that come from another replica: an install of a whole shard, or the owner's
copy of one match that differs here.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..control_plane import SHARDS_MAX
from ..errors import CodecError, JournalCorrupt
from ..games import UnknownGame
from ..journal import (
    Buried,
    Forgotten,
    MatchLine,
    SavedHistory,
    SavedState,
    StoreOp,
)
from ..match_codec import unpack_state
from ..match_state import MatchState
from ..record_codec import unpack_record
from ..replica_runner import Judged
from ..replication.manifest import Manifest
from ..replication.message import ManifestLine, Piece
from ..replication.output import Install
from .hot_match import INABILITIES, HotMatch, blank_line, placed_by
from .restore import CannotRestore, play
from .roster import Roster
from .transfer import Assembly, Part, digest_of, manifest_line

__all__ = ["Arrivals"]


class Arrivals:
    """Puts what comes in pieces together, and takes it in."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._installs: dict[int, Assembly] = {}
        self._lacking: dict[int, dict[str, None]] = {}
        """By shard: matches of which the install had something that cannot be read."""
        self._manifests: dict[int, Manifest] = {}
        """By shard: of what is here as the install says."""
        self._passed: dict[int, dict[str, ManifestLine]] = {}
        """By shard, of this page: matches that are not held, and rightly so."""
        self._records: dict[int, tuple[str, int]] = {}
        """By shard, of the match that came last: how many records in a row; -1: some
        are missing between."""
        self._again: dict[int, set[str]] = {}
        """By shard: matches that the owner sends anew, as they differed."""
        self._broken: dict[int, set[str]] = {}
        """By shard, of this page: matches whose history has a gap."""
        self._copies: dict[str, Assembly] = {}

    def wipe(self, shard: int) -> None:
        """What is half here of the shard is worth nothing."""
        self._installs.pop(shard, None)
        self._lacking.pop(shard, None)
        self._forget_manifest(shard)
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
            self._set_apart(shard, {line.match for line in install.lines})

    def judge(self, install: Install) -> Judged:
        """Which matches of a page are not here as its lines say; asked right behind
        `install`. What differs is expected to be sent again."""
        shard, manifest = install.shard, self._manifests.get(install.shard)
        if manifest is None or install.page == 0:
            manifest = self._manifests[shard] = Manifest()
        broken = self._broken.pop(shard, set())
        same = [
            line
            for line in install.lines
            if line.match not in broken and line == self._held(shard, line.match)
        ]
        manifest.add(same)
        self._passed.pop(shard, None)
        known = {line.match for line in same}
        differing = tuple(x.match for x in install.lines if x.match not in known)
        self._again.setdefault(shard, set()).difference_update(known)
        self._again[shard].update(differing)
        self._roster.counts["manifests_differed"] += len(differing)
        if install.last and not differing:
            self._forget_manifest(shard)
        return Judged(differing, manifest.digest())

    def _held(self, shard: int, match: str) -> ManifestLine | None:
        """How far this replica has the match."""
        held = self._roster.members(shard).get(match)
        if held is None:
            return self._passed.get(shard, {}).get(match)
        if held.state is not None and not held.stuck:
            return ManifestLine(match, held.state.index, held.state.digest)
        if held.line.index == held.index:
            return ManifestLine(match, held.index, held.line.digest)
        digest = digest_of(held.tail[-1]) if held.tail else b""
        return ManifestLine(match, held.index, digest)

    def _forget_manifest(self, shard: int) -> None:
        self._manifests.pop(shard, None)
        self._passed.pop(shard, None)
        self._records.pop(shard, None)
        self._broken.pop(shard, None)
        self._again.pop(shard, None)

    def _malformed(self, shard: int, match: str, why: str) -> None:
        self._roster.alarm(shard, "install_malformed", why)
        if match:
            self._lacking.setdefault(shard, {})[match] = None

    def _set_apart(self, shard: int, told: set[str]) -> None:
        """A match that should have come is known to be lacking: this replica may be in
        sync soon, and must not say that there is no such match. (Those that the owner
        has `told` of are compared, and sent again.)"""
        for match in self._lacking.pop(shard, {}):
            if match not in self._roster.matches and match not in told:
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
        elsewhere = self._is_elsewhere(line, index)
        if elsewhere or line.buried:
            passed = self._passed.setdefault(line.shard, {})
            passed[line.match] = manifest_line(part)
        if elsewhere:
            return
        self._count_records(part)
        if line.match in self._again.get(line.shard, ()) and not part.first:
            yield Forgotten(line.match), None  # else its first history would stay
        if line.buried:
            yield Buried(line), None
            return
        if not part.last:
            yield SavedHistory(line.match, part.first, part.records), None
            return
        match, line = self._arrived(part)
        if part.records:
            yield SavedHistory(line.match, part.first, part.records), match
        yield SavedState(match.current_line(), part.state or b""), match
        # A follower is hot; but what is over is wanted seldom.
        if not line.ended and part.state:
            self._roster.wake(match)

    def _count_records(self, part: Part) -> None:
        """A match's parts join on to each other, from its first record on."""
        shard, match = part.line.shard, part.line.match
        name, count = self._records.get(shard, ("", 0))
        if part.first == 0 or name != match:
            count = 0
        whole = part.first == count
        self._records[shard] = match, part.first + len(part.records) if whole else -1
        if part.last and not whole:
            self._broken.setdefault(shard, set()).add(match)

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
        if index == last and line.shard < SHARDS_MAX <= known.shard:
            # By that record it has left its home, and the pinned one is what counts; or
            # it has come home.
            return bool(line.pinned)
        return index > last

    def _arrived(self, part: Part) -> tuple[HotMatch, MatchLine]:
        line = part.line
        if part.state and line.quarantined in INABILITIES:
            line = msgspec.structs.replace(line, quarantined="")  # perhaps not here
        match = HotMatch(line)
        match.body = part.state
        end = part.first + len(part.records) - 1
        if part.records and end > line.index:
            # The owner could not play these. This replica tries.
            match.tail = list(part.records[max(0, line.index + 1 - part.first) :])
            match.index = end
            for packed in match.tail:
                match.pinned, match.pins = placed_by(packed) or (
                    match.pinned,
                    match.pins,
                )
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
