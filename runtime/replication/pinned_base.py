"""How a replica of a pinned shard begins, and how it ends.

It begins with what its match was when it left its home: made of this node's own copy,
if the record has this replica in the in-sync set from the start. It ends when its match
is at home again: what was here of the shard is forgotten.
"""

from __future__ import annotations

from .context import Context
from .output import Split
from .pinning import BASE_EPOCH, BASE_SEQ
from .register import GONE

__all__ = ["PinnedBase"]

_NONE: frozenset[str] = frozenset()


class PinnedBase:
    """Of one replica; idle in a shard that is not pinned."""

    __slots__ = ("_context", "_match", "_told")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._match: str | None = None  # whose base is being persisted
        self._told = False

    def settle(self) -> None:
        """In the in-sync set without the base: make it of the match as it is here, once
        it is at its last record in the shard that it leaves."""
        context = self._context
        if context.based:
            self._match = None  # what comes later in its place is not this one
            return
        match = context.me.pins.bound_for(context.shard)
        if match is None or not context.in_isr():
            return
        data = context.data
        if data.failed or data.last_seq or not context.me.serving_allowed:
            return
        self._match = match
        unfit = context.me.unfit  # until the host says it anew
        unfit[context.shard] = unfit.get(context.me.pins.home_of(context.shard), _NONE)
        data.begin_at(BASE_SEQ, BASE_EPOCH)
        context.effects.splits.append(Split(context.shard, match))

    def persist_failed(self) -> None:
        """It is not durable: the match is where it was, until the disk works."""
        if self._match is None or self._context.based:
            return
        back = Split(self._context.shard, self._match, back=True)
        self._match = None
        self._context.data.unbegin()
        self._context.effects.splits.append(back)

    def gone(self) -> bool:
        """There is no such shard any more; or none is known of, whose data were here at
        the start, and whose match is elsewhere here, too. If the match is not, the
        coordinator may be older than the data: an operator is told, once."""
        context = self._context
        register = context.register
        if register.gone or not (context.pinned and register.known):
            return register.gone
        if register.record is not None:
            return False
        if context.shard not in context.me.pins.placed:
            return True
        if not self._told:
            self._told = True
            why = "its data are here, and there is no record: it stays as it is"
            context.alarm(GONE, why)
        return False

    def end(self, *, installing: bool) -> None:
        """Forget, on the disk too, what was here of it."""
        data = self._context.data
        if data.last_seq or data.log.base_seq or installing:
            for complete in (False, True):
                data.wipe(0, 0, complete)
        self._context.effects.gone.append(self._context.shard)
