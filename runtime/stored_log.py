"""A shard's log as it lies on a disk: what the operations of a journal leave of it.

Rules:
- Entries are without a gap, and begin behind the base.
- Operations that the base has overtaken already may be applied once more (a journal is
  cut from time to time, and what was cut is kept as a summary): they change nothing.
- A log whose install was not completed is not found: only what was promised is.
"""

from __future__ import annotations

from .errors import JournalCorrupt
from .journal import Checkpointed
from .replication.message import Entry
from .replication.output import Appended, Commit, Promised, Truncated, Wiped
from .replication.recovered import RecoveredShard

__all__ = ["LogOp", "LogOutline", "StoredLog"]

LogOp = Appended | Truncated | Promised | Commit | Wiped | Checkpointed


class LogOutline:
    """All that is known of one shard's log but its entries."""

    __slots__ = (
        "base_epoch",
        "base_seq",
        "commit",
        "installing",
        "promised",
        "shard",
    )

    def __init__(
        self,
        shard: int,
        promised: int = 0,
        base_seq: int = 0,
        base_epoch: int = 0,
        commit: int = 0,
        *,
        installing: bool = False,
    ) -> None:
        self.shard = shard
        self.promised = promised
        self.base_seq = base_seq
        self.base_epoch = base_epoch
        self.commit = commit
        """A hint: may be beyond the last entry, or behind the base."""
        self.installing = installing
        """An install has begun, and is not complete."""

    def outline(self) -> LogOutline:
        """A copy of this much."""
        return LogOutline(
            self.shard,
            self.promised,
            self.base_seq,
            self.base_epoch,
            self.commit,
            installing=self.installing,
        )

    def apply(self, op: LogOp) -> None:
        """Do what an operation says."""
        match op:
            case Promised(_, epoch):
                self.promised = max(self.promised, epoch)
            case Commit(_, seq):
                self.commit = max(self.commit, seq)
            case Checkpointed(_, seq, epoch):
                if seq > self.base_seq:
                    self.base_seq, self.base_epoch = seq, epoch
            case Wiped(_, base_seq, base_epoch, complete):
                self.base_seq, self.base_epoch = base_seq, base_epoch
                self.commit = base_seq
                self.installing = not complete


class StoredLog(LogOutline):
    """One shard's log, with its entries."""

    __slots__ = ("entries",)

    def __init__(
        self,
        shard: int,
        promised: int = 0,
        base_seq: int = 0,
        base_epoch: int = 0,
        commit: int = 0,
        *,
        installing: bool = False,
    ) -> None:
        super().__init__(
            shard, promised, base_seq, base_epoch, commit, installing=installing
        )
        self.entries: list[Entry] = []
        # Invariant: entries[n].seq == base_seq + 1 + n

    @property
    def last_seq(self) -> int:
        """Of the last entry, or of the base."""
        return self.base_seq + len(self.entries)

    def copy(self) -> StoredLog:
        """A log of the same entries, which goes its own way."""
        log = StoredLog(
            self.shard,
            self.promised,
            self.base_seq,
            self.base_epoch,
            self.commit,
            installing=self.installing,
        )
        log.entries = list(self.entries)
        return log

    def apply(self, op: LogOp) -> None:
        """Do what an operation says.

        Raises:
            JournalCorrupt: Entries do not join on: something before them is missing.
        """
        match op:
            case Appended(_, entries):
                self._append(entries)
            case Truncated(_, seq):
                del self.entries[max(0, seq - self.base_seq - 1) :]
                self.commit = min(self.commit, self.last_seq)
            case Checkpointed(_, seq, _):
                self._forget_upto(seq)
                super().apply(op)
            case Wiped():
                self.entries.clear()
                super().apply(op)
            case _:
                super().apply(op)

    def recovered(self) -> RecoveredShard:
        """What a replica finds of it at a start."""
        if self.installing:
            return RecoveredShard(self.shard, self.promised)
        return RecoveredShard(
            self.shard,
            self.promised,
            self.base_seq,
            self.base_epoch,
            tuple(self.entries),
            max(self.base_seq, min(self.commit, self.last_seq)),
        )

    def _append(self, entries: tuple[Entry, ...]) -> None:
        for entry in entries:
            if entry.seq <= self.base_seq:
                continue
            if entry.seq != self.last_seq + 1:
                raise JournalCorrupt(
                    f"shard {self.shard}: entry {entry.seq} stands behind entry"
                    f" {self.last_seq}: what lies between is not in the journal"
                )
            self.entries.append(entry)

    def _forget_upto(self, seq: int) -> None:
        if seq > self.last_seq:
            raise JournalCorrupt(
                f"shard {self.shard}: states up to entry {seq}, but the log ends with"
                f" entry {self.last_seq}"
            )
        del self.entries[: max(0, seq - self.base_seq)]
