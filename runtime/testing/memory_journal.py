"""A journal in memory on a disk that has a disk's faults.

`MemoryDisk` is synchronous: the simulator begins groups, makes them durable when its
time has come, and lets the disk fail, lie and lose. `MemoryJournal` puts the interface
of `Journal` around one. Nothing here draws a random number or reads a clock by itself:
a crash gets its generator as an argument.

Faults:
- `crash`: groups that were not synced are lost, or some of the first survive. A group
  is there as a whole or not at all, as with a checksum over it.
- `failing`: writes fail with that code ("disk_full", "disk_refused") from now on.
- `lying`: a sync says yes and does nothing; a crash loses what was written since.
- `image`, `restore`: the whole disk as it was at another time.
- `damage`: something in the middle is unreadable; the next `recover` finds nothing.
- `spoil`: the state of one match is unreadable.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from random import Random

import anyio
import anyio.lowlevel

from ..errors import JournalCorrupt, JournalFailed
from ..journal import (
    Buried,
    Forgotten,
    JournalStatistics,
    MatchLine,
    SavedHistory,
    SavedMark,
    SavedState,
    StoreOp,
)
from ..replication.output import IdentityKept, Wiped
from ..replication.recovered import Recovered
from ..stored_log import StoredLog

__all__ = ["DiskImage", "MemoryDisk", "MemoryJournal"]


class DiskImage:
    """What lies on a disk: logs, states and history."""

    def __init__(self) -> None:
        self.identity = IdentityKept("", 0, "")
        self.logs: dict[int, StoredLog] = {}
        self.lines: dict[str, MatchLine] = {}
        self.states: dict[str, bytes] = {}
        self.history: dict[str, dict[int, bytes]] = {}
        self.marks: dict[str, dict[int, bytes]] = {}

    def copy(self) -> DiskImage:
        """The same, going its own way."""
        other = DiskImage()
        other.identity = self.identity
        other.logs = {shard: log.copy() for shard, log in self.logs.items()}
        other.lines = dict(self.lines)
        other.states = dict(self.states)
        other.history = {m: dict(records) for m, records in self.history.items()}
        other.marks = {m: dict(marks) for m, marks in self.marks.items()}
        return other

    def apply(self, ops: Sequence[StoreOp]) -> None:
        """Do what a group says.

        Raises:
            JournalCorrupt: Entries do not join on.
        """
        for op in ops:
            match op:
                case SavedState(line, body):
                    self.lines[line.match] = line
                    self.states[line.match] = body
                case SavedHistory(name, first, records):
                    kept = self.history.setdefault(name, {})
                    for index, record in enumerate(records, first):
                        kept.setdefault(index, record)
                case SavedMark(name, index, body):
                    self.marks.setdefault(name, {})[index] = body
                case Buried(line):
                    self.forget(line.match)
                    self.lines[line.match] = line
                case Forgotten(name):
                    self.forget(name)
                case IdentityKept():
                    self.identity = op
                case _:
                    if isinstance(op, Wiped) and not op.complete:
                        self.forget_shard(op.shard)
                    if op.shard not in self.logs:
                        self.logs[op.shard] = StoredLog(op.shard)
                    self.logs[op.shard].apply(op)

    def forget(self, match: str) -> None:
        """Drop all of a match."""
        self.lines.pop(match, None)
        self.states.pop(match, None)
        self.history.pop(match, None)
        self.marks.pop(match, None)

    def forget_shard(self, shard: int) -> None:
        """Drop all matches of a shard."""
        for line in [line for line in self.lines.values() if line.shard == shard]:
            self.forget(line.match)

    def recover(self) -> Recovered:
        """What a node finds; installs that were not completed are dropped."""
        for shard, log in self.logs.items():
            if log.installing:
                self.forget_shard(shard)
                self.logs[shard] = StoredLog(shard, log.promised)
        known = self.identity
        shards = {shard: self.logs[shard].recovered() for shard in sorted(self.logs)}
        return Recovered(known.ident, known.boot, known.nonce, shards)


class MemoryDisk:
    """A disk under a journal. Implements `StoreReader`; reads see what is synced."""

    def __init__(self) -> None:
        self.failing = ""
        """The code with which writes fail; "" while they do not."""
        self._image = DiskImage()
        self._true: DiskImage | None = None
        self._lied: list[tuple[StoreOp, ...]] = []
        self._begun: deque[tuple[int, tuple[StoreOp, ...]]] = deque()
        self._broken = ""
        self._damaged = False
        self._spoilt: set[str] = set()
        self.groups_synced = 0
        self.groups_lost = 0

    @property
    def identity(self) -> IdentityKept:
        """Whose data it holds, as far as that is synced."""
        return self._image.identity

    @property
    def waiting(self) -> int:
        """Groups that were begun and are not durable."""
        return len(self._begun)

    def begin(self, ticket: int, ops: Sequence[StoreOp]) -> None:
        """Start to write a group. Tickets grow."""
        assert not self._begun or ticket > self._begun[-1][0], "tickets grow"
        self._begun.append((ticket, tuple(ops)))

    def sync_upto(self, ticket: int) -> None:
        """Make the groups up to `ticket` durable.

        Raises:
            JournalFailed: All groups that were begun are dropped, and later ones fail
                too, until `reopen`.
        """
        self._broken = self._broken or self.failing
        if self._broken:
            self._begun.clear()
            raise _failed(self._broken)
        while self._begun and self._begun[0][0] <= ticket:
            _, ops = self._begun.popleft()
            self._image.apply(ops)
            self.groups_synced += 1
            if self._true is not None:
                self._lied.append(ops)

    def reopen(self) -> None:
        """Try again after a failure.

        Raises:
            JournalFailed: Writes still fail.
        """
        self._broken = self.failing
        if self._broken:
            raise _failed(self._broken)

    @property
    def lying(self) -> bool:
        """While true, what is synced is lost in a crash. Set it; False makes all that
        was written durable."""
        return self._true is not None

    @lying.setter
    def lying(self, lying: bool) -> None:
        if lying and self._true is None:
            self._true = self._image.copy()
        elif not lying:
            self._true = None
            self._lied.clear()

    def crash(self, rng: Random | None = None, *, lose_unsynced: bool = True) -> None:
        """The process is gone; with `lose_unsynced` the power failed.

        Without it all groups that were begun survive, but for the last, which may be
        torn. With it none do, or a number of the first that `rng` draws.
        """
        begun = [ops for _, ops in self._begun]
        self._begun.clear()
        if not lose_unsynced:
            torn = bool(begun) and (rng is None or rng.random() < 0.5)
            self._keep(begun, len(begun) - torn)
        else:
            if self._true is not None:
                self._image, begun = self._true, [*self._lied, *begun]
            self._true = None
            self._lied = []
            self._keep(begun, rng.randint(0, len(begun)) if rng is not None else 0)
        self._broken = ""

    def recover(self) -> Recovered:
        """What a process that starts on it finds."""
        if self._damaged:
            self.erase()
        return self._image.recover()

    def image(self) -> DiskImage:
        """A copy of what is durable."""
        return self._image.copy()

    def restore(self, image: DiskImage) -> None:
        """Make the disk what it was; groups that were begun are lost."""
        self.erase()
        self._image = image.copy()

    def erase(self) -> None:
        """Lose everything."""
        self._image = DiskImage()
        self._true = None
        self._lied = []
        self._begun.clear()
        self._damaged = False
        self._spoilt.clear()

    def damage(self) -> None:
        """Make a part in the middle unreadable; it is found at the next `recover`."""
        self._damaged = True

    @property
    def stored(self) -> list[str]:
        """The matches of which a state is stored."""
        return sorted(self._image.states)

    def spoil(self, match: str) -> None:
        """Make the state of a match unreadable until it is saved again."""
        self._spoilt.add(match)
        self._image.states[match] = b"spoilt"

    def manifest(self, shard: int, after: str = "") -> Iterator[MatchLine]:
        """The lines of a shard's matches behind `after`, sorted by match."""
        names = sorted(
            line.match
            for line in self._image.lines.values()
            if line.shard == shard and line.match > after
        )
        for name in names:
            line = self._image.lines.get(name)
            if line is not None:
                yield line

    def line(self, match: str) -> MatchLine | None:
        """The line of one match, buried ones too."""
        return self._image.lines.get(match)

    def state(self, match: str) -> bytes | None:
        """The packed state.

        Raises:
            JournalCorrupt: It was spoilt.
        """
        body = self._image.states.get(match)
        if match in self._spoilt and body == b"spoilt":
            raise JournalCorrupt(f"the state of match {match} has a wrong checksum")
        return body

    def history(self, match: str, first: int, bytes_max: int) -> tuple[bytes, ...]:
        """Packed records from `first` on: one at least, then up to `bytes_max`."""
        kept = self._image.history.get(match, {})
        found: list[bytes] = []
        size = 0
        while (record := kept.get(first + len(found))) is not None:
            size += len(record)
            if found and size > bytes_max:
                break
            found.append(record)
        return tuple(found)

    def marks(
        self, match: str, first: int, last: int, bytes_max: int
    ) -> tuple[tuple[int, bytes], ...]:
        """What was kept of the match's past, as many as `bytes_max` holds."""
        found: list[tuple[int, bytes]] = []
        for index, body in sorted(self._image.marks.get(match, {}).items()):
            if first <= index <= last:
                bytes_max -= len(body)
                if bytes_max < 0:
                    break
                found.append((index, body))
        return tuple(found)

    def statistics(self) -> dict[str, int]:
        """Groups synced and lost, and what is stored."""
        image = self._image
        return {
            "groups_synced": self.groups_synced,
            "groups_lost": self.groups_lost,
            "entries": sum(len(log.entries) for log in image.logs.values()),
            "matches": len(image.lines),
        }

    def _keep(self, groups: list[tuple[StoreOp, ...]], count: int) -> None:
        for ops in groups[:count]:
            self._image.apply(ops)
            if self._true is not None:
                self._lied.append(ops)
        self.groups_lost += len(groups) - count


class MemoryJournal:
    """Implements `Journal` on a `MemoryDisk`."""

    def __init__(self, disk: MemoryDisk | None = None) -> None:
        self.disk = disk or MemoryDisk()
        self._tickets = 0
        self._operations = self._failures = 0
        self._recovered = Recovered()

    async def __aenter__(self) -> MemoryJournal:
        self._recovered = self.disk.recover()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        pass

    @property
    def recovered(self) -> Recovered:
        """What was found when it was opened."""
        return self._recovered

    async def write(self, ops: Sequence[StoreOp]) -> None:
        """Make a group durable.

        Raises:
            JournalFailed: The disk fails.
        """
        self._tickets += 1
        ticket = self._tickets
        self.disk.begin(ticket, ops)
        with anyio.CancelScope(shield=True):
            await anyio.lowlevel.checkpoint()
        try:
            self.disk.sync_upto(ticket)
        except JournalFailed:
            self._failures += 1
            raise
        self._operations += len(ops)

    async def reopen(self) -> None:
        """Try again after a failure.

        Raises:
            JournalFailed: It is still so.
        """
        await anyio.lowlevel.checkpoint()
        self.disk.reopen()

    def statistics(self) -> JournalStatistics:
        """It counts what an operator of it would ask for; a disk in memory has no
        file, so no bytes and no rows."""
        return JournalStatistics(
            groups=self._tickets - self._failures,
            operations=self._operations,
            bytes=0,
            failures=self._failures,
            rows=0,
            rows_cut=0,
            waiting=0,
            failing=bool(self.disk.failing),
        )

    def manifest(self, shard: int, after: str = "") -> Iterator[MatchLine]:
        """The lines of a shard's matches behind `after`, sorted by match."""
        return self.disk.manifest(shard, after)

    def line(self, match: str) -> MatchLine | None:
        """The line of one match, buried ones too."""
        return self.disk.line(match)

    def state(self, match: str) -> bytes | None:
        """The packed state.

        Raises:
            JournalCorrupt: It was spoilt.
        """
        return self.disk.state(match)

    def history(self, match: str, first: int, bytes_max: int) -> tuple[bytes, ...]:
        """Packed records from `first` on."""
        return self.disk.history(match, first, bytes_max)

    def marks(
        self, match: str, first: int, last: int, bytes_max: int
    ) -> tuple[tuple[int, bytes], ...]:
        return self.disk.marks(match, first, last, bytes_max)


def _failed(code: str) -> JournalFailed:
    return JournalFailed(code, f"the disk takes no writes ({code}): mend it, reopen")
