"""The committed matches of this node, by shard: the same at the owner and at followers.

It applies what is committed, at once, so that a takeover finds every match ready; it
says what is to be written of the matches; it puts idle ones away, and wakes them; it
feeds learners, and is fed.

Rules:
- Nothing here waits, has a clock, or raises because of one match. The store is read,
  a bounded amount at a time; what is to be written is returned, and its outcome told
  (`written`, `failed`).
- A record is applied by the same code that decided on it, without a time budget, and
  its digest compared. If it differs, the match is derived again from what is stored
  and its log; if it still differs, it is set apart, and the owner's copy is wanted.
- Records are never skipped, nor guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from operator import attrgetter

from ...engine.record import Record
from ...engine.step import Batch
from ..control_plane import SHARDS_MAX
from ..errors import CodecError, JournalCorrupt
from ..fitness import Games
from ..journal import (
    Buried,
    Checkpointed,
    MatchLine,
    SavedHistory,
    SavedState,
    StoreOp,
    StoreReader,
)
from ..match_change import Change
from ..match_codec import FindMachine
from ..match_state import MatchState
from ..record_codec import unpack_record
from ..replica_runner import FeedPage, Judged, News
from ..replication.message import Entry, Piece, Raw
from ..replication.output import Alarm, Carry, Feed, Install, Split
from ..replication.parcel import is_parcel
from ..replication.pinning import BASE_EPOCH, BASE_SEQ
from ..replication.recovered import Recovered
from .arrivals import Arrivals
from .checkpoint import save
from .coming_history import ComingHistory
from .feed import Feeder
from .hot_match import HotMatch, blank_line, line_of, line_of_creation, placed_by
from .options import HostingOptions
from .parcels import Parcels, pack_all
from .past import MARK_EVERY, pack_mark
from .restore import CannotRestore, play
from .retention import Retention
from .roster import Roster
from .statistics import HostingStatistics
from .verdicts import Verdicts

__all__ = ["ReplicaStates"]


class ReplicaStates:
    """See the module. All times are in milliseconds of the wall clock."""

    def __init__(
        self,
        find_machine: FindMachine,
        store: StoreReader,
        options: HostingOptions | None = None,
        *,
        keep_unreported: bool = False,
    ) -> None:
        """`keep_unreported`: no retention rule drops a match whose result has not
        reached its sinks."""
        self._options = options or HostingOptions()
        self._store = store = ComingHistory(store)
        self._find_machine = find_machine
        self._roster = Roster(find_machine, store, self._options)
        self._arrivals = Arrivals(self._roster)
        self._verdicts = Verdicts(self._roster, store)
        self._parcels = Parcels(self._roster)
        self._feeder = Feeder(
            self._roster, store, self._options.transfer_bytes, self._roster.alarm
        )
        self._retention = Retention(
            store, self._options.ended_retention_s, keep_unreported=keep_unreported
        )
        self._shards: set[int] = set()  # whose manifests are walked
        self._homes: dict[int, int] = {}  # where a pinned match came from
        self._burials: dict[str, Buried] = {}
        self._unburied: list[Buried] = []
        # What was given out to be written, by identity, and whose it is.
        self._given: dict[int, tuple[StoreOp, HotMatch]] = {}

    # What is committed.

    def recover(self, recovered: Recovered) -> tuple[int, ...]:
        """Know the matches that are stored, and apply the log up to its commit.

        States are not loaded, but those that the log goes on with. Returns the shards
        whose manifest cannot be read: that is a loss, after which the node's data need
        a new identity.
        """
        unreadable: list[int] = []
        for shard, found in sorted(recovered.shards.items()):
            self._shards.add(shard)
            checkpoints = self._roster.checkpoints
            checkpoints.start_at(shard, found.base_seq, found.base_epoch)
            try:
                for line in self._store.manifest(shard):
                    # One that is over, but about to leave its home, is waited for.
                    over = line.ended and shard < SHARDS_MAX and not line.pinned
                    held = self._roster.matches.get(line.match)
                    # Folded back, it has gone on at home; that was in the home's log.
                    passed = held is not None and held.index > line.index
                    if not (over or line.buried or passed):
                        self._roster.found(line)
            except JournalCorrupt as error:
                self._roster.wipe(shard)
                self._roster.alarm(shard, "manifest_corrupt", str(error))
                unreadable.append(shard)
                continue
            for entry in found.entries:
                if entry.seq <= found.commit:
                    self.apply(shard, entry)
        return tuple(unreadable)

    def apply(self, shard: int, entry: Entry) -> None:
        """An entry is committed, and was decided elsewhere: do it again here."""
        if is_parcel(entry.record):
            self._parcels.take(shard, entry)
            return
        match = self._expecting(shard, entry)
        if match is None:
            return
        packed = bytes(entry.record)
        if match.index >= 0:
            self._roster.wake(match)
        if not match.stuck:
            try:
                match.state = play(self._find_machine, match.state, packed)
            except CannotRestore as error:
                self._play_again(match, packed, error)
        self._advance(match, entry, packed)
        self._roster.counts["applied"] += 1

    def took(self, shard: int, entry: Entry, change: Change) -> None:
        """An entry is committed, and this node decided on it: `change`."""
        match = self._expecting(shard, entry)
        if match is None:
            return
        if match.stuck:
            self._roster.unstick(match)
        match.state = change.state
        self._advance(match, entry, bytes(entry.record))

    def quarantine(self, match: str, code: str) -> None:
        """A verdict on the match: from now on it answers with `code`."""
        held = self._held(match)
        if held is not None:
            self._verdicts.set_apart(held, code)

    def bring_back(self, match: str) -> str:
        """Its verdict is lifted: "" if it goes on; else the code that it still has."""
        held = self._held(match)
        return "" if held is None else self._verdicts.lift(held)

    # Asking.

    def get(self, match: str) -> MatchState | MatchLine | None:
        """The match's state, woken if need be; its line, if it is set apart or buried;
        None: there is none."""
        held = self._held(match)
        if held is None:
            return self.line(match)
        if held.code and not held.stuck:
            return held.current_line()
        if not self._roster.wake(held):
            return held.current_line()
        self._roster.tiers.used(held, self._roster.now_ms)
        return held.state

    def line(self, match: str) -> MatchLine | None:
        """What is known of a match, without waking it."""
        held = self._roster.matches.get(match)
        if held is not None:
            return held.current_line()
        burial = self._burials.get(match)
        if burial is not None:
            return burial.line
        return self._roster.stored_line(-1, match)

    def lines(self, shard: int, *, ended: bool = False) -> Iterator[MatchLine]:
        """The lines of the shard's matches in memory: of all that go on, at least.

        With `ended` the stored ones are told too, behind them.
        """
        members = dict(self._roster.members(shard))
        for match in members.values():
            yield match.current_line()
        if not ended:
            return
        try:
            for line in self._store.manifest(shard):
                if line.match not in members:
                    yield line
        except JournalCorrupt as error:
            self._roster.alarm(shard, "manifest_corrupt", str(error))

    def lines_behind(
        self, shard: int, after: str, *, ended: bool
    ) -> Iterator[MatchLine]:
        """The lines of `lines`, in the order of their ids, behind the match `after`."""
        members = dict(self._roster.members(shard))
        names = sorted(match for match in members if match > after)
        held = (members[match].current_line() for match in names)
        if not ended:
            yield from held
            return
        try:
            manifest = self._store.manifest(shard, after)
            stored = (line for line in manifest if line.match not in members)
            yield from merge(held, stored, key=attrgetter("match"))
        except JournalCorrupt as error:
            self._roster.alarm(shard, "manifest_corrupt", str(error))

    def peek(self, match: str) -> MatchState | None:
        """The match's state, if it is in memory: it is neither woken nor used."""
        held = self._roster.matches.get(match)
        return None if held is None else held.state

    def set_apart(self, count_max: int) -> list[MatchLine]:
        """The lines of matches that are set apart: of those in memory, so many."""
        matches = self._roster.matches.values()
        apart = (match.current_line() for match in matches if match.code)
        return list(islice(apart, count_max))

    def games(self) -> dict[int, Games]:
        """By shard: (name, version) of the games whose matches go on there."""
        roster = self._roster
        played = {
            shard: frozenset(match.plays for match in roster.members(shard).values())
            for shard in roster.shards()
        }
        return {shard: games - {("", "")} for shard, games in played.items()}

    def counts(self, shards: Iterable[int]) -> tuple[int, int]:
        """How many matches of these shards go on, and how many ended ones are here."""
        members = [m for shard in shards for m in self._roster.members(shard).values()]
        over = sum(m.line.ended if m.state is None else m.state.ended for m in members)
        return len(members) - over, over

    def records(self, match: str, first: int, bytes_max: int) -> tuple[Record, ...]:
        """The match's records from `first` on, without a gap.

        At least one, if there is one; then as many as `bytes_max` holds, packed.

        Raises:
            JournalCorrupt: A stored one cannot be read.
        """
        packed = self._roster.packed_records(match, first, bytes_max)
        try:
            return tuple([unpack_record(one) for one in packed])
        except CodecError as error:
            raise JournalCorrupt(f"match {match}: {error}") from error

    def batches(self, match: str, since: int, records_max: int) -> tuple[Batch, ...]:
        """What was done after the revision `since`, played back; nothing, if that takes
        more than so many records, or cannot be done here."""
        held = self._held(match)
        if held is None or held.code:
            return ()
        try:
            return self._roster.restorer.batches(held, since, records_max)
        except CannotRestore:
            return ()  # whoever needs the state itself will say so

    def marks(
        self, match: str, first: int, last: int, bytes_max: int
    ) -> tuple[tuple[int, bytes], ...]:
        """(index, packed state) that were kept from `first` to `last`: see `past.py`.

        Raises:
            JournalCorrupt: A stored one cannot be read.
        """
        found = list(self._store.marks(match, first, last, bytes_max))
        held = self._roster.matches.get(match)
        size = sum(len(body) for _, body in found)
        for index, snapshot in () if held is None else held.marks:
            if first <= index <= last and size < bytes_max:
                found.append((index, pack_mark(snapshot)))
                size += len(found[-1][1])
        return tuple(found)

    # To and from other replicas.

    def feed(self, feed: Feed, limit: int) -> FeedPage:
        """The page behind a learner's cursor, of at most `limit` bytes."""
        return self._feeder.page(feed.shard, feed.cursor, limit, feed.only)

    def state_pieces(self, match: str) -> tuple[Piece, ...]:
        """This node's copy of one match, for a follower whose own differs."""
        line = self.line(match)
        if line is None or line.shard < 0:
            return ()
        return self._feeder.copy(line.shard, match, self._options.copy_history_bytes)

    def install(self, install: Install) -> tuple[StoreOp, ...]:
        """A page of states from the owner; what is to be persisted of it."""
        if install.page == 0:
            self.wipe(install.shard)
        self._shards.add(install.shard)
        ops: list[StoreOp] = []
        for op, match in self._arrivals.install(install):
            ops.append(op)
            if match is not None:
                self._given[id(op)] = (op, match)
            elif isinstance(op, SavedHistory):
                self._store.came(op, install.shard)
        return tuple(ops)

    def judge(self, install: Install) -> Judged:
        """Which matches of a page are not here as its lines say."""
        return self._arrivals.judge(install)

    def copied(self, shard: int, piece: Piece) -> tuple[StoreOp, ...]:
        """A piece of the owner's copy of a match that was wanted.

        Nothing is to be persisted at once: it is saved with the next checkpoint.
        """
        self._arrivals.copied(shard, piece)
        return ()

    def split(self, split: Split) -> tuple[StoreOp, ...]:
        """A match changes its shard: what is to be persisted of it, all of it.

        `back`: what this gave out the last time was lost, and counts for nothing.
        """
        match = self._held(split.match)
        assert match is not None, split
        roster = self._roster
        if split.back:
            roster.bring(match, self._homes.pop(split.shard))
            roster.checkpoints.wipe(split.shard)
            self._shards.discard(split.shard)
            roster.checkpoints.touch(match, roster.now_ms)
            return ()
        self._homes[split.shard] = match.shard
        roster.bring(match, split.shard)
        self._shards.add(split.shard)
        roster.checkpoints.start_at(split.shard, BASE_SEQ, BASE_EPOCH)
        if match.body is None and (match.stuck or not roster.wake(match)):
            # It goes as it is stored, with all of its records: it cannot be played.
            try:
                match.body = self._store.state(match.match) or b""
            except JournalCorrupt as error:
                roster.alarm(split.shard, "state_corrupt", str(error))
                match.body = b""
        ops = tuple(save(match))
        for op in ops:
            self._given[id(op)] = (op, match)
        return ops

    def carry(self, carry: Carry) -> Sequence[Raw]:
        """All of a pinned match, in pieces for the log of its home; none: it cannot be
        read."""
        return pack_all(self._feeder, carry.shard, carry.match, carry.revision)

    def come(self, shard: int, match: str) -> bool:
        """What came of the match by the log of its home is the match; whether it is
        news: the match may have gone on, at home or where it is pinned by now."""
        return self._parcels.open(shard, match) is not None

    def take_leaving(self) -> list[News]:
        """News of the matches that leave their shards, since the last time."""
        news, self._roster.news = self._roster.news, []
        return news

    def wipe(self, shard: int) -> None:
        """The shard's matches are here no longer."""
        self._arrivals.wipe(shard)
        self._parcels.wipe(shard)
        self._homes.pop(shard, None)
        self._roster.wipe(shard)
        self._shards.discard(shard)
        self._store.wipe(shard)

    def take_alarms(self) -> list[Alarm]:
        """What an operator must know, since the last time."""
        alarms, self._roster.alarms = self._roster.alarms, []
        return alarms

    def take_wanted(self) -> list[tuple[int, str]]:
        """(shard, match) whose owner's copy is wanted, since the last time."""
        wanted, self._roster.wanted = self._roster.wanted, []
        return wanted

    # Writing.

    def checkpoint(
        self, now_ms: int, bytes_max: int, *, everything: bool = False
    ) -> tuple[StoreOp, ...]:
        """What is due to be written, about `bytes_max` of it. Tell its outcome.

        With `everything`, all that has changed is due: call it until nothing comes, and
        a start finds all in the states.
        """
        self._roster.at(now_ms)
        ops: list[StoreOp] = list(self._unburied)
        self._unburied = []
        ops += self._store.give_out()
        due = self._roster.checkpoints.collect(now_ms, bytes_max, everything=everything)
        for op in due:
            ops.append(op)
            if isinstance(op, SavedHistory):
                self._given[id(op)] = (op, self._roster.matches[op.match])
            elif isinstance(op, SavedState):
                self._given[id(op)] = (op, self._roster.matches[op.line.match])
        return tuple(ops)

    def written(self, ops: Iterable[object]) -> None:
        """These are durable. Others than those that came from here are passed by."""
        for op in ops:
            if isinstance(op, Buried):
                self._burials.pop(op.line.match, None)
                self._roster.counts["buried"] += 1
                continue
            self._store.written(op)
            _, match = self._given.pop(id(op), (None, None))
            if match is None:
                continue
            if isinstance(op, SavedHistory):
                behind = op.first + len(op.records) - match.first
                del match.tail[: max(0, behind)]
            elif isinstance(op, SavedState):
                match.in_flight -= 1
                match.line = op.line
                if not match.in_flight:
                    match.body = None
            played = match.index == match.line.index
            if match.state is None and match.line.ended and match.saved and played:
                self._roster.drop(match)  # it came to be stored

    def failed(self, ops: Iterable[object]) -> None:
        """These are not durable: they are given out again."""
        roster = self._roster
        for op in ops:
            if isinstance(op, Buried):
                self._burials.pop(op.line.match, None)
            elif isinstance(op, Checkpointed):
                roster.checkpoints.failed(op.shard, roster.now_ms)
            self._store.failed(op)
            _, match = self._given.pop(id(op), (None, None))
            if match is None:
                continue
            if isinstance(op, SavedHistory):
                match.emitted = min(match.emitted, op.first - 1)
            else:
                match.in_flight -= 1
            if roster.matches.get(match.match) is match:
                roster.checkpoints.failed(match.shard, roster.now_ms)
                roster.checkpoints.touch(match, roster.now_ms)

    def sweep(self, now_ms: int) -> None:
        """Put away what is idle or over; try again what failed. About each second."""
        roster = self._roster
        for match in roster.tick(now_ms):
            roster.wake(match)
        for match in list(roster.tiers.over(now_ms)):
            roster.drop(match)
            roster.counts["put_away"] += 1
        for match in list(roster.tiers.idle(now_ms)):
            match.line = match.current_line()
            match.state = None
            roster.tiers.forget(match)
            roster.counts["passivated"] += 1
        try:
            homes = (shard for shard in self._shards if shard < SHARDS_MAX)
            for burial in self._retention.walk(homes, now_ms):
                known = burial.line.match
                if known not in roster.matches and known not in self._burials:
                    self._burials[known] = burial
                    self._unburied.append(burial)
        except JournalCorrupt as error:
            roster.alarm(-1, "manifest_corrupt", str(error))

    def statistics(self) -> HostingStatistics:
        """What is here, and what has been."""
        roster = self._roster
        matches = roster.matches.values()
        counts = roster.counts
        return HostingStatistics(
            matches=len(matches),
            hot=roster.tiers.hot,
            stuck=len(roster.apart),
            quarantined=sum(1 for match in matches if match.code),
            dirty=roster.checkpoints.dirty,
            tail_bytes=sum(len(packed) for m in matches for packed in m.tail),
            applied=counts["applied"],
            repaired=counts["repaired"],
            set_apart=counts["set_apart"],
            woken=counts["woken"],
            wake_failures=counts["wake_failures"],
            passivated=counts["passivated"],
            put_away=counts["put_away"],
            buried=counts["buried"],
            copies_taken=counts["copies_taken"],
            manifests_differed=counts["manifests_differed"],
            checkpoints=roster.checkpoints.done,
            alarms=counts["alarms"],
        )

    def _held(self, match: str) -> HotMatch | None:
        """The match in memory, brought there if it is stored and not buried."""
        held = self._roster.matches.get(match)
        if held is not None or match in self._burials:
            return held
        line = self._roster.stored_line(-1, match)
        if line is None or line.buried or line.shard < 0:
            return None
        return self._roster.found(line)

    def _expecting(self, shard: int, entry: Entry) -> HotMatch | None:
        """The match that the entry is next for; None if it is not to be applied."""
        self._shards.add(shard)
        roster = self._roster
        if self._parcels.next_is(shard, entry):
            self._parcels.open(shard, entry.match)
        match = roster.matches.get(entry.match)
        if match is None:
            line = roster.stored_line(shard, entry.match)
            if line is None:
                match = HotMatch(blank_line(entry.match, shard, ""))
                match.looked = entry.index == 0
                roster.hold(match)
            elif entry.index <= line.index:
                roster.checkpoints.passed(shard, entry.seq, entry.epoch)
                return None
            else:
                match = roster.found(line)
        roster.look(match)
        if entry.index <= match.index:
            roster.checkpoints.passed(shard, entry.seq, entry.epoch)
            return None
        if entry.index > match.index + 1:
            why = f"record {entry.index} came behind record {match.index}"
            # Of one that was pinned, and forgotten with its shard, the log tells first
            # how it was before; all of it comes behind that.
            roster.set_apart(match, "log_gap", why, wait=match.index < 0)
            return None
        if match.shard != shard:
            roster.bring(match, shard)  # it goes on there: so it has come there
        return match

    def _play_again(self, match: HotMatch, packed: bytes, error: CannotRestore) -> None:
        """A record did not lead to what it says: is it this node's memory?"""
        roster = self._roster
        if match.index >= 0 and error.code in ("divergent", "recovery_failed"):
            try:
                before = roster.restorer.restore(match, match.index)
                match.state = play(self._find_machine, before, packed)
            except Exception as again:  # author code; a store that fails
                error.add_note(f"derived again: {again}")
            else:
                roster.counts["repaired"] += 1
                text = f"match {match.match}: {error}; not when it was derived again"
                roster.alarm(match.shard, "state_repaired", text)
                return
        if match.index < 0:
            match.line = line_of_creation(match.match, match.shard, packed)
        match.needs = error.needs
        roster.set_apart(match, error.code, f"record {match.index + 1}: {error}")

    def _advance(self, match: HotMatch, entry: Entry, packed: bytes) -> None:
        """The entry's record is the match's last one now."""
        roster = self._roster
        match.index = entry.index
        match.tail.append(packed)
        roster.checkpoints.advanced(
            match, entry.seq, entry.epoch, len(packed), roster.now_ms
        )
        state = match.state
        if state is None or match.stuck:
            match.pinned, match.pins = placed_by(packed) or (match.pinned, match.pins)
            roster.keep_stored(match)
        roster.note_place(match)
        if state is not None and not match.stuck:
            if entry.index == 0:
                match.line = line_of(state, match.shard, match.code)
            elif entry.index % MARK_EVERY == 0:
                match.marks.append((entry.index, state.snapshot))
            roster.tiers.used(match, roster.now_ms)
