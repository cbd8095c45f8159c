"""An owner's part in pinning: a match leaves its shard, and is alone in one of its own.

In order: the host holds the match, and a `detach` record of it is committed; that is
an intent only. Then one transaction compares the shard's record, and writes it with a
fresh nonce, and creates the match's pin and the record of the new shard. The pin key
is the truth. Rules:

1. The transaction compares the shard's revision. So a pin of a former owner can land
   only before the claim that deposed it, and the new owner finds it by reading.
2. The new shard has the same owner and the same in-sync set. Each member was needed
   for the commit of `detach`, so each makes the base of the new shard from its own copy
   of the match as it was then: nothing is shipped. (Until it has, it is mute there.)
3. Its number is new at each pin. So no replica has ever promised an epoch for it, and
   epoch 1 is above every promise.
4. Its log begins behind (1, 1): who has no base stands at 0, joins on nowhere, and is
   sent states.
5. The match goes on in its shard (`attach`) only when it is certain that no pin of it
   is, or will be, there: no write of this owner's is unresolved (an unknown outcome is
   resolved by moving the shard's revision), and all keys were read at or after the
   revision that the shard's record has now. Older readings could miss a pin that
   landed before; a younger one cannot land from an older revision (rule 1).
6. That holds for whoever owns the shard when `detach` is a match's last record,
   whatever owner logged it.
7. The match is not held long: after `hold_ms` the owner tries no more, and goes on as
   soon as rule 5 allows.
8. It is pinned only by an owner of whose own epoch something is committed, `detach` or
   a later entry. Until then the log of an earlier owner may go on behind `detach`; a
   replica that has that tail could join, own the shard, and commit it.
"""

from __future__ import annotations

from ..control_plane import Keys, PinRecord, ShardRecord, encode_record
from ..coordinator import ABSENT, Write
from .context import Context
from .data import ReplicaData
from .output import Attach, Detach
from .parcel import is_parcel

__all__ = ["BASE_EPOCH", "BASE_SEQ", "Pinning", "commit_intent"]

BASE_SEQ = 1
BASE_EPOCH = 1
"""What the log of a pinned shard begins behind."""

ASK_AGAIN_MS = 300
"""Between two questions of the host, or for a listing."""


def commit_intent(match: str, data: ReplicaData) -> bool:
    """A member of a new pinned shard's in-sync set may not have been told that
    `detach` is committed, and be told no more: the home goes on without it. The pin
    tells: its transaction was sent when `detach` was committed, and this member has it,
    as its last record of the match there. Returns whether it was news.

    `data` is what the member has of the home, which it does not own.
    """
    if data.commit < data.last_seq:
        for entry in reversed(data.log.between(data.commit + 1, data.last_seq)):
            if entry.match == match and not is_parcel(entry.record):
                if entry.seq <= data.durable_seq:
                    data.commit_to(entry.seq)
                    return True
                return False
    return False


class Pinning:
    """Of one shard, while this node owns it in one epoch."""

    __slots__ = ("_asked_at", "_begun", "_context", "_drawn", "_listed_at")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._begun: dict[str, int] = {}  # matches that this owner pins, and since when
        self._asked_at: dict[str, int] = {}
        self._listed_at = -ASK_AGAIN_MS
        self._drawn = 0

    def pin(self, match: str, now_ms: int) -> None:
        """Begin: the host is asked to hold the match."""
        self._begun[match] = now_ms
        self._context.effects.pin_asks.append(Detach(self._context.shard, match))

    def is_at(self, match: str) -> bool:
        """It is being pinned."""
        return match in self._begun

    def settle(self, now_ms: int, *, may_write: bool) -> None:
        """Go on with the matches that are leaving."""
        context = self._context
        leaving = context.me.pins.leaving(context.shard)
        for match in list(self._begun):
            patience_ms = 2 * context.options.pin_hold_ms
            gone = match not in leaving and now_ms - self._begun[match] > patience_ms
            if gone or context.me.pins.is_pinned(match):
                del self._begun[match]  # it is pinned, or never began to leave
        for match in list(self._asked_at):
            if match not in leaving:
                del self._asked_at[match]
        for match, (target, n) in list(leaving.items()):
            if context.me.pins.is_pinned(match) or self._comes_home(match):
                continue
            if not self._is_resolved():
                return
            if self._goes_on(match, now_ms):
                if may_write:
                    self._write(match, target, n)
                return
            self._stay(match, now_ms)

    def due_ms(self, now_ms: int) -> int | None:
        """When `settle` has something, if only time passes."""
        context = self._context
        waits = any(
            not context.me.pins.is_pinned(match)
            for match in context.me.pins.leaving(context.shard)
        )
        return now_ms + ASK_AGAIN_MS if waits else None

    # The rules, each in one place.

    def _is_resolved(self) -> bool:
        """Rule 5: nothing that was written may still land."""
        return self._context.register.quiet()

    def _has_read_all(self) -> bool:
        """Rule 5: a pin that landed would have been seen."""
        return self._context.me.pins.complete >= self._context.register.revision

    def _comes_home(self, match: str) -> bool:
        """It was pinned, and came back by the log (`folding.py`): what the host holds
        is older, and is about to be replaced. The host may not have said so yet of what
        is committed in this very step."""
        context = self._context
        return match in context.me.pins.guests.get(context.shard, ()) or any(
            entry.match == match
            for committed in context.effects.committed
            if committed.shard == context.shard
            for entry in committed.entries
        )

    def _goes_on(self, match: str, now_ms: int) -> bool:
        """Rule 7. Who was asked to stay may have proposed it: there is no way back."""
        if match in self._asked_at:
            return False
        since = self._begun.get(match)
        hold_ms = self._context.options.pin_hold_ms
        if since is None or now_ms - since >= hold_ms:
            return False
        return self._has_room() and self._is_own()

    def _is_own(self) -> bool:
        """Rule 8."""
        data, record = self._context.data, self._context.register.record
        assert record is not None
        return data.log.epoch_at(data.commit) == record.epoch

    # Below.

    def _has_room(self) -> bool:
        pins = self._context.me.pins
        return len(pins.table) < pins.cap

    def _stay(self, match: str, now_ms: int) -> None:
        if not self._has_read_all():
            if now_ms - self._listed_at >= ASK_AGAIN_MS:
                self._listed_at = now_ms
                self._context.effects.list_again = True
            return
        asked_at = self._asked_at.get(match)
        if asked_at is None or now_ms - asked_at >= ASK_AGAIN_MS:
            self._asked_at[match] = now_ms
            ask = Attach(self._context.shard, match)
            self._context.effects.pin_asks.append(ask)

    def _write(self, match: str, target: int, n: int) -> None:
        register = self._context.register
        record = register.record
        assert record is not None
        keys = self._context.me.keys
        assert keys is not None
        register.write(
            owner=record.owner,
            epoch=record.epoch,
            isr=record.isr,
            want=record.want,
            move=record.move,
            companions=self._companions(keys, record, match, target, n),
        )

    def _companions(
        self, keys: Keys, record: ShardRecord, match: str, target: int, n: int
    ) -> tuple[Write, ...]:
        """Rules 2 and 3."""
        self._drawn += 1
        nonce = f"{self._context.me.nonce_prefix}.pin.{self._drawn}"
        pin = PinRecord(match=match, shard=target, n=n, nonce=nonce)
        shard = ShardRecord(
            owner=record.owner,
            epoch=1,
            isr=record.isr,
            want=record.want,
            claim=nonce,
            history=record.history,
        )
        return (
            Write(keys.pin(match), ABSENT, encode_record(pin)),
            Write(keys.shard(target), ABSENT, encode_record(shard)),
        )
