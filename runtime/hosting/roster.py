"""The matches of this node that are in memory, and how one comes in, wakes, or is set
apart.

Rules:
- A match that cannot be carried on is set apart, told by an alarm, and costs no other.
- What cannot be got back is tried again only when something may have changed: its game
  is there now, a copy of the owner came, or a pause is over; and not for ever.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress

from ..control_plane import SHARDS_MAX
from ..errors import JournalCorrupt
from ..journal import MatchLine, StoreReader
from ..match_codec import FindMachine
from ..replica_runner import Leaving, News, Returning
from ..replication.output import Alarm
from ..replication.pin_board import Placed
from .checkpoint import Checkpoints
from .hot_match import INABILITIES, HotMatch, blank_line
from .options import HostingOptions
from .restore import CannotRestore, Restorer
from .tiers import Tiers

__all__ = ["Roster"]

# Alarms that wait to be taken; more are counted only.
_ALARMS_MAX = 1_000

# Inabilities that the owner's copy of the match can end.
_COPY_HELPS = frozenset({"divergent", "log_gap", "state_corrupt", "recovery_failed"})


class Roster:
    """Matches by id and by shard. It knows the time of the last sweep only."""

    def __init__(
        self, find_machine: FindMachine, store: StoreReader, options: HostingOptions
    ) -> None:
        self.options = options
        self.store = store
        self.find_machine = find_machine
        self.restorer = Restorer(store, find_machine, options.replay_records_max)
        self.tiers = Tiers(options)
        self.checkpoints = Checkpoints(options)
        self.matches: dict[str, HotMatch] = {}
        self.apart: dict[str, HotMatch] = {}
        """Those that are stuck."""
        self.wanted: list[tuple[int, str]] = []
        self.alarms: list[Alarm] = []
        self.now_ms = 0
        self.counts: defaultdict[str, int] = defaultdict(int)
        self.news: list[News] = []
        """Of matches that leave their shards, not taken yet."""
        self._untold: dict[str, str] = {}
        """Why matches are set apart of which nothing is done before the next tick."""
        self._placed: dict[int, Placed] = {}
        self._leaving: dict[str, Leaving] = {}
        self._shards: defaultdict[int, dict[str, HotMatch]] = defaultdict(dict)

    def members(self, shard: int) -> dict[str, HotMatch]:
        """The shard's matches in memory."""
        return self._shards.get(shard, {})

    def shards(self) -> list[int]:
        """The shards of which something is in memory."""
        return list(self._shards)

    def hold(self, match: HotMatch) -> None:
        """It is in memory from now on, instead of an older copy of another shard."""
        known = self.matches.get(match.match)
        if known is not None and known is not match:
            self.drop(known)
            if known.shard != match.shard:
                self._misplace(known.shard)
        self.matches[match.match] = match
        self._shards[match.shard][match.match] = match
        match.used_ms = self.now_ms
        if match.stuck:
            self.apart[match.match] = match
        if match.line.ended:
            self.tiers.used(match, self.now_ms)
        self.note_place(match)

    def note_place(self, match: HotMatch) -> None:
        """Its last record may say that it leaves its shard, or that it does not."""
        state = match.state
        if state is not None and not match.stuck:
            match.pinned, match.pins = state.pinned, state.pins
        if match.shard >= SHARDS_MAX:
            self._note_placed(match)
        leaves = match.pinned and match.shard < SHARDS_MAX
        known = self._leaving.get(match.match)
        if leaves:
            news = Leaving(match.shard, match.match, match.pinned, match.pins)
            if news != known:
                self._stays(match.match)
                self._leaving[match.match] = news
                self.news.append(news)
        elif known is not None:
            self._stays(match.match)

    def _note_placed(self, match: HotMatch) -> None:
        ended = match.line.ended if match.state is None else match.state.ended
        placed = Placed(match.match, -1 if match.pinned else match.index, ended)
        if self._placed.get(match.shard) != placed:
            self._placed[match.shard] = placed
            self.news.append(Returning(match.shard, placed))

    def _misplace(self, shard: int) -> None:
        """A pinned shard's match is not there any more, here."""
        if self._placed.pop(shard, None) is not None:
            self.news.append(Returning(shard, None))

    def _stays(self, match: str) -> None:
        known = self._leaving.pop(match, None)
        if known is not None:
            self.news.append(Leaving(known.shard, match, 0, 0))

    def bring(self, match: HotMatch, shard: int) -> None:
        """It is in that shard from now on."""
        self.checkpoints.forget(match)
        match.dirty = False
        members = self._shards[match.shard]
        members.pop(match.match, None)
        if not members:
            del self._shards[match.shard]
        self._misplace(match.shard)
        match.shard = shard
        self.keep_stored(match)
        self._shards[shard][match.match] = match
        self.note_place(match)

    def drop(self, match: HotMatch) -> None:
        """It is in memory no longer."""
        if self.matches.get(match.match) is not match:
            return
        del self.matches[match.match]
        members = self._shards[match.shard]
        del members[match.match]
        if not members:
            del self._shards[match.shard]
        self.apart.pop(match.match, None)
        self._untold.pop(match.match, None)
        self.tiers.forget(match)
        self.checkpoints.forget(match)

    def wipe(self, shard: int) -> None:
        """Nothing of the shard is in memory any more."""
        for match in list(self.members(shard).values()):
            self.drop(match)
        for news in [n for n in self._leaving.values() if n.shard == shard]:
            self._stays(news.match)  # of ended ones too, which were not in memory
        self._misplace(shard)
        self.checkpoints.wipe(shard)

    def stored_line(self, shard: int, match: str) -> MatchLine | None:
        """What the store knows of a match; a line set apart if it cannot be read."""
        try:
            return self.store.line(match)
        except JournalCorrupt as error:
            self.alarm(shard, "line_corrupt", f"match {match}: {error}")
            return blank_line(match, shard, "state_corrupt")

    def found(self, line: MatchLine) -> HotMatch:
        """A match of which the store has the line comes into memory."""
        match = HotMatch(line)
        self.hold(match)
        return match

    def look(self, match: HotMatch) -> None:
        """See, once, whether records are stored behind the stored state.

        So it is when the match was stuck: it is to be tried again, up to the last.
        """
        if match.looked:
            return
        match.looked = True
        end = self.restorer.history_end(match.match, match.index)
        if end == match.index:
            return
        match.index = match.emitted = end
        match.stuck = True
        match.code = match.code or "state_corrupt"
        match.retry_ms = 0
        self.apart[match.match] = match

    def history_end(self, line: MatchLine) -> int:
        """The number of the last stored record of a match that is not in memory.

        A line may be behind: it is that of the last state that could be played here.

        Raises:
            JournalCorrupt: What is stored cannot be read.
        """
        if line.buried:
            return line.index
        return self.restorer.history_end(line.match, line.index)

    def wake(self, match: HotMatch) -> bool:
        """Get the state into memory; False: it is set apart."""
        if match.state is not None and not match.stuck:
            return True
        self.look(match)
        if match.stuck and not self._may_try(match):
            return False
        try:
            state = self.restorer.restore(match, match.index)
        except CannotRestore as error:
            match.needs = error.needs
            self._not_woken(match, error.code, str(error))
            return False
        except Exception as error:  # author code; a store that fails
            why = f"{type(error).__name__}: {error}"
            self._not_woken(match, "recovery_failed", why)
            return False
        if state is None:
            self._not_woken(match, "log_gap", "nothing is stored of it")
            return False
        self.counts["woken"] += 1
        if match.stuck:
            self.unstick(match)
        match.state = state
        self.note_place(match)
        self.tiers.used(match, self.now_ms)
        return True

    def unstick(self, match: HotMatch) -> None:
        """Its state can be carried on again."""
        self.alarm(match.shard, "match_recovered", f"match {match.match}: {match.code}")
        match.stuck = False
        if match.code in INABILITIES:  # a verdict stays
            match.code = ""
        match.told = ""
        match.needs = None
        match.failures = match.asks = 0
        match.retry_ms = None
        self.apart.pop(match.match, None)
        self._untold.pop(match.match, None)
        self.checkpoints.touch(match, self.now_ms)

    def set_apart(
        self, match: HotMatch, code: str, why: str, *, wait: bool = False
    ) -> None:
        """It cannot be carried on here; its records are still kept. `wait`: it may be
        over at once, so that nobody is told, or asked for a copy, before the next tick.
        """
        match.code = code
        match.stuck = True
        match.retry_ms = None
        if code == "divergent" and match.failures < self.options.wake_attempts:
            # A game that is not pure may do otherwise; the digests say if it did right.
            match.retry_ms = self.now_ms + self._pause_ms(match.failures)
        self.apart[match.match] = match
        self.keep_stored(match)
        self.checkpoints.touch(match, self.now_ms)
        if wait:
            self._untold.setdefault(match.match, why)
            return
        self._tell_apart(match, why)
        self.ask_copy(match)

    def _tell_apart(self, match: HotMatch, why: str) -> None:
        if match.told != match.code:
            match.told = match.code
            self.counts["set_apart"] += 1
            self.alarm(match.shard, match.code, f"match {match.match}: {why}")

    def keep_stored(self, match: HotMatch) -> None:
        """What is known of one that is stuck differs from what is stored of it: that
        is to be written, with the state as it is stored, if it can be read."""
        if match.state is not None or match.body is not None or not match.stuck:
            return
        if match.line.index < 0 or match.current_line() is match.line:
            return
        with suppress(JournalCorrupt, OSError):  # it stays, for who can
            match.body = self.store.state(match.match)

    def ask_copy(self, match: HotMatch) -> None:
        """Want the owner's copy, unless it was asked for just now, or too often."""
        if match.code not in _COPY_HELPS or match.asks >= self.options.copies_asked_max:
            return
        since = self.now_ms - match.asked_ms
        if match.asks and 0 <= since < self.options.copy_timeout_ms:
            return
        match.asks += 1
        match.asked_ms = self.now_ms
        self.wanted.append((match.shard, match.match))

    def packed_records(
        self, match: str, first: int, bytes_max: int
    ) -> tuple[bytes, ...]:
        """Records from `first` on: at least one, if there is one, then as many as fit.

        Raises:
            JournalCorrupt: A stored one cannot be read.
        """
        held = self.matches.get(match)
        if held is None:
            return self.store.history(match, first, bytes_max)
        self.look(held)
        page: list[bytes] = []
        if first < held.first:
            page += self.store.history(match, first, bytes_max)
            del page[held.first - first :]
            if first + len(page) < held.first:
                return tuple(page)
        size = sum(map(len, page))
        for packed in held.tail[max(0, first - held.first) :] if first >= 0 else ():
            size += len(packed)
            if page and size > bytes_max:
                break
            page.append(packed)
        return tuple(page)

    def alarm(self, shard: int, code: str, message: str) -> None:
        """Something for the operator."""
        self.counts["alarms"] += 1
        if len(self.alarms) < _ALARMS_MAX:
            self.alarms.append(Alarm(shard, code, message))

    def at(self, now_ms: int) -> None:
        """The time is now."""
        if not self.now_ms:
            self.tiers.begin(now_ms)
        self.now_ms = now_ms

    def tick(self, now_ms: int) -> Iterator[HotMatch]:
        """The time is now; which of the stuck ones are worth another look."""
        self.at(now_ms)
        for match in list(self.apart.values()):
            if why := self._untold.pop(match.match, ""):
                self._tell_apart(match, why)
            self.ask_copy(match)
            if match.retry_ms is not None and self._may_try(match):
                yield match

    def _may_try(self, match: HotMatch) -> bool:
        if match.retry_ms is not None:
            return self.now_ms >= match.retry_ms
        if match.code != "missing_game":
            return False
        game = match.needs or (match.line.game, match.line.version)
        return self.find_machine(*game) is not None

    def _not_woken(self, match: HotMatch, code: str, why: str) -> None:
        assert code in INABILITIES, code
        match.failures += 1
        self.counts["wake_failures"] += 1
        options = self.options
        if code == "recovery_failed" and match.failures < options.wake_attempts:
            pause = self._pause_ms(match.failures - 1)
            match.code, match.stuck = code, True
            match.retry_ms = self.now_ms + pause
            self.apart[match.match] = match
            text = f"match {match.match}: {why}; it is tried again in {pause} ms"
            self.alarm(match.shard, "match_not_woken", text)
            return
        self.set_apart(match, code, why)

    def _pause_ms(self, failures: int) -> int:
        return self.options.wake_pause_ms << failures
