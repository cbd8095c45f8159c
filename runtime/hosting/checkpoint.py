"""What is to be written of the matches of this node, and when.

A checkpoint of a shard saves all matches that had changed when it began; then the
shard's log up to where it stood at that time need not be found at a start any more.
Matches go on meanwhile, so a state can be newer than the checkpoint says.

Work is done in slices of bytes. What was given out to be written is dropped from
memory when it is durable (`written`), and given out again if it is not (`failed`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..journal import (
    Buried,
    Checkpointed,
    MatchLine,
    SavedHistory,
    SavedMark,
    SavedState,
    StoreOp,
)
from ..match_codec import pack_state
from .hot_match import HotMatch
from .options import HostingOptions
from .past import pack_mark

__all__ = ["Checkpoints", "save"]

# Matches that are packed at once, at 10 to 50 us each: no action waits longer for it.
_MATCHES_MAX = 64

# Bytes of records that are written in one operation.
_PART_BYTES = 1024 * 1024

# Bytes that a saved match counts for beside its state and records.
_LINE_BYTES = 256


class _ShardLog:
    """How far a shard's log is in the states, and how far the store has that."""

    __slots__ = (
        "bytes",
        "dirty",
        "entries",
        "epoch",
        "held_back",
        "pending",
        "seq",
        "since_ms",
        "target",
    )

    def __init__(self) -> None:
        self.seq = 0
        self.epoch = 0
        self.entries = 0
        self.bytes = 0
        self.since_ms = 0
        self.dirty: dict[str, HotMatch] = {}
        self.target: tuple[int, int] | None = None
        self.pending: list[HotMatch] = []
        self.held_back: tuple[int, int] | None = None
        """What follows this place must be found again, whatever is saved."""

    def begin(self) -> None:
        """A checkpoint of what is here now."""
        self.target = self.held_back or (self.seq, self.epoch)
        self.pending = list(self.dirty.values())
        self.entries = self.bytes = 0


class Checkpoints:
    """Of all shards of a node."""

    def __init__(self, options: HostingOptions) -> None:
        self._options = options
        self._logs: dict[int, _ShardLog] = {}
        self.done = 0

    @property
    def dirty(self) -> int:
        """Matches that have changed since they were given out to be written."""
        return sum(len(log.dirty) for log in self._logs.values())

    def start_at(self, shard: int, seq: int, epoch: int) -> None:
        """The store has all up to there."""
        log = self._logs[shard] = _ShardLog()
        log.seq, log.epoch = seq, epoch

    def wipe(self, shard: int) -> None:
        """There is nothing of the shard any more."""
        self._logs.pop(shard, None)

    def advanced(
        self, match: HotMatch, seq: int, epoch: int, size: int, now_ms: int
    ) -> None:
        """The shard's log is in the states up to there; the entry changed `match`."""
        log = self._log(match.shard)
        if seq > log.seq:
            log.seq, log.epoch = seq, epoch
        if not log.entries:
            log.since_ms = now_ms
        log.entries += 1
        log.bytes += size
        if not match.dirty:
            match.dirty = True
            log.dirty[match.match] = match

    def passed(self, shard: int, seq: int, epoch: int) -> None:
        """An entry that changed nothing: its match had it already."""
        log = self._log(shard)
        if seq > log.seq:
            log.seq, log.epoch = seq, epoch

    def place(self, shard: int) -> tuple[int, int]:
        """How far the shard's log is in the states."""
        log = self._log(shard)
        return (log.seq, log.epoch)

    def hold_back(self, shard: int, place: tuple[int, int] | None) -> None:
        """Checkpoints of the shard go no further than there, until told otherwise."""
        log = self._log(shard)
        log.held_back = place
        if place is not None and log.target is not None:
            log.target = min(log.target, place)

    def touch(self, match: HotMatch, now_ms: int) -> None:
        """Something of it must be written, though no entry says so."""
        log = self._log(match.shard)
        if not match.dirty:
            match.dirty = True
            log.dirty[match.match] = match
        if not log.entries:
            log.since_ms, log.entries = now_ms, 1

    def forget(self, match: HotMatch) -> None:
        """It is not here any more."""
        if (log := self._logs.get(match.shard)) is not None:
            log.dirty.pop(match.match, None)

    def collect(
        self, now_ms: int, bytes_max: int, *, everything: bool = False
    ) -> Iterator[StoreOp]:
        """A slice of what is due: some matches, at least one if any is. `everything`:
        what has changed is due."""
        size = matches = 0
        for shard, log in list(self._logs.items()):
            if log.target is None:
                if not (log.entries if everything else self._is_due(log, now_ms)):
                    continue
                log.begin()
            while log.pending and size < bytes_max and matches < _MATCHES_MAX:
                match = log.pending.pop()
                if log.dirty.get(match.match) is not match:
                    continue  # it is gone
                del log.dirty[match.match]
                matches += 1
                for op in save(match):
                    size += _size(op)
                    yield op
            if log.pending:
                return
            assert log.target is not None
            yield Checkpointed(shard, *log.target)
            log.target = None
            self.done += 1
            if size >= bytes_max or matches >= _MATCHES_MAX:
                return

    def failed(self, shard: int, now_ms: int) -> None:
        """Something of the shard is not durable: begin its checkpoint anew in time."""
        log = self._logs.get(shard)
        if log is None:
            return
        log.target, log.pending = None, []
        if not log.entries:
            log.since_ms, log.entries = now_ms, 1

    def _log(self, shard: int) -> _ShardLog:
        log = self._logs.get(shard)
        if log is None:
            log = self._logs[shard] = _ShardLog()
        return log

    def _is_due(self, log: _ShardLog, now_ms: int) -> bool:
        options = self._options
        if not log.entries:
            return False
        if now_ms < log.since_ms:  # the clock was set back
            log.since_ms = now_ms
        return (
            log.entries >= options.checkpoint_entries
            or log.bytes >= options.checkpoint_bytes
            or now_ms - log.since_ms >= options.checkpoint_age_s * 1_000
        )


def save(match: HotMatch) -> Iterable[StoreOp]:
    """All that the store lacks of a match, given out to be written."""
    match.dirty = False
    match.in_flight += 1
    first = max(match.emitted + 1, match.first)
    if first <= match.index:
        records = match.tail[first - match.first :]
        match.emitted = match.index
        yield from _history(match.match, first, records)
    for index, snapshot in match.marks:
        yield SavedMark(match.match, index, pack_mark(snapshot))
    match.marks.clear()
    line: MatchLine = match.current_line()
    if match.state is not None:
        yield SavedState(line, pack_state(match.state))
    elif match.body is not None:
        yield SavedState(line, match.body)
    elif match.stuck and line.index >= 0:
        # What is stored cannot be read here: it stays, for who can.
        match.in_flight -= 1
    else:
        yield SavedState(line, b"")


def _history(match: str, first: int, records: Sequence[bytes]) -> Iterator[StoreOp]:
    """In parts: of a match that has just come there may be much."""
    part: list[bytes] = []
    size = 0
    for packed in records:
        if part and size + len(packed) > _PART_BYTES:
            yield SavedHistory(match, first, tuple(part))
            first, part, size = first + len(part), [], 0
        part.append(packed)
        size += len(packed)
    yield SavedHistory(match, first, tuple(part))


def _size(op: StoreOp) -> int:
    if isinstance(op, SavedHistory):
        return sum(map(len, op.records))
    if isinstance(op, SavedState):
        return len(op.body) + _LINE_BYTES
    if isinstance(op, SavedMark):
        return len(op.body)
    return _LINE_BYTES if isinstance(op, Buried) else 0
