"""The journal's writer: order, groups, and what becomes of things when a disk fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import cast

import anyio

from hotseat.nodes.journal.writer import JournalWriter, Put
from hotseat.runtime.errors import JournalFailed
from hotseat.runtime.journal import Journal, StoreOp
from hotseat.runtime.replication.output import Commit

A, B, C, D = (Commit(0, seq) for seq in range(4))


class Disk:
    """A journal whose groups are held until they are let go, and which can fail."""

    def __init__(self) -> None:
        self.groups: list[tuple[StoreOp, ...]] = []
        self.failing = False
        self.open = anyio.Event()
        self.open.set()
        self.probes = 0

    async def write(self, ops: Sequence[StoreOp]) -> None:
        await self.open.wait()
        if self.failing:
            raise JournalFailed("disk_full", "no space is left")
        self.groups.append(tuple(ops))

    async def reopen(self) -> None:
        self.probes += 1
        if self.failing:
            raise JournalFailed("disk_full", "no space is left")


class Stage:
    """A writer, and what it called back, in order."""

    def __init__(self) -> None:
        self.disk = Disk()
        self.news: list[object] = []
        self.writer = JournalWriter(
            cast("Journal", self.disk),
            done=lambda puts: self.hear("done", puts),
            failed=lambda puts: self.hear("failed", puts),
            mended=lambda: self.news.append("mended"),
        )

    def hear(self, kind: str, puts: Sequence[Put]) -> None:
        self.news.append((kind, *(put.ticket for put in puts)))


@asynccontextmanager
async def stage() -> AsyncIterator[Stage]:
    made = Stage()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.writer.run)
        yield made
        tasks.cancel_scope.cancel()


async def test_what_comes_while_a_group_is_written_is_the_next_group() -> None:
    """Groups grow with load; the order is kept; each is answered once."""
    async with stage() as it:
        it.disk.open = anyio.Event()
        it.writer.put(1, (A,))
        await anyio.wait_all_tasks_blocked()
        it.writer.put(2, (B,))
        it.writer.put(3, (C, D))
        it.disk.open.set()
        await it.writer.rest()
        assert it.disk.groups == [(A,), (B, C, D)]
        assert it.news == [("done", 1), ("done", 2, 3)]


async def test_an_empty_put_is_answered_in_its_turn() -> None:
    """Whoever waits for nothing still waits for what came before."""
    async with stage() as it:
        it.writer.put(1, (A,))
        it.writer.put(2, ())
        await it.writer.rest()
        assert it.disk.groups == [(A,)]
        assert it.news == [("done", 1, 2)]


async def test_a_refusing_disk_fails_all_until_it_writes_again(
    autojump_clock: object,
) -> None:
    """What came behind a failed group fails too: it may build on it."""
    async with stage() as it:
        it.disk.failing = True
        it.writer.put(1, (A,))
        await it.writer.rest()
        it.writer.put(2, (B,))
        await it.writer.rest()
        assert it.news == [("failed", 1), ("failed", 2)]
        assert it.writer.statistics().broken
        await anyio.sleep(20)
        assert 5 < it.disk.probes < 20
        it.disk.failing = False
        await anyio.sleep(3)
        it.writer.put(3, (C,))
        await it.writer.rest()
        assert it.news[2:] == ["mended", ("done", 3)]
        assert it.disk.groups == [(C,)]
        assert not it.writer.statistics().broken


async def test_a_disk_is_probed_while_things_keep_coming(
    autojump_clock: object,
) -> None:
    """A busy node notices that its disk is back."""
    async with stage() as it:
        it.disk.failing = True
        for ticket in range(1, 100):
            it.writer.put(ticket, (A,))
            await anyio.sleep(0.05)
        it.disk.failing = False
        for ticket in range(100, 200):
            it.writer.put(ticket, (B,))
            await anyio.sleep(0.05)
        assert it.news.count("mended") == 1
        assert ("done", 199) in it.news
        told = [n for news in it.news if isinstance(news, tuple) for n in news[1:]]
        assert told == list(range(1, 200))


async def test_write_returns_when_it_is_known(autojump_clock: object) -> None:
    """Durable or failed: who waits goes on either way."""
    async with stage() as it:
        assert await it.writer.write((A,))
        assert it.disk.groups == [(A,)]
        it.disk.failing = True
        assert not await it.writer.write((B,))
        assert it.disk.groups == [(A,)]


async def test_what_failed_just_before_the_disk_was_back_has_failed(
    autojump_clock: object,
) -> None:
    """It came while the disk was looked at, and fails with the rest: whoever waits for
    it is not told that it is durable."""
    async with stage() as it:
        it.disk.failing = True
        told: list[bool] = []

        async def write() -> None:
            told.append(await it.writer.write((B,)))

        async def reopen() -> None:
            waiting.start_soon(write)
            await anyio.wait_all_tasks_blocked()
            it.disk.failing = False

        it.writer.put(1, (A,))
        await it.writer.rest()
        it.disk.reopen = reopen  # type: ignore[method-assign]
        async with anyio.create_task_group() as waiting:
            await anyio.sleep(5)
        assert told == [False]
        assert it.disk.groups == []
