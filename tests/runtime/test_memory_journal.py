"""The journal in memory: the contract, and the faults of its disk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import anyio
import pytest

from hotseat.runtime.errors import JournalCorrupt, JournalFailed
from hotseat.runtime.journal import Checkpointed, SavedState
from hotseat.runtime.replication.output import Appended, IdentityKept, Promised, Wiped
from hotseat.runtime.replication.recovered import Recovered, RecoveredShard
from hotseat.runtime.testing.check_journal import (
    JOURNAL_CHECKS,
    check_journal,
    entries,
    line,
)
from hotseat.runtime.testing.memory_journal import MemoryDisk, MemoryJournal


class MemoryRig:
    """A fresh disk; see `JournalRig`."""

    def __init__(self) -> None:
        self.disk = MemoryDisk()

    def open(self) -> MemoryJournal:
        return MemoryJournal(self.disk)

    async def fill(self, full: bool) -> None:
        self.disk.failing = "disk_full" if full else ""

    async def spoil(self, match: str) -> None:
        self.disk.spoil(match)

    async def damage(self) -> None:
        self.disk.damage()


@asynccontextmanager
async def memory_rig() -> AsyncIterator[MemoryRig]:
    """A rig for one check."""
    yield MemoryRig()


@pytest.mark.parametrize("check", JOURNAL_CHECKS, ids=lambda check: check.__name__)
async def test_the_contract(check: Any) -> None:
    """The memory journal keeps the contract of `Journal`."""
    async with memory_rig() as rig:
        await check(rig)


def test_the_contract_on_asyncio() -> None:
    """The same without trio."""
    anyio.run(check_journal, memory_rig)


def written(*groups: Any) -> MemoryDisk:
    """A disk on which groups are durable."""
    disk = MemoryDisk()
    for ticket, group in enumerate(groups, 1):
        disk.begin(ticket, group)
    disk.sync_upto(len(groups))
    return disk


def found(disk: MemoryDisk) -> int:
    """How many entries of shard 1 a start finds."""
    shard = disk.recover().shards.get(1, RecoveredShard(1))
    return len(shard.entries)


def test_a_power_cut_loses_what_was_not_synced() -> None:
    """All of it, or what a generator says; and always a number of the first groups."""
    kept = set()
    for seed in range(40):
        disk = written([Appended(1, entries(1, 2))])
        for seq in range(3, 6):
            disk.begin(seq, [Appended(1, entries(seq, seq))])
        assert disk.waiting == 3
        disk.crash(Random(seed))
        assert disk.waiting == 0
        kept.add(found(disk))
    assert kept == {2, 3, 4, 5}
    disk = written([Appended(1, entries(1, 2))])
    disk.begin(9, [Appended(1, entries(3, 3))])
    disk.crash()
    assert found(disk) == 2


def test_a_killed_process_loses_the_torn_group_at_most() -> None:
    """What was begun lies in the system's memory."""
    disk = written([Appended(1, entries(1, 1))])
    disk.begin(2, [Appended(1, entries(2, 2))])
    disk.begin(3, [Appended(1, entries(3, 3))])
    disk.crash(lose_unsynced=False)
    assert found(disk) == 2


def test_a_lying_disk_loses_what_it_said_was_synced() -> None:
    """But reads show it until the power fails, and a killed process finds it."""
    disk = written([Appended(1, entries(1, 1))])
    disk.lying = True
    disk.begin(2, [Appended(1, entries(2, 2)), SavedState(line("a"), b"1")])
    disk.sync_upto(2)
    assert disk.state("a") == b"1"
    disk.crash(lose_unsynced=False)
    assert found(disk) == 2
    disk.crash()
    assert found(disk) == 1
    assert disk.state("a") is None
    assert not disk.lying


def test_a_disk_that_came_to_its_senses_keeps_all() -> None:
    """What was written while it lied is durable from then on."""
    disk = written([Appended(1, entries(1, 1))])
    disk.lying = True
    disk.begin(2, [Appended(1, entries(2, 2))])
    disk.sync_upto(2)
    disk.lying = False
    disk.crash()
    assert found(disk) == 2


def test_a_failed_sync_drops_all_that_was_begun() -> None:
    """Later groups stand behind what is not there."""
    disk = written([Appended(1, entries(1, 1))])
    disk.begin(2, [Appended(1, entries(2, 2))])
    disk.begin(3, [Promised(1, 9)])
    disk.failing = "disk_refused"
    with pytest.raises(JournalFailed) as raised:
        disk.sync_upto(2)
    assert raised.value.code == "disk_refused"
    disk.failing = ""
    disk.begin(4, [Promised(1, 8)])
    with pytest.raises(JournalFailed):
        disk.sync_upto(4)
    disk.reopen()
    assert disk.recover().shards[1] == RecoveredShard(1, 0, 0, 0, entries(1, 1), 0)


def test_an_image_is_the_whole_disk() -> None:
    """Restored, it is as if nothing had been since; the copy is not touched."""
    disk = written([IdentityKept("i", 1, "n"), Appended(1, entries(1, 1))])
    image = disk.image()
    disk.begin(2, [IdentityKept("i", 2, "n"), Appended(1, entries(2, 2))])
    disk.sync_upto(2)
    disk.restore(image)
    for _ in range(2):
        assert disk.recover().boot == 1
        assert found(disk) == 1
        disk.begin(3, [Appended(1, entries(2, 2))])
        disk.sync_upto(3)
        disk.restore(image)
    disk.erase()
    assert disk.recover() == Recovered()


def test_entries_that_do_not_join_on_are_a_fault_of_the_writer() -> None:
    """So are states beyond the log: a core with such a bug is found at once."""
    with pytest.raises(JournalCorrupt, match="stands behind"):
        written([Appended(1, entries(1, 1)), Appended(1, entries(3, 3))])
    with pytest.raises(JournalCorrupt, match="stands behind"):
        written([Appended(1, entries(1, 3)), Appended(1, entries(3, 3))])
    with pytest.raises(JournalCorrupt, match="the log ends"):
        written([Appended(1, entries(1, 1)), Checkpointed(1, 2, 1)])


def test_statistics_count() -> None:
    """What was synced, lost, and is stored."""
    disk = written([Wiped(1, 3, 1, complete=True), Appended(1, entries(4, 5))])
    disk.begin(2, [SavedState(line("a"), b"")])
    disk.crash()
    assert disk.statistics() == {
        "groups_synced": 1,
        "groups_lost": 1,
        "entries": 2,
        "matches": 0,
    }
