"""What operators have asked of a cluster, in its coordinator: the audit.

A record is created before anything is done, by compare-and-swap, so that an id is one
command however often and wherever it is asked for; and completed when the command has
ended. The newest are kept. Who writes a record clears away what is too much.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import anyio
import msgspec
from msgspec.structs import replace

from ...runtime.control_plane import (
    Keys,
    OperationRecord,
    decode_record,
    encode_record,
)
from ...runtime.coordinator import ABSENT, WRITES_MAX, CasOk, Coordinator, Entry, Write
from ...runtime.errors import ControlRecordInvalid, CoordinatorUnavailable
from ...runtime.settle import SETTLE_ATTEMPTS, SETTLE_PAUSE_S, read_key, settle_write

__all__ = ["RECORDS_MAX", "TRIM_EVERY", "Kept", "Noted", "OperationsLog"]

RECORDS_MAX = 1_000
"""Commands that are remembered; those written longest ago go first."""

TRIM_EVERY = 16
"""Records that a node creates between two looks for too many: by so many, for each
node, there may be more."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A record as it stands. `ours`: this very call, or process, created it."""

    record: OperationRecord
    revision: int
    ours: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """Records, the newest first. `unreadable`: keys that this version cannot read."""

    records: tuple[OperationRecord, ...]
    unreadable: tuple[str, ...] = ()


class OperationsLog:
    """The records of one cluster.

    Each method raises:
        CoordinatorUnavailable: No answer, or none that settles it. Ask again.
        ControlRecordInvalid: What stands there cannot be read by this version.
    """

    def __init__(
        self, coordinator: Coordinator, keys: Keys, records_max: int = RECORDS_MAX
    ) -> None:
        self._coordinator = coordinator
        self._keys = keys
        self._records_max = records_max
        self._created = 0

    async def begin(self, record: OperationRecord) -> Noted:
        """Create it, unless one of its id is there: then that one."""
        key = self._keys.operation(record.id)
        settled = await settle_write(
            self._coordinator, key, ABSENT, lambda: _fresh(record)
        )
        if settled.entry is None:
            # Created by us or another one, and cleared away since.
            raise CoordinatorUnavailable(f"{key} was there, and is gone")
        noted = _read(settled.entry)
        if settled.landed:
            self._created += 1
            await self._trim_some()
            return Noted(noted, settled.entry.revision, True)
        # A try of ours whose answer got lost may have landed before this call.
        ours = (noted.node, noted.boot) == (record.node, record.boot)
        return Noted(noted, settled.entry.revision, ours)

    async def complete(self, noted: Noted, ended: OperationRecord) -> None:
        """Write how it ended, in place of what was noted."""
        key = self._keys.operation(ended.id)
        await settle_write(
            self._coordinator, key, noted.revision, lambda: _fresh(ended)
        )

    async def withdraw(self, noted: Noted) -> None:
        """Remove it: nothing of the command was done, and nothing will be here."""
        key = self._keys.operation(noted.record.id)
        for attempt in range(SETTLE_ATTEMPTS):
            if attempt:
                await anyio.sleep(SETTLE_PAUSE_S * 2 ** (attempt - 1))
            gone = Write(key, noted.revision, None)
            if isinstance(await self._coordinator.cas_many([gone]), CasOk):
                return
            entry = await read_key(self._coordinator, key)
            if entry is None or entry.revision != noted.revision:
                return  # another try of ours can do nothing any more
        raise CoordinatorUnavailable(f"whether {key} is gone is unknown")

    async def take_up(self, found: Noted, record: OperationRecord) -> Noted:
        """Put this one in place of what was found, unless another process does."""
        key = self._keys.operation(record.id)
        settled = await settle_write(
            self._coordinator, key, found.revision, lambda: _fresh(record)
        )
        if settled.entry is None:
            raise CoordinatorUnavailable(f"{key} was there, and is gone")
        return Noted(_read(settled.entry), settled.entry.revision, settled.landed)

    async def find(self, id: str) -> Noted | None:
        """The command's record, and where it stands."""
        entry = await read_key(self._coordinator, self._keys.operation(id))
        return None if entry is None else Noted(_read(entry), entry.revision, False)

    async def get(self, id: str) -> OperationRecord | None:
        """The command's record."""
        found = await self.find(id)
        return None if found is None else found.record

    async def newest(self) -> Kept:
        """All that are kept."""
        listing = await self._coordinator.list(self._keys.operations)
        records: list[OperationRecord] = []
        unreadable: list[str] = []
        for entry in listing.entries:
            try:
                records.append(_read(entry))
            except ControlRecordInvalid:
                unreadable.append(entry.key)
        records.sort(key=lambda one: (one.asked_ms, one.id), reverse=True)
        return Kept(tuple(records), tuple(unreadable))

    async def boots(self) -> frozenset[tuple[str, str]]:
        """Which processes are registered: (node, boot)."""
        listing = await self._coordinator.list(self._keys.nodes)
        found = (_read_process(entry) for entry in listing.entries)
        return frozenset((one.node, one.boot) for one in found)

    async def _trim_some(self) -> None:
        """Whoever else does so at the same time is no harm."""
        if self._created % TRIM_EVERY != 1:
            return
        try:
            listing = await self._coordinator.list(self._keys.operations)
        except CoordinatorUnavailable:
            return  # what was asked for is done; the next one looks again
        surplus = len(listing.entries) - self._records_max
        oldest = sorted(listing.entries, key=lambda entry: entry.revision)
        doomed = oldest[: max(0, surplus)]
        for at in range(0, len(doomed), WRITES_MAX):
            some = doomed[at : at + WRITES_MAX]
            await self._coordinator.cas_many(
                [Write(entry.key, entry.revision, None) for entry in some]
            )


class _Process(msgspec.Struct):
    """What of a `NodeRecord` is needed here, of whatever schema."""

    node: str
    boot: str


def _read_process(entry: Entry) -> _Process:
    try:
        return msgspec.json.decode(entry.value, type=_Process)
    except msgspec.MsgspecError as error:
        raise ControlRecordInvalid(f"{entry.key} names no process: {error}") from error


def _fresh(record: OperationRecord) -> bytes:
    return encode_record(replace(record, nonce=secrets.token_hex(8)))


def _read(entry: Entry) -> OperationRecord:
    return decode_record(OperationRecord, entry.key, entry.value)
