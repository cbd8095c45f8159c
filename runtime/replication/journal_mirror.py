"""With durability "memory" the journal only follows: nobody waits for it.

So nobody stops when it fails. What could not be written leaves a gap, and what comes
behind a gap must not be written: nothing is, until the journal works again. Then each
shard's log is written anew, as memory holds it.
"""

from __future__ import annotations

from collections.abc import Iterable

from .effects import Effects
from .output import Appended, JournalOp, Promised, Wiped
from .shard import ShardReplica

__all__ = ["JournalMirror"]


class JournalMirror:
    """Between the effects of a node without durability and its journal."""

    def __init__(self) -> None:
        self._gap = False
        self._wiped: dict[int, None] = {}  # shards whose states were to be dropped

    def failed(self) -> None:
        """A group was not written."""
        self._gap = True

    def withhold(self, effects: Effects) -> bool:
        """Drop the operations of this step, if they would stand behind a gap."""
        if not self._gap:
            return False
        for op in effects.journal:
            if isinstance(op, Wiped) and not op.complete:
                self._wiped[op.shard] = None
        effects.journal.clear()
        return True

    def repaired(self, shards: Iterable[tuple[int, ShardReplica]]) -> list[JournalOp]:
        """The journal works again: what makes it say what memory holds."""
        if not self._gap:
            return []
        self._gap = False
        wiped, self._wiped = self._wiped, {}
        ops: list[JournalOp] = []
        for shard, replica in shards:
            log, asked_seq = replica.data.log, replica.data.journaled_seq
            if shard in wiped:
                ops.append(Wiped(shard, 0, 0, complete=False))
            ops.append(Wiped(shard, log.base_seq, log.base_epoch, complete=True))
            if asked_seq > log.base_seq:  # what is behind it is still to be asked for
                kept = log.between(log.base_seq + 1, asked_seq)
                ops.append(Appended(shard, kept))
            if replica.data.promised:
                ops.append(Promised(shard, replica.data.promised))
        return ops
