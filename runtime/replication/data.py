"""What this replica holds, and how much of it is durable.

Every change asks for its journal operation; what is durable follows from the numbers
of the groups (`persisted`). Nothing here knows a role: `follower.py` and `owner.py`
decide when something may be acknowledged.
"""

from __future__ import annotations

from collections import deque

from .effects import Effects
from .log import ShardLog
from .message import Entry
from .options import ReplicationOptions
from .output import (
    Appended,
    Commit,
    Committed,
    Promised,
    Trail,
    Truncated,
    Wiped,
)
from .recovered import RecoveredShard

__all__ = ["ReplicaData"]

PINNED_FACTOR = 4
"""While states travel to a learner, the log behind their cut is kept; up to this many
times of what is kept anyway."""


class ReplicaData:
    """The log, the commit, the promise."""

    __slots__ = (
        "_effects",
        "_failures_before",
        "_hinted",
        "_options",
        "_shard",
        "_waits",
        "commit",
        "durable_seq",
        "failed",
        "journaled_seq",
        "keep_from",
        "log",
        "persisted_ticket",
        "promised",
        "promised_durable",
        "promised_found",
        "wiped_ticket",
    )

    def __init__(
        self,
        shard: int,
        effects: Effects,
        options: ReplicationOptions,
        recovered: RecoveredShard | None,
    ) -> None:
        found = recovered or RecoveredShard(shard)
        self._shard = shard
        self._effects = effects
        self._options = options
        self.log = ShardLog(found.base_seq, found.base_epoch, found.entries)
        self.commit = found.commit
        """Invariant: base_seq <= commit <= last_seq; all up to it is committed."""
        self.promised = found.promised
        """Invariant: it only grows, and no older owner is acknowledged."""
        self.promised_durable = found.promised
        self.promised_found = found.promised > 0
        """It was read from the disk at the start."""
        self.durable_seq = self.log.last_seq
        """Invariant: the entries up to it are durable, as they are in the log."""
        self.journaled_seq = self.log.last_seq
        """Invariant: durable_seq <= journaled_seq <= last_seq; asked to be durable."""
        self.keep_from: int | None = None
        """A learner is being sent states that were cut here: keep what follows."""
        self.failed = False
        """The disk refuses: nothing is asked of it until `restore`."""
        self._waits: deque[list[int]] = deque()  # [ticket, seq, promised]
        self._failures_before = 0  # failures of older groups are old news
        self._hinted = self.commit
        self.wiped_ticket = 0
        """The group of the last wipe."""
        self.persisted_ticket = 0
        """All groups up to it are durable."""

    @property
    def last_seq(self) -> int:
        return self.log.last_seq

    # Changes.

    def extend(self, entries: list[Entry] | tuple[Entry, ...]) -> None:
        """Append in memory; `flush` starts to persist it."""
        self.log.extend(entries)

    def flush(self) -> None:
        """Ask for what was appended since: one operation per step."""
        last = self.log.last_seq
        if last == self.journaled_seq or self.failed:
            return
        entries = self.log.between(self.journaled_seq + 1, last)
        self._effects.journal.append(Appended(self._shard, entries))
        if self.commit > self._hinted:
            # Only a hint for recovery: it rides along, and never causes a write.
            self._effects.journal.append(Commit(self._shard, self.commit))
            self._hinted = self.commit
        self.journaled_seq = last
        self._wait()

    def truncate(self, seq: int) -> None:
        """Forget the entries from `seq` on. Never what is committed."""
        assert seq > self.commit, f"truncating {seq}, {self.commit} is committed"
        self.log.truncate(seq)
        self.durable_seq = min(self.durable_seq, seq - 1)
        for wait in self._waits:
            # What those groups hold from `seq` on is no longer what the log says.
            wait[1] = min(wait[1], seq - 1)
        if self.journaled_seq >= seq:
            self.journaled_seq = seq - 1
            if not self.failed:
                self._effects.journal.append(Truncated(self._shard, seq))
                self._wait()

    def promise(self, epoch: int) -> None:
        """From now on, no owner below `epoch` is acknowledged."""
        assert epoch > self.promised, (epoch, self.promised)
        self.promised = epoch
        if not self.failed:
            self._effects.journal.append(Promised(self._shard, epoch))
            self._wait()

    def commit_to(self, seq: int, trail: Trail | None = None) -> None:
        """All up to `seq` is committed: the host may know."""
        assert self.commit < seq <= self.log.last_seq, (self.commit, seq, self.last_seq)
        entries = self.log.between(self.commit + 1, seq)
        self.commit = seq
        self._effects.committed.append(Committed(self._shard, entries, trail))
        self._trim()

    def wipe(self, base_seq: int, base_epoch: int, complete: bool) -> None:
        """Forget log and states. Incomplete, it is worth nothing until it is complete:
        then it begins behind the base, with the states that the host was given."""
        self.log.reset(base_seq, base_epoch)
        self.commit = base_seq
        self.durable_seq = 0
        self.journaled_seq = base_seq
        self._hinted = base_seq
        for wait in self._waits:
            wait[1] = 0
        if not self.failed:
            wiped = Wiped(self._shard, base_seq, base_epoch, complete)
            self._effects.journal.append(wiped)
            self.wiped_ticket = self._effects.ticket
            self._wait()

    def begin_at(self, base_seq: int, base_epoch: int) -> None:
        """Begin behind a base that the host makes of what it has, in this very group.

        Nothing was here before.
        """
        assert not self.log.base_seq, self.log.base_seq
        assert not self.last_seq, self.last_seq
        self.wipe(base_seq, base_epoch, complete=True)

    def unbegin(self) -> None:
        """The group with the base was lost: as if `begin_at` had not been called."""
        assert self.durable_seq == 0, self.durable_seq
        self.log.reset(0, 0)
        self.commit = self.journaled_seq = self._hinted = 0

    # What the disk says.

    def persisted(self, ticket: int) -> None:
        self.persisted_ticket = max(self.persisted_ticket, ticket)
        while self._waits and self._waits[0][0] <= ticket:
            _, seq, promised = self._waits.popleft()
            self.durable_seq = max(self.durable_seq, seq)
            self.promised_durable = max(self.promised_durable, promised)

    def persist_failed(self, ticket: int) -> bool:
        """Groups from `ticket` on are lost; returns whether one was of this shard.

        What is not durable stays in memory, and is asked for again by `restore`.
        """
        if ticket < self._failures_before or self.failed:
            return False
        while self._waits and self._waits[-1][0] >= ticket:
            self._waits.pop()
            self.failed = True
        return self.failed

    def restore(self) -> bool:
        """The disk takes writes again: bring it up to what memory holds.

        Returns False if that cannot be: a wipe was lost, and the states with it.
        """
        self.failed = False
        self._failures_before = self._effects.ticket
        self._waits.clear()
        if self.promised > self.promised_durable:
            self._effects.journal.append(Promised(self._shard, self.promised))
        if self.durable_seq < self.log.base_seq:
            self._wait()
            return False
        self._effects.journal.append(Truncated(self._shard, self.durable_seq + 1))
        self.journaled_seq = self.durable_seq
        self._wait()
        self.flush()
        return True

    # Below.

    def _wait(self) -> None:
        ticket = self._effects.ticket
        if self._waits and self._waits[-1][0] == ticket:
            self._waits[-1][1] = self.journaled_seq
            self._waits[-1][2] = self.promised
        else:
            self._waits.append([ticket, self.journaled_seq, self.promised])

    def _trim(self) -> None:
        count, size = self._options.kept_entries, self._options.kept_bytes
        upto = self.commit
        pinned = self.keep_from
        if pinned is not None and self.last_seq - pinned <= PINNED_FACTOR * count:
            upto = min(upto, pinned)
        if self.durable_seq < upto:
            upto = self.durable_seq  # what a failed disk lacks must still be here
        self.log.trim(upto, count, size)
