"""What a journal's writer must know to cut it: which groups are still needed.

A group is needed while it holds entries that no checkpoint covers. The older ones can
go once every shard's summary is stored: what was promised, where its log begins, how
far it is committed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ...runtime.journal_codec import GroupOp
from ...runtime.replication.output import Appended, IdentityKept, Wiped
from ...runtime.stored_log import LogOutline

__all__ = ["JournalIndex"]


class JournalIndex:
    """The logs without their entries, as the last durable group left them."""

    def __init__(self, identity: IdentityKept, last: int) -> None:
        self.identity = identity
        self.last = last
        """The number of the last group."""
        self._outlines: dict[int, LogOutline] = {}
        self._holders: dict[int, deque[tuple[int, int]]] = {}
        """By shard: (group, last sequence number in it), oldest first; only groups
        with entries that are still needed."""
        self._wiped: dict[int, int] = {}
        """By shard: the group that wiped it last."""
        self._changed: set[int] = set()
        """Shards whose stored summary is not what the outline says."""

    def begin(self, outline: LogOutline, wiped: int) -> None:
        """A shard's stored summary."""
        self._outlines[outline.shard] = outline
        self._wiped[outline.shard] = wiped

    def note(self, number: int, ops: Sequence[GroupOp]) -> None:
        """Group `number` is durable."""
        self.last = number
        for op in ops:
            if isinstance(op, IdentityKept):
                self.identity = op
                continue
            shard = op.shard
            holders = self._holders.setdefault(shard, deque())
            if isinstance(op, Appended):
                if op.entries:
                    holders.append((number, op.entries[-1].seq))
                continue
            outline = self._outlines.get(shard)
            if outline is None:
                outline = self._outlines[shard] = LogOutline(shard)
            outline.apply(op)
            self._changed.add(shard)
            if isinstance(op, Wiped):
                holders.clear()
                self._wiped[shard] = number
            while holders and holders[0][1] <= outline.base_seq:
                holders.popleft()

    @property
    def spare(self) -> int:
        """The last group that nobody needs, if the summaries are stored."""
        needed = [holders[0][0] for holders in self._holders.values() if holders]
        return min(needed) - 1 if needed else self.last

    def changed(self) -> list[tuple[LogOutline, int]]:
        """The outlines whose stored summaries are old, and who wiped each last."""
        return [
            (self._outlines[shard], self._wiped.get(shard, 0))
            for shard in sorted(self._changed)
        ]

    def stored(self) -> None:
        """All summaries are stored now."""
        self._changed.clear()
