"""A shard's committed log as an owner makes it, and nodes that hold its matches."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from hotseat.engine.definition import Game
from hotseat.engine.machine import Machine, compile_game
from hotseat.runtime import command
from hotseat.runtime.command import Act, TakeSeat
from hotseat.runtime.hosting.options import HostingOptions
from hotseat.runtime.hosting.replica_states import ReplicaStates
from hotseat.runtime.journal import MatchLine, StoreOp
from hotseat.runtime.match import create_match, decide
from hotseat.runtime.match_change import Change
from hotseat.runtime.match_state import MatchState
from hotseat.runtime.record_codec import pack_record
from hotseat.runtime.replication.message import Entry
from hotseat.runtime.replication.output import Appended, Commit, Feed, Install, Wiped
from hotseat.runtime.testing.memory_journal import MemoryDisk

from ..sample_games import PLAYERS, race

SHARD = 3
EPOCH = 7
TOKENS = {"0": "token-of-the-first-player", "1": "token-of-the-second---"}


def find(*games: Game) -> Callable[[str, str], Machine | None]:
    """Where a node finds these games."""
    machines = {(g.name, g.version): compile_game(g) for g in games}
    return lambda name, version: machines.get((name, version))


class Log:
    """The owner's log of a shard, and the states that it leads to."""

    def __init__(
        self, game: Game | None = None, shard: int = SHARD, *others: Game
    ) -> None:
        """`others` are versions that an operator may upgrade to."""
        self.machine = compile_game(game or race())
        self.find = find(*others)
        self.shard = shard
        self.entries: list[Entry] = []
        self.changes: list[Change] = []
        self.states: dict[str, MatchState] = {}
        self.now_ms = 1_000

    def create(self, match: str) -> None:
        """A match with both seats taken: three records."""
        change = create_match(
            self.machine,
            match=match,
            epoch=EPOCH,
            creation=f"created {match}",
            match_input=PLAYERS,
            seed=f"seed of {match}",
            now_ms=self.now_ms,
        )
        self._note(change)
        for seat, token in TOKENS.items():
            self.decide(match, TakeSeat(seat, drawn="", offered=token))

    def act(self, match: str, payload: int = 1) -> None:
        """The seat whose turn it is adds."""
        state = self.states[match]
        seat = state.snapshot.derived.active_players[0]
        number = state.seats[seat].window.sessions[-1].highest + 1
        self.decide(match, Act(seat, 1, number, "add", payload))

    def decide(self, match: str, asked: command.Command) -> None:
        """Judge; it must change the match."""
        decision = decide(self.states[match], asked, self.now_ms, self.find)
        assert decision.change is not None, decision.answer
        self._note(decision.change)

    def _note(self, change: Change) -> None:
        self.states[change.state.match] = change.state
        self.changes.append(change)
        raw = msgspec.Raw(pack_record(change.record))
        self.entries.append(
            Entry(
                EPOCH,
                len(self.entries) + 1,
                change.state.match,
                change.record.index,
                raw,
            )
        )


class Node:
    """A node with a disk; it holds what is committed."""

    def __init__(
        self,
        *games: Game,
        options: HostingOptions | None = None,
        disk: MemoryDisk | None = None,
    ) -> None:
        self.disk = disk or MemoryDisk()
        self.games = games or (race(),)
        self.options = options or HostingOptions()
        self.now_ms = 1_000
        self.applied = 0
        self._ticket = 0
        self.start()

    def start(self) -> None:
        """A process begins on the disk."""
        found = find(*self.games)
        self.states = ReplicaStates(found, self.disk, self.options)
        self.states.sweep(self.now_ms)
        self.unreadable = self.states.recover(self.disk.recover())

    def restart(self, *games: Game) -> None:
        """The process dies, and begins again, with other games if some are given."""
        self.disk.crash(lose_unsynced=True)
        self.games = games or self.games
        self.start()

    def follow(self, log: Log, *, persist: bool = True) -> None:
        """Apply what is new in the log."""
        for entry in self._append(log, persist=persist):
            self.states.apply(log.shard, entry)

    def own(self, log: Log, *, persist: bool = True) -> None:
        """Take what is new in the log as its owner does."""
        changes = log.changes[self.applied :]
        new = self._append(log, persist=persist)
        for entry, change in zip(new, changes, strict=True):
            self.states.took(log.shard, entry, change)

    def _append(self, log: Log, *, persist: bool) -> list[Entry]:
        new = log.entries[self.applied :]
        self.applied = len(log.entries)
        if persist and new:
            newest = new[-1].seq
            self.write((Appended(log.shard, tuple(new)), Commit(log.shard, newest)))
        return new

    def write(self, ops: Iterable[StoreOp]) -> None:
        """Make a group durable, and say so."""
        group = tuple(ops)
        self._ticket += 1
        self.disk.begin(self._ticket, group)
        self.disk.sync_upto(self._ticket)
        self.states.written(group)

    def checkpoint(self, *, after_s: int = 60, bytes_max: int = 1 << 30) -> None:
        """Time passes until a checkpoint is due; it is made."""
        self.now_ms += after_s * 1_000
        while ops := self.states.checkpoint(self.now_ms, bytes_max):
            self.write(ops)

    def pass_time(self, seconds: int) -> None:
        """Time passes, with a sweep each minute and at its end."""
        for _ in range(seconds // 60):
            self.now_ms += 60_000
            self.states.sweep(self.now_ms)
        self.now_ms += seconds % 60 * 1_000
        self.states.sweep(self.now_ms)

    def feed(self, learner: Node, shard: int = SHARD, limit: int = 64 * 1024) -> int:
        """Send all matches of the shard to a learner; how many pages it took."""
        cursor: str | None = ""
        page = 0
        base = self.applied
        while cursor is not None:
            found = self.states.feed(Feed(shard, "learner", 1, cursor), limit)
            assert sum(len(piece.data) for piece in found.pieces) <= limit
            cursor = found.cursor
            install = Install(shard, found.pieces, page, cursor is None)
            learner.write(learner.install(install, base))
            page += 1
        return page

    def install(self, install: Install, base: int) -> tuple[StoreOp, ...]:
        """Take a page in; the group that is to be written."""
        ops: list[StoreOp] = []
        if install.page == 0:
            ops.append(Wiped(install.shard, base, EPOCH, complete=False))
        ops += self.states.install(install)
        if install.last:
            ops.append(Wiped(install.shard, base, EPOCH, complete=True))
            self.applied = base
        return tuple(ops)

    def state(self, match: str) -> MatchState:
        """The match's state, which must be there."""
        state = self.states.get(match)
        assert isinstance(state, MatchState), state
        return state

    def line(self, match: str) -> MatchLine:
        """The line that the match answers with, since it is set apart or buried."""
        line = self.states.get(match)
        assert isinstance(line, MatchLine), line
        return line

    def codes(self) -> list[str]:
        """Of the alarms since the last time."""
        return [alarm.code for alarm in self.states.take_alarms()]

    def digests(self, match: str) -> list[bytes]:
        """Of all of the match's records, read in small pages."""
        digests: list[bytes] = []
        while page := self.states.records(match, len(digests), 400):
            digests += [record.digest for record in page]
        return digests


def digests(log: Log, match: str) -> list[bytes]:
    """Of all of the match's records, as the owner made them."""
    return [c.record.digest for c in log.changes if c.state.match == match]


def same(mine: MatchState, theirs: MatchState) -> bool:
    """Equal in all that a state holds, though their machines may be two."""
    replaced = msgspec.structs.replace(mine, machine=theirs.machine)
    return replaced == theirs
