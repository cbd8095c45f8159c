"""The journal in an SQLite file: the contract, the file, what can befall it."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest
import structlog

from hotseat.nodes.journal.file import CUT_ROWS_MIN, SCHEMA_VERSION
from hotseat.nodes.journal.recovery import open_journal
from hotseat.nodes.journal.sqlite_journal import SqliteJournal
from hotseat.runtime.errors import (
    FormatTooNew,
    JournalCorrupt,
    JournalFailed,
    JournalForeign,
    JournalInUse,
)
from hotseat.runtime.journal import Checkpointed, SavedHistory, SavedState, StoreOp
from hotseat.runtime.journal_codec import JOURNAL_FORMAT
from hotseat.runtime.replication.output import Appended, Commit, IdentityKept, Promised
from hotseat.runtime.replication.recovered import Recovered
from hotseat.runtime.sealed import seal
from hotseat.runtime.testing.check_journal import (
    JOURNAL_CHECKS,
    JournalRig,
    entries,
    line,
    random_groups,
)
from hotseat.runtime.testing.memory_journal import DiskImage

BACKENDS = pytest.mark.parametrize("backend", ["trio", "asyncio"])

FULL = 300_000
"""Bytes beyond which the disk of these tests is full."""


class SqliteRig:
    """A fresh file; see `JournalRig`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal: SqliteJournal | None = None

    def open(self) -> SqliteJournal:
        self.journal = SqliteJournal(self.path)
        return self.journal

    async def fill(self, full: bool) -> None:
        assert self.journal is not None
        self.journal.bytes_max = FULL if full else None
        if full:
            assert self.journal._file is not None
            self.journal._file.limit(FULL)

    async def spoil(self, match: str) -> None:
        with raw(self.path) as connection:
            ((body,),) = connection.execute(
                "SELECT body FROM state WHERE match = ?", (match,)
            )
            connection.execute(
                "UPDATE state SET body = ? WHERE match = ?", (flipped(body), match)
            )

    async def damage(self) -> None:
        with raw(self.path) as connection:
            ((body,),) = connection.execute("SELECT body FROM journal WHERE id = 3")
            connection.execute(
                "UPDATE journal SET body = ? WHERE id = 3", (flipped(body),)
            )


def raw(path: Path) -> closing[sqlite3.Connection]:
    """The file as any program may open it."""
    return closing(sqlite3.connect(path, isolation_level=None))


def content(path: Path) -> bytes:
    """What is in a file now."""
    return path.read_bytes()


def flipped(body: bytes) -> bytes:
    """The same but for one bit."""
    return body[:-1] + bytes((body[-1] ^ 1,))


@asynccontextmanager
async def sqlite_rig(path: Path) -> AsyncIterator[JournalRig]:
    """A rig for one check."""
    yield SqliteRig(path / "journal.db")


@BACKENDS
@pytest.mark.parametrize("check", JOURNAL_CHECKS, ids=lambda check: check.__name__)
def test_the_contract(check: Any, backend: str, tmp_path: Path) -> None:
    """The file keeps the contract of `Journal`, on trio and on asyncio."""

    async def main() -> None:
        async with sqlite_rig(tmp_path) as rig:
            await check(rig)

    anyio.run(main, backend=backend)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the journal is."""
    return tmp_path / "data" / "journal.db"


async def write(path: Path, *groups: Any) -> None:
    """Open the journal, write groups, close it."""
    async with SqliteJournal(path) as journal:
        for group in groups:
            await journal.write(group)


async def found(path: Path) -> Recovered:
    """What a start finds."""
    async with SqliteJournal(path) as journal:
        return journal.recovered


FIVE: list[list[StoreOp]] = [[Appended(1, entries(seq, seq))] for seq in range(1, 6)]
WHOLE: list[list[StoreOp]] = [
    [IdentityKept("i", 1, "n")],
    *FIVE,
    [SavedState(line("a"), b"1" * 50), SavedHistory("a", 0, (b"r",))],
]


async def test_the_file_is_its_owners_alone(path: Path) -> None:
    """It and what SQLite keeps beside it hold secrets: mode 0600."""
    async with SqliteJournal(path) as journal:
        await journal.write([Promised(1, 1)])
        files = sorted(path.parent.iterdir())
        assert len(files) == 4
        for file in files:
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


async def test_one_process_has_it_open(path: Path, monkeypatch: Any) -> None:
    """A second one is refused, and the first goes on."""
    monkeypatch.setattr("hotseat.nodes.journal.sqlite_journal.LOCK_S", 0)
    async with SqliteJournal(path) as journal:
        second = SqliteJournal(path)
        second._lock._wait_s = 0
        with pytest.raises(JournalInUse, match="stop it first"):
            await second.__aenter__()
        await journal.write([Promised(1, 1)])
    assert (await found(path)).shards[1].promised == 1


async def test_what_waits_becomes_one_group(path: Path) -> None:
    """All that arrives while a group is written is committed together."""
    async with SqliteJournal(path) as journal:
        async with anyio.create_task_group() as tasks:
            for shard in range(200):
                tasks.start_soon(journal.write, [Promised(shard, 1)])
        statistics = journal.statistics()
        assert statistics.operations == 200
        assert statistics.groups < 20
        assert statistics.waiting == 0


async def test_a_cancelled_caller_changes_nothing_for_others(path: Path) -> None:
    """What it handed over is written in its place."""
    async with SqliteJournal(path) as journal, anyio.create_task_group() as tasks:
        tasks.start_soon(journal.write, [Appended(1, entries(1, 1))])
        await anyio.wait_all_tasks_blocked()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await journal.write([Appended(1, entries(2, 2))])
        await journal.write([Appended(1, entries(3, 3))])
    assert (await found(path)).shards[1].entries == entries(1, 3)


async def test_hints_alone_cost_no_commit(path: Path) -> None:
    """They ride on the next group that must be durable."""
    async with SqliteJournal(path) as journal:
        await journal.write([Appended(1, entries(1, 5))])
        before = journal.statistics().rows
        for seq in range(1, 5):
            await journal.write([Commit(1, seq)])
        assert journal.statistics().rows == before
        await journal.write([Promised(2, 1)])
    assert (await found(path)).shards[1].commit == 4


async def test_the_journal_is_cut_behind_what_is_needed(path: Path) -> None:
    """Rows stay bounded however much is played; one shard that lags keeps its own."""
    async with SqliteJournal(path) as journal:
        await journal.write([Appended(2, entries(1, 1))])
        for seq in range(1, 1001):
            await journal.write(
                [Appended(1, entries(seq, seq)), Checkpointed(1, seq, 1)]
            )
        assert journal.statistics().rows == 1001
        await journal.write([Checkpointed(2, 1, 1)])
        for epoch in range(10):
            await journal.write([Promised(3, epoch)])
        statistics = journal.statistics()
        assert statistics.rows <= CUT_ROWS_MIN
        assert statistics.rows + statistics.rows_cut == 1012
    recovered = await found(path)
    assert {shard: log.base_seq for shard, log in recovered.shards.items()} == {
        1: 1000,
        2: 1,
        3: 0,
    }


@pytest.mark.parametrize("seed", range(12))
def test_however_it_is_cut_and_ended_it_is_read_whole(
    seed: int, path: Path, monkeypatch: Any
) -> None:
    """Any groups, cut as soon as can be, with orderly ends and others between."""
    monkeypatch.setattr("hotseat.nodes.journal.file.CUT_ROWS_MIN", 1 + seed % 5)
    monkeypatch.setattr("hotseat.nodes.journal.file.CUT_ROWS_MAX", 2 + seed % 7)
    path.parent.mkdir()
    rng = Random(seed)
    account = DiskImage()
    groups = random_groups(rng, 300)
    while groups:
        opened = open_journal(path)
        assert opened.recovered == account.recover(), opened.reason
        for group in groups[: rng.randint(1, 60)]:
            account.apply(group)
            opened.file.write(group)
            groups.pop(0)
        if rng.random() < 0.5:
            opened.file.mark(clean=True)
        opened.file.close()


async def test_a_torn_tail_is_cut_at_the_last_whole_group(path: Path) -> None:
    """Wherever the write-ahead file ends, a number of the first groups is found."""
    async with SqliteJournal(path) as journal:
        for group in WHOLE:
            await journal.write(group)
        wal = content(path.with_name("journal.db-wal"))
        base = content(path)
    seen = set()
    for kept in range(len(wal) - 60_000, len(wal), 997):
        torn = path.parent / f"torn-{kept}" / "journal.db"
        torn.parent.mkdir()
        torn.write_bytes(base)
        torn.with_name("journal.db-wal").write_bytes(wal[:kept])
        recovered = await found(torn)
        if recovered.ident:
            count = len(recovered.shards[1].entries) if recovered.shards else 0
            assert count == 0 or recovered.shards[1].entries == entries(1, count)
            seen.add(count)
    assert {0, 1, 2, 3, 4, 5} >= seen
    assert len(seen) >= 3


def garbage(path: Path) -> None:
    """A file that is no database."""
    path.write_bytes(b"not a database at all " * 1000)


def torn_page(path: Path) -> None:
    """A page in the middle that holds other bytes."""
    pages = bytearray(content(path))
    for start in range(4096, len(pages), 4096):
        pages[start : start + 64] = b"\xff" * 64
    path.write_bytes(pages)


def missing_row(path: Path) -> None:
    """A group in the middle that is gone."""
    with raw(path) as connection:
        connection.execute("DELETE FROM journal WHERE id = 4")


def bad_line(path: Path) -> None:
    """A manifest that has changed."""
    with raw(path) as connection:
        ((body,),) = connection.execute("SELECT body FROM line")
        connection.execute("UPDATE line SET body = ?", (flipped(body),))


@pytest.mark.parametrize("damage", [garbage, torn_page, missing_row, bad_line])
async def test_what_lost_something_is_set_aside(
    path: Path, damage: Callable[[Path], None]
) -> None:
    """The node begins without an identity; the file stays for the operator."""
    await write(path, *WHOLE)
    damage(path)
    with structlog.testing.capture_logs() as logs:
        assert await found(path) == Recovered()
    assert [entry["event"] for entry in logs] == ["journal_set_aside"]
    assert logs[0]["now"] == f"{path}.corrupt-1"
    assert path.with_name("journal.db.corrupt-1").exists()
    await write(path, [IdentityKept("j", 1, "n")])
    assert (await found(path)).ident == "j"


async def test_a_copy_without_its_last_writes_is_found_out(path: Path) -> None:
    """Of a running node's two files, one is not enough."""
    async with SqliteJournal(path) as journal:
        for group in WHOLE:
            await journal.write(group)
        copy = path.parent / "copy" / "journal.db"
        copy.parent.mkdir()
        copy.write_bytes(content(path))
    assert await found(copy) == Recovered()
    assert copy.with_name("journal.db.corrupt-1").exists()
    assert (await found(path)).ident == "i"


async def test_a_missing_file_with_its_wal_left_is_a_loss(path: Path) -> None:
    """What is beside it is set aside with it."""
    async with SqliteJournal(path) as journal:
        await journal.write([Promised(1, 1)])
        left = path.parent / "left" / "journal.db"
        left.parent.mkdir()
        wal = content(path.with_name("journal.db-wal"))
        left.with_name("journal.db-wal").write_bytes(wal)
    assert await found(left) == Recovered()
    assert left.with_name("journal.db.corrupt-1-wal").exists()


async def test_a_newer_schema_is_refused_and_left(path: Path) -> None:
    """Nothing is set aside: the other version will read it again."""
    await write(path, *WHOLE)
    with raw(path) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(JournalForeign, match="upgrade this node"):
        await found(path)
    with raw(path) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    assert (await found(path)).ident == "i"


async def test_a_newer_format_of_a_group_is_refused_and_left(path: Path) -> None:
    """The same for one blob."""
    await write(path, *WHOLE)
    with raw(path) as connection:
        connection.execute(
            "UPDATE journal SET body = ? WHERE id = 2", (seal(JOURNAL_FORMAT + 1, b""),)
        )
    with pytest.raises(FormatTooNew, match="upgrade this node"):
        await found(path)
    assert not path.with_name("journal.db.corrupt-1").exists()


async def test_another_programs_database_is_left_alone(path: Path) -> None:
    """It is neither written nor set aside."""
    path.parent.mkdir()
    with raw(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = content(path)
    with pytest.raises(JournalForeign, match="another program"):
        await found(path)
    assert content(path) == before


async def test_a_folder_that_takes_no_file_is_said(path: Path) -> None:
    """The error names the file, and what to look at."""
    (path / "in the way").mkdir(parents=True)
    with pytest.raises(JournalFailed, match="permissions") as raised:
        await found(path)
    assert raised.value.code == "disk_refused"


async def test_spoilt_history_is_an_error(path: Path) -> None:
    """Records of a run that has changed are not given out."""
    await write(path, *WHOLE)
    with raw(path) as connection:
        connection.execute("UPDATE history SET body = substr(body, 1, 7)")
    async with SqliteJournal(path) as journal:
        with pytest.raises(JournalCorrupt, match="history"):
            journal.history("a", 0, 100)


async def test_a_failure_is_told_and_counted(path: Path) -> None:
    """Once in the log, and in the statistics until the disk is back."""
    rig = SqliteRig(path)
    async with rig.open() as journal:
        await rig.fill(True)
        with structlog.testing.capture_logs() as logs:
            for _ in range(3):
                with pytest.raises(JournalFailed, match="make room"):
                    await journal.write([SavedState(line("a"), b"x" * 10**6)])
        assert [entry["event"] for entry in logs] == ["journal_failed"]
        assert journal.statistics().failing
        assert journal.statistics().failures == 1
        await rig.fill(False)
        await journal.reopen()
        assert not journal.statistics().failing
        await journal.write([SavedState(line("a"), b"x" * 10**6)])
        assert journal.statistics().groups == 1
