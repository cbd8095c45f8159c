"""An owner's part in folding back: a pinned match goes home, and its shard is no more.

In order, at the node that owns both shards: the host holds the match, and an `attach`
record of it is committed in the pinned shard; that is an intent only. Then all of the
match is logged in its home, in pieces, and committed there: each replica of the home
has it, and does not use it yet. Then one transaction compares the records of both
shards and deletes the pin and the pinned shard's record. The pin key is the truth:
until it is gone, the match is in the pinned shard. Rules:

1. The transaction compares the pinned shard's revision. So it can land only while the
   node that logged `attach` last owns that shard; whoever claims it later knows that it
   never will, and that it has not landed, for there would be no record to claim.
2. It compares the home's revision, too. So whoever owns the home knows by its record
   whether the match is there: what came by the log in an older epoch, while the pin
   still stood at the claim, never will be.
3. From `attach` on nothing more is committed in the pinned shard until it is certain
   that the transaction will not land: no write from the revision of its record is
   unresolved. Then the match says in its log that it stays (`detach`), and goes on.
4. So does whoever owns the shard when `attach` is the match's last record, whatever
   owner logged it. Who was told to stay is not folded back any more by that attempt.
5. What came home and is not the match is told to be worth nothing (`kept`), in the
   home's log, by its owner; only when rule 1 or 2 says that it will never be, and all
   keys were read at or after the revision that the home's record has now.
6. A replica of the home takes what came for the match when it knows that the pin is
   gone; or when a next record of the match stands in the home's log.
7. Meanwhile the home's owner begins no install: its states would lack what came. Not
   so when that is worth nothing by rule 5, and the pin stood at that reading: to tell
   so may need the very copy that the install makes.
8. The transaction decides something outside of the logs. So it is sent only when of
   both shards something of the owner's own epoch is committed: until then a tail of an
   earlier owner, with more records of the match, could come back.
9. It is not begun while the coordinator does not answer: the match would be held until
   it does.
10. The match is not held long: after `pin_hold_ms` the owner tries no more.

By itself, one at a time, an owner folds back matches that are over, and those whose
home has had the same owner for `pin_idle_ms`. The shard of one that is over is first
moved to the home's owner, if that is another node.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from msgspec import structs

from ..control_plane import Move, ShardRecord, encode_record
from ..coordinator import Write
from ..errors import PinRefused, ProposalRefused
from .effects import Effects
from .me import Me
from .message import Raw
from .options import ReplicationOptions
from .output import Attach, Carry, Come, Detach
from .overdue_moves import FOLD
from .parcel import Kept, pack_parcel
from .pin_board import Guest
from .readings import Readings
from .shard import ShardReplica
from .shards import Shards

__all__ = ["Folding"]

ASK_AGAIN_MS = 300
"""Between two questions of the host."""

TURN_MS = 1_000
"""Between two looks for matches to be folded back."""

LISTED_MS = 3_000
"""Who has not listed the coordinator's keys for so long takes it to be away."""

PAUSE_MS = 5_000
"""Between two attempts of one match, by itself."""

_PROPOSED_AT_ONCE = 16


@dataclass(slots=True)
class _Fold:
    """One attempt, by the owner of both shards in these epochs."""

    match: str
    shard: int
    home: int
    epoch: int
    home_epoch: int
    begun_ms: int
    asked_ms: int = 0
    index: int = -1
    """Of the record that says that it goes home."""
    carried: bool = False
    """The host was asked for all of it."""
    records: deque[Raw] | None = None
    """What of it is not proposed yet."""
    last_seq: int = 0
    """Of the last piece, in the home's log."""
    sent: bool = False
    """The transaction was sent."""
    blocked: bool = False
    """The last step found no room, or no quiet record."""
    stays: bool = False
    """It is over: rules 3 and 4."""


class Folding:
    """Of all pinned shards of a node."""

    def __init__(
        self,
        me: Me,
        effects: Effects,
        options: ReplicationOptions,
        shards: Shards,
        readings: Readings,
    ) -> None:
        self._me = me
        self._effects = effects
        self._options = options
        self._shards = shards
        self._readings = readings
        self._folds: dict[int, _Fold] = {}
        self._alike_since: dict[int, int] = {}
        self._tried_at: dict[int, int] = {}
        self._kept_at: dict[tuple[int, str], int] = {}
        self._turn_at_ms = 0
        self._listed_ms = -LISTED_MS
        self._drawn = 0

    def listed(self, now_ms: int) -> None:
        """The coordinator answers."""
        self._listed_ms = now_ms

    # What the host says.

    def fold(self, match: str, now_ms: int) -> None:
        """Begin to fold a match back whose shard is served here.

        Raises:
            PinRefused: It cannot be, now or here.
        """
        shard = self._me.pins.table.pin_of(match)
        if not shard:
            raise PinRefused("not_pinned", f"match {match} is not pinned")
        replica = self._shards.get(shard)
        if replica is None or not replica.serving:
            raise PinRefused("not_owner", f"ask the owner of shard {shard}")
        if shard in self._folds:
            raise PinRefused("busy", f"match {match} is being folded back")
        if now_ms - self._listed_ms >= LISTED_MS:
            raise PinRefused("coordinator_away", "the coordinator does not answer")
        if not self._can_begin(replica, self._home_of(match)):
            if self._bring_near(replica, self._home_of(match), now_ms):
                raise PinRefused(
                    "moving", f"shard {shard} is moved to its home's owner"
                )
            raise PinRefused("busy", f"shard {shard} or its home is being changed")
        self._begin(match, replica, now_ms)

    def carried(self, shard: int, records: Sequence[Raw]) -> None:
        """All of the match, in pieces, as `Carry` asked for; none: it cannot be."""
        fold = self._folds.get(shard)
        if fold is not None:
            fold.records = deque(records)
            fold.stays |= not records

    # What follows.

    def settle(self, now_ms: int) -> list[int]:
        """Go on with all that is under way; the shards that this concerns."""
        touched: list[int] = []
        if now_ms >= self._turn_at_ms:
            self._turn_at_ms = now_ms + TURN_MS
            self._look(now_ms)
        for shard in self._me.pins.returning:
            if shard not in self._folds:
                match = self._me.pins.placed[shard].match
                self._find_half_done(shard, match, now_ms)
        for fold in list(self._folds.values()):
            touched += self._step(fold, now_ms)
        if self._me.pins.guests:
            touched += self._host_guests(now_ms)
        return touched

    def stirred(self) -> Iterator[int]:
        """Shards with which `settle` can go on at once."""
        for fold in self._folds.values():
            waits = fold.blocked or fold.sent or fold.stays
            if fold.records is not None and not waits:
                home = self._shards[fold.home]
                if fold.records or home.commit >= fold.last_seq:
                    yield fold.home

    def due_ms(self, now_ms: int) -> int | None:
        """When `settle` has something, if only time passes."""
        if self._folds:
            return now_ms + ASK_AGAIN_MS
        if self._me.pins.placed or self._me.pins.guests:
            return self._turn_at_ms
        return None

    def forget(self, shard: int) -> None:
        """A pinned shard is gone."""
        self._folds.pop(shard, None)
        self._alike_since.pop(shard, None)
        self._tried_at.pop(shard, None)
        self._me.pins.place(shard, None)

    # The rules, each in one place.

    def _may_still_land(self, replica: ShardReplica) -> bool:
        """Rules 1 and 3."""
        return not replica.register.quiet()

    def _has_come(self, fold: _Fold) -> bool:
        """All of it is committed at home, and the transaction was not sent."""
        home = self._shards[fold.home]
        proposed = fold.records is not None and not fold.records
        committed = proposed and home.commit >= fold.last_seq
        return committed and not fold.sent and self._is_own(fold, home)

    def _is_own(self, fold: _Fold, home: ShardReplica) -> bool:
        """Rule 8."""
        return all(
            replica.data.log.epoch_at(replica.commit) == replica.epoch
            for replica in (self._shards[fold.shard], home)
        )

    def _may_be_kept(self, match: str, pin: int, home: ShardReplica) -> bool:
        """Rule 5."""
        fold = self._folds.get(pin)
        replica = self._shards.get(pin)
        if fold is not None and not fold.stays:
            return False
        if replica is not None and self._may_still_land(replica):
            return False
        has_read_all = self._me.pins.complete >= home.register.revision
        self._effects.list_again |= not has_read_all
        return has_read_all

    def _goes_on(self, fold: _Fold, now_ms: int) -> bool:
        """Rules 3 and 10."""
        home, replica = self._shards[fold.home], self._shards[fold.shard]
        return (
            not fold.stays
            and now_ms - fold.begun_ms < self._options.pin_hold_ms
            and self._serves(home, fold.home_epoch)
            and not self._moves(home)
            and not self._moves(replica)
            and not (fold.sent and not self._may_still_land(replica))
        )

    # One step of one attempt.

    def _step(self, fold: _Fold, now_ms: int) -> list[int]:
        replica = self._shards.get(fold.shard)
        if replica is None or not self._serves(replica, fold.epoch):
            del self._folds[fold.shard]
            return []
        placed = self._me.pins.placed.get(fold.shard)
        if placed is None or placed.index < 0:
            self._wait_for_intent(fold, now_ms)
            return []
        fold.index = placed.index
        if not self._goes_on(fold, now_ms):
            if not self._may_still_land(replica):
                self._stay(fold, now_ms)
            return [fold.shard]
        fold.blocked = False
        if not fold.carried:
            fold.carried = True
            revision = replica.register.revision
            self._effects.pin_asks.append(Carry(fold.shard, fold.match, revision))
        elif fold.records:
            self._propose(fold)
        elif self._has_come(fold):
            self._write(fold, replica, now_ms)
        return [fold.shard, fold.home]

    def _wait_for_intent(self, fold: _Fold, now_ms: int) -> None:
        """The host is asked once: it may log it at any time from then on."""
        if fold.stays or now_ms - fold.begun_ms > 2 * self._options.pin_hold_ms:
            del self._folds[fold.shard]

    def _propose(self, fold: _Fold) -> None:
        """As much as there is room for."""
        assert fold.records
        home = self._shards[fold.home]
        part = list(fold.records)[:_PROPOSED_AT_ONCE]
        items = [(fold.match, fold.index, record) for record in part]
        try:
            first = home.propose(items, fold.begun_ms)
        except ProposalRefused:
            fold.blocked = True
            return  # until there is room, or its time is over
        fold.last_seq = first + len(items) - 1
        for _ in items:
            fold.records.popleft()

    def _write(self, fold: _Fold, replica: ShardReplica, now_ms: int) -> None:
        """Rules 1 and 2."""
        home = self._shards[fold.home].register
        if not (replica.register.may_write(now_ms) and home.quiet()):
            fold.blocked = True
            return
        keys = self._me.keys
        assert keys is not None
        assert home.record is not None
        self._drawn += 1
        nonce = f"{self._me.nonce_prefix}.fold.{self._drawn}"
        record = structs.replace(home.record, claim=nonce)
        pin = self._readings.pin_revision(fold.match)
        replica.register.delete(
            (
                Write(keys.shard(fold.home), home.revision, encode_record(record)),
                Write(keys.pin(fold.match), pin, None),
            )
        )
        fold.sent = True

    def _stay(self, fold: _Fold, now_ms: int) -> None:
        fold.stays = True
        if now_ms - fold.asked_ms >= ASK_AGAIN_MS:
            fold.asked_ms = now_ms
            self._effects.pin_asks.append(Detach(fold.shard, fold.match))

    def _find_half_done(self, shard: int, match: str, now_ms: int) -> None:
        """Rule 4."""
        replica = self._shards.get(shard)
        if replica is None or not replica.serving:
            return
        home = self._home_of(match)
        self._folds[shard] = _Fold(
            match, shard, home, replica.epoch, 0, now_ms, stays=True
        )

    def _host_guests(self, now_ms: int) -> list[int]:
        """Rules 5 and 6."""
        touched = []
        guests_of = self._me.pins.guests
        for place in [p for p in self._kept_at if p[1] not in guests_of.get(p[0], ())]:
            del self._kept_at[place]
        for home, guests in list(guests_of.items()):
            for match, guest in list(guests.items()):
                if self._me.pins.is_home(match, guest):
                    self._effects.pin_asks.append(Come(home, match))
                elif self._shards[home].ownership is not None:
                    touched += self._keep(home, match, guest, now_ms)
        return touched

    def _keep(self, home: int, match: str, guest: Guest, now_ms: int) -> list[int]:
        """Rule 5; not again before it was told."""
        asked_at = self._kept_at.get((home, match), -ASK_AGAIN_MS)
        if now_ms - asked_at < ASK_AGAIN_MS:
            return []
        replica = self._shards[home]
        self._kept_at[home, match] = now_ms
        if not self._may_be_kept(match, guest.pin, replica):
            return []
        pins = self._me.pins
        if pins.table.pin_of(match) == guest.pin:  # rule 7
            pins.worthless[home, match] = guest
        if not replica.serving:
            return [home]
        kept = pack_parcel(Kept(guest.pin))
        with suppress(ProposalRefused):  # it is told again
            replica.propose([(match, guest.index, kept)], now_ms)
        return [home]

    # By itself.

    def _look(self, now_ms: int) -> None:
        if now_ms - self._listed_ms >= LISTED_MS:
            return  # rule 9
        for shard, placed in self._me.pins.placed.items():
            replica = self._shards.get(shard)
            home = self._home_of(placed.match)
            if replica is None or not replica.serving:
                self._alike_since.pop(shard, None)
                continue
            if not self._alike(replica, self._shards[home]):
                self._alike_since.pop(shard, None)
                if placed.ended and self._may_try(shard, now_ms):
                    self._tried_at[shard] = now_ms
                    self._bring_near(replica, home, now_ms)
                continue
            since = self._alike_since.setdefault(shard, now_ms)
            idle = now_ms - since >= self._options.pin_idle_ms
            wanted = (placed.ended or idle) and self._may_try(shard, now_ms)
            if wanted and not self._folds and self._can_begin(replica, home):
                self._tried_at[shard] = now_ms
                self._begin(placed.match, replica, now_ms)

    def _may_try(self, shard: int, now_ms: int) -> bool:
        tried_at = self._tried_at.get(shard)
        return tried_at is None or now_ms - tried_at >= PAUSE_MS

    def _begin(self, match: str, replica: ShardReplica, now_ms: int) -> None:
        shard = replica.context.shard
        home = self._home_of(match)
        self._folds[shard] = _Fold(
            match, shard, home, replica.epoch, self._shards[home].epoch, now_ms
        )
        self._effects.pin_asks.append(Attach(shard, match))

    def _bring_near(self, replica: ShardReplica, home: int, now_ms: int) -> bool:
        """Have the pinned shard moved to its home's owner."""
        register, there = replica.register, self._record(home)
        record = register.record
        if there is None or record is None or there.owner in (None, record.owner):
            return False
        if record.move is None and register.may_write(now_ms):
            assert there.owner is not None
            register.write(
                owner=record.owner,
                epoch=record.epoch,
                isr=record.isr,
                want=record.want,
                move=Move(there.owner, FOLD),
            )
        return True

    # Below.

    def _home_of(self, match: str) -> int:
        return self._me.pins.table.home(match)

    def _record(self, shard: int) -> ShardRecord | None:
        return self._shards[shard].register.record

    def _can_begin(self, replica: ShardReplica, home: int) -> bool:
        there = self._shards[home]
        return (
            there.serving
            and there.register.quiet()
            and replica.register.quiet()
            and not self._moves(there)
            and not self._moves(replica)
            and self._history(replica) <= self._history(there)
        )

    @staticmethod
    def _history(replica: ShardReplica) -> int:
        """Views do not go back to an earlier one."""
        record = replica.register.record
        return 0 if record is None else record.history

    def _alike(self, replica: ShardReplica, home: ShardReplica) -> bool:
        """The same owner, and nobody is to change that."""
        return home.serving and not self._moves(home) and not self._moves(replica)

    @staticmethod
    def _serves(replica: ShardReplica, epoch: int) -> bool:
        return replica.serving and replica.epoch == epoch

    @staticmethod
    def _moves(replica: ShardReplica) -> bool:
        record = replica.register.record
        return record is None or record.move is not None
