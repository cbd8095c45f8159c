"""A shard's log in memory: contiguous entries behind a base.

All before the base was committed and is in the states; it is kept no longer. Sequence
numbers are list positions: nothing is searched, and no copy of the log is ever made.
"""

from __future__ import annotations

from collections.abc import Sequence

from .message import Entry

__all__ = ["ShardLog"]


class ShardLog:
    """Entries base_seq + 1 .. last_seq."""

    __slots__ = ("_entries", "base_epoch", "base_seq", "bytes")

    def __init__(
        self, base_seq: int = 0, base_epoch: int = 0, entries: Sequence[Entry] = ()
    ) -> None:
        self.base_seq = base_seq
        self.base_epoch = base_epoch
        self._entries: list[Entry] = []
        self.bytes = 0
        """Of the records that are kept."""
        self.extend(entries)

    @property
    def last_seq(self) -> int:
        return self.base_seq + len(self._entries)

    @property
    def last_epoch(self) -> int:
        return self._entries[-1].epoch if self._entries else self.base_epoch

    def __len__(self) -> int:
        return len(self._entries)

    def epoch_at(self, seq: int) -> int | None:
        """The epoch of the entry at `seq`; None if it is not here, or not any more."""
        at = seq - self.base_seq
        if at == 0:
            return self.base_epoch
        if 0 < at <= len(self._entries):
            return self._entries[at - 1].epoch
        return None

    def extend(self, entries: Sequence[Entry]) -> None:
        """Put entries behind the last one."""
        if entries:
            assert entries[0].seq == self.last_seq + 1, (entries[0], self.last_seq)
            self._entries.extend(entries)
            self.bytes += _bytes(entries)

    def truncate(self, seq: int) -> None:
        """Forget the entries from `seq` on."""
        at = seq - self.base_seq - 1
        assert at >= 0, (seq, self.base_seq)
        self.bytes -= _bytes(self._entries[at:])
        del self._entries[at:]

    def reset(self, base_seq: int, base_epoch: int) -> None:
        """Forget all, and begin behind another base."""
        self.base_seq = base_seq
        self.base_epoch = base_epoch
        self._entries.clear()
        self.bytes = 0

    def between(self, first: int, last: int) -> tuple[Entry, ...]:
        """The entries `first`..`last`, both included."""
        base = self.base_seq
        assert first > base, (first, base)
        return tuple(self._entries[first - base - 1 : last - base])

    def batch(self, first: int, count_max: int, bytes_max: int) -> tuple[Entry, ...]:
        """Entries from `first` on: at least one, then as many as the limits allow."""
        at = first - self.base_seq - 1
        entries = self._entries[at : at + count_max]
        size = 0
        for count, entry in enumerate(entries):
            size += len(entry.record)
            if size > bytes_max and count:
                return tuple(entries[:count])
        return tuple(entries)

    def trim(self, upto: int, count: int, size: int) -> None:
        """Let the base follow `upto`, but keep `count` entries or `size` bytes of them.

        Done only when a quarter more is there, so that it costs little on average.
        """
        if len(self._entries) <= count + count // 4 and self.bytes <= size + size // 4:
            return
        drop = min(upto - self.base_seq, len(self._entries))
        excess = len(self._entries) - count
        bytes_left = self.bytes
        at = 0
        while at < drop and (at < excess or bytes_left > size):
            bytes_left -= len(self._entries[at].record)
            at += 1
        if at <= 0:
            return
        self.base_epoch = self._entries[at - 1].epoch
        self.base_seq += at
        del self._entries[:at]
        self.bytes = bytes_left


def _bytes(entries: Sequence[Entry]) -> int:
    return sum([len(entry.record) for entry in entries])
