"""What is known of the coordinator's records, from listings, watches and own writes.

They come in any order: an older reading than the known changes nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..control_plane import (
    SHARDS_MAX,
    Keys,
    PinRecord,
    ReplicaRecord,
    ShardRecord,
    decode_record,
)
from ..coordinator import ABSENT, Change, Listing
from ..errors import ControlRecordInvalid
from .message import HandedOver, Message
from .output import Alarm
from .pin_board import PinBoard

__all__ = ["Reading", "Readings"]

FORGOTTEN_KEPT = 1_024
"""Pinned shards that are gone, of which older readings are still known as older."""


@dataclass(frozen=True, slots=True)
class Reading:
    """News of a shard: its record, None if there is none. With `fault` (code, message)
    it is one that cannot be believed, or not even be read."""

    shard: int
    revision: int
    record: ShardRecord | None
    fault: tuple[str, str] | None = None


class Readings:
    """The newest record of each shard, and the pins (in `board`). `revision`: the
    store's newest that was seen."""

    def __init__(self, keys: Keys, shards: int, board: PinBoard) -> None:
        self._keys = keys
        self._board = board
        self._pin_revisions: dict[str, int] = {}
        self._forgotten: deque[int] = deque()
        self.revision = 0
        self.listed = False
        self.alarms: list[Alarm] = []
        self.idents: dict[str, str] = {}
        """Of each node: the identity of its data, by its record."""
        self.records: dict[int, ShardRecord | None] = dict.fromkeys(range(shards))
        self.revisions: dict[int, int] = dict.fromkeys(range(shards), ABSENT)
        """Of the record, or of the delete that was seen last."""

    def known(self) -> Iterator[tuple[int, ShardRecord]]:
        """The shards that have a record."""
        for shard, record in self.records.items():
            if record is not None:
                yield shard, record

    def shard_of(self, key: str) -> int | None:
        """The shard that a key is about, if the cluster has it: one of its fixed ones,
        or any pinned one."""
        shard = self._keys.shard_of(key)
        if shard is None or shard in self.records or shard >= SHARDS_MAX:
            return shard
        return None

    def expect(self, shard: int) -> None:
        """There was a record of this pinned shard once: say so if there is none."""
        self.records.setdefault(shard, None)
        self.revisions.setdefault(shard, ABSENT)

    def listing(self, listing: Listing) -> Iterator[Reading]:
        """Everything, as read; the news in it. A shard that was never seen is told of
        as absent, at each listing."""
        found: set[int] = set()
        went_back = self._went_back(listing)
        self._list_pins(listing, whole=not went_back)
        for entry in listing.entries:
            self._read_ident(entry.key, entry.value)
            shard = self.shard_of(entry.key)
            if shard is None:
                continue
            found.add(shard)
            known = self.revisions.get(shard, ABSENT)
            if entry.revision < known <= listing.revision:
                if self._is_forgotten(shard):
                    continue
                fault = _went_back(entry.revision, known)
                record = None
                with suppress(ControlRecordInvalid):
                    record = decode_record(ShardRecord, entry.key, entry.value)
                yield Reading(shard, entry.revision, record, fault)
            else:
                yield from self._read(shard, entry.revision, entry.value)
        for shard, revision in list(self.revisions.items()):
            if shard in found:
                continue
            if revision == ABSENT:
                yield Reading(shard, ABSENT, None)
            elif went_back and shard >= SHARDS_MAX:
                # A pin that was made since the backup: it is not gone.
                if not self._is_forgotten(shard):
                    fault = _went_back(ABSENT, revision)
                    yield Reading(shard, revision, None, fault)
            else:
                yield from self._read(shard, listing.revision, None)
        if not went_back:
            self._board.complete = max(self._board.complete, listing.revision)
        self.revision = max(self.revision, listing.revision)
        self.listed = True

    def changed(self, changes: Sequence[Change]) -> Iterator[Reading]:
        """One transaction, as a watch told of it; the news in it."""
        for change in changes:
            self.revision = max(self.revision, change.revision)
            self._read_ident(change.key, change.value)
            shard = self.shard_of(change.key)
            if shard is not None:
                yield from self._read(shard, change.revision, change.value)
            match = self._keys.pin_of(change.key)
            if match is not None:
                self._read_pin(match, change.revision, change.value)

    def told(self, message: Message) -> Iterator[Reading]:
        """What a former owner has read back, if the message says so, and is news."""
        if isinstance(message, HandedOver) and message.record:
            yield from self._read(message.shard, message.revision, message.record)

    def _went_back(self, listing: Listing) -> bool:
        """Some record is older than it was, by a listing that is not: what is not in
        it may be there all the same."""
        for entry in listing.entries:
            shard = self.shard_of(entry.key)
            known = ABSENT if shard is None else self.revisions.get(shard, ABSENT)
            if entry.revision < known <= listing.revision:
                return True
        return False

    def _is_forgotten(self, shard: int) -> bool:
        return shard not in self.records

    def forget(self, shard: int) -> None:
        """A pinned shard is no more."""
        self.records.pop(shard, None)
        self._forgotten.append(shard)
        if len(self._forgotten) > FORGOTTEN_KEPT:
            self.revisions.pop(self._forgotten.popleft(), None)

    def pin_revision(self, match: str) -> int:
        """Of its pin key."""
        return self._pin_revisions.get(match, ABSENT)

    def landed(self, shard: int, revision: int, record: ShardRecord | None) -> bool:
        """An own write landed at `revision` (None: the record is deleted); False if
        newer is known."""
        if revision <= self.revisions[shard]:
            return False
        self.revisions[shard] = revision
        self.records[shard] = record
        if record is not None:
            self._note_history(shard, record)
        return True

    def _read(
        self, shard: int, revision: int, value: bytes | None
    ) -> Iterator[Reading]:
        if revision <= self.revisions.get(shard, ABSENT):
            return
        self.revisions[shard] = revision
        if value is None:
            if shard < SHARDS_MAX or shard in self.records:
                self.records[shard] = None
            yield Reading(shard, revision, None)
            return
        try:
            record = decode_record(ShardRecord, self._keys.shard(shard), value)
        except ControlRecordInvalid as error:
            yield Reading(shard, revision, None, (error.code, str(error)))
            return
        self.records[shard] = record
        self._note_history(shard, record)
        yield Reading(shard, revision, record)

    def _note_history(self, shard: int, record: ShardRecord) -> None:
        if record.history:
            self._board.table.histories[shard] = record.history

    def _read_ident(self, key: str, value: bytes | None) -> None:
        """A hint, like who is registered: the newest news counts. (What cannot be read
        is told by the node that it is about.)"""
        node = self._keys.replica_of(key)
        if node is None or value is None:
            return
        with suppress(ControlRecordInvalid):
            self.idents[node] = decode_record(ReplicaRecord, key, value).ident

    def _list_pins(self, listing: Listing, *, whole: bool) -> None:
        found: set[str] = set()
        for entry in listing.entries:
            match = self._keys.pin_of(entry.key)
            if match is not None:
                found.add(match)
                self._read_pin(match, entry.revision, entry.value)
        for match in list(self._pin_revisions):
            if whole and match not in found and self._board.is_pinned(match):
                self._read_pin(match, listing.revision, None)

    def _read_pin(self, match: str, revision: int, value: bytes | None) -> None:
        if revision <= self._pin_revisions.get(match, ABSENT):
            return
        self._pin_revisions[match] = revision
        self._board.unreadable.pop(match, None)
        self._board.table.unpin(match)
        if value is None:
            old = self._board.note_ended(match, revision)
            if old is not None and not self._board.is_pinned(old):
                self._pin_revisions.pop(old, None)
            return
        try:
            record = decode_record(PinRecord, self._keys.pin(match), value)
        except ControlRecordInvalid as error:
            self._board.unreadable[match] = None
            self.alarms.append(Alarm(-1, error.code, str(error)))
            return
        self._board.table.pin(match, record.shard)


def _went_back(revision: int, known: int) -> tuple[str, str]:
    """A record is older than it was, by a listing that is not."""
    return (
        "coordinator_went_back",
        f"the record is of revision {revision}, and was of {known}: was the"
        " coordinator restored from a backup? Write the newest record that a node"
        " knows, in an epoch above any that was ever reached",
    )
