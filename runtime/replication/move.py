"""A planned change of owner: the record's `move` names who shall own the shard.

The owner first makes it a member of the in-sync set. Then it holds new records, waits
until all it has is committed, and writes the record: the other one owns the next epoch.
Nothing is appended between that write and its outcome, so who takes over has all.

Holding is short (`hold_ms`). If the outcome is unknown then, the owner goes on in its
epoch, with the other one in the maximal set: had the write landed, nothing could be
committed without the new owner, which refuses the old epoch.
"""

from __future__ import annotations

from ..control_plane import encode_record
from .context import Context
from .membership import Membership
from .message import HandedOver

__all__ = ["PlannedMove"]

PAUSE_MS = 1000
"""Between two attempts."""


class PlannedMove:
    """The owner's part in it."""

    __slots__ = ("_context", "_epoch", "_held_since", "_retry_at", "_to")

    def __init__(self, context: Context, epoch: int) -> None:
        self._context = context
        self._epoch = epoch
        self._held_since: int | None = None
        self._retry_at = 0
        self._to: tuple[str, str] | None = None  # whom a write may have made the owner

    @property
    def holds(self) -> bool:
        """New records wait."""
        return self._held_since is not None

    def settle(self, membership: Membership, now_ms: int) -> None:
        """Hold, write, or give up."""
        target = self._target(membership, now_ms)
        if self._held_since is None:
            if target is None or now_ms < self._retry_at:
                return
            self._held_since = now_ms
        elif target is None or now_ms - self._held_since >= self._hold_ms():
            self._held_since = None
            self._retry_at = now_ms + PAUSE_MS
            return
        data = self._context.data
        register = self._context.register
        if data.commit == data.last_seq and register.may_write(now_ms):
            record = register.record
            assert record is not None
            assert target is not None
            self._to = target
            register.write(
                owner=target[0],
                epoch=self._epoch + 1,
                isr=record.isr,
                want=record.want,
                move=None,
            )

    def tell(self) -> None:
        """If the record, as read now, hands the shard over: say so."""
        record = self._context.register.record
        to = self._to
        if record is None or to is None or not self._context.register.landed:
            return
        if (record.owner, record.epoch) == (to[0], self._epoch + 1):
            shard, epoch = self._context.shard, record.epoch
            revision = self._context.register.revision
            packed = encode_record(record)
            handed = HandedOver(shard, epoch, to[1], revision, packed)
            self._context.effects.send(to[0], handed)
            if self._held_since is not None:
                handovers = self._context.me.handovers
                handovers.begun(shard, epoch, to[0], self._held_since)

    def due_ms(self, now_ms: int) -> int | None:
        if self._held_since is not None:
            return self._held_since + self._hold_ms()
        record = self._context.register.record
        if record is not None and record.move is not None and self._retry_at > now_ms:
            return self._retry_at
        return None

    def _hold_ms(self) -> int:
        return self._context.options.hold_ms

    def _target(self, membership: Membership, now_ms: int) -> tuple[str, str] | None:
        """Who shall own it, if it is in the in-sync set and well."""
        record = self._context.register.record
        if record is None or record.move is None:
            return None
        if record.move.to in self._context.me.leaving:
            return None
        for pair in record.isr:
            if pair[0] == record.move.to:
                peer = membership.peer(*pair)
                if peer is not None and not membership.lost(peer, now_ms):
                    # One that is not heard yet, of a shard that has just been pinned,
                    # may not even know of it: players would wait for that.
                    return pair if peer.heard else None
        return None
