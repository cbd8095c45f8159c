"""The one task that writes a node's journal.

What is put is written in order. What came while the last group was written is the
next group: groups grow with load, and there is one worker's hop for each. When the
disk refuses, all that waits has failed, and so has all that comes, until a probe finds
that it writes again. Each thing that was put is answered once, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import anyio

from ...runtime.errors import JournalFailed
from ...runtime.journal import Journal, StoreOp

__all__ = ["JournalWriter", "JournalWriterStatistics", "Put"]

PROBE_S_MIN = 0.1
PROBE_S_MAX = 2.0
"""Pauses between two looks whether a disk that refused writes again; doubled."""

GROUP_OPS_MAX = 4096
"""Operations in one group: bounds how long what is put meanwhile has to wait."""


@dataclass(frozen=True, slots=True)
class JournalWriterStatistics:
    """`waiting` counts operations; `broken`: the disk refuses."""

    GAUGES: ClassVar[frozenset[str]] = frozenset({"waiting"})

    broken: bool
    waiting: int
    groups: int
    operations: int
    failures: int


@dataclass(slots=True)
class Put:
    """Some operations that belong together. `ticket` 0: no replica waits for them."""

    ticket: int
    ops: tuple[StoreOp, ...]
    settled: anyio.Event | None = None  # set when it is durable, or has failed
    durable: bool = False


class JournalWriter:
    """`run` is the task. Callbacks are synchronous and must not raise.

    `done(puts)`: these are durable. `failed(puts)`: nothing of them is there.
    `mended()`: the disk writes again; it comes after every `failed`.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        done: Callable[[Sequence[Put]], None],
        failed: Callable[[Sequence[Put]], None],
        mended: Callable[[], None],
    ) -> None:
        self._journal = journal
        self._done, self._failed, self._mended = done, failed, mended
        self._waiting: list[Put] = []
        self._stirred = anyio.Event()
        self._rested = anyio.Event()
        self._rested.set()
        self._broken = False
        self._groups = self._operations = self._failures = 0

    def put(self, ticket: int, ops: tuple[StoreOp, ...]) -> None:
        """Have these written behind what was put before. Never waits."""
        self._put(Put(ticket, ops))

    def _put(self, put: Put) -> None:
        self._waiting.append(put)
        if self._rested.is_set():
            self._rested = anyio.Event()
        self._stirred.set()

    async def write(self, ops: tuple[StoreOp, ...]) -> bool:
        """Put these, without a ticket, and wait until they are durable, or not."""
        settled = anyio.Event()
        put = Put(0, ops, settled)
        self._put(put)
        await settled.wait()
        return put.durable

    async def rest(self) -> None:
        """Wait until all that was put is answered."""
        await self._rested.wait()

    async def run(self) -> None:
        """Write until cancelled; a group that was begun is finished first."""
        while True:
            await self._stirred.wait()
            self._stirred = anyio.Event()
            while puts := self._take():
                await self._write(puts)
            self._rested.set()

    def statistics(self) -> JournalWriterStatistics:
        return JournalWriterStatistics(
            broken=self._broken,
            waiting=sum(len(put.ops) for put in self._waiting),
            groups=self._groups,
            operations=self._operations,
            failures=self._failures,
        )

    def _take(self) -> list[Put]:
        """The next group: all that waits, up to the bound; at least one thing."""
        count = ops = 0
        for put in self._waiting:
            ops += len(put.ops)
            if count and ops > GROUP_OPS_MAX:
                break
            count += 1
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return taken

    async def _write(self, puts: list[Put]) -> None:
        group = [op for put in puts for op in put.ops]
        try:
            if group:
                with anyio.CancelScope(shield=True):
                    await self._journal.write(group)
        except JournalFailed:
            await self._survive(puts)
            return
        self._groups += 1
        self._operations += len(group)
        for put in puts:
            put.durable = True
        self._settle(puts, self._done)

    async def _survive(self, puts: list[Put]) -> None:
        """All that waits fails; so does what comes, until the disk writes again."""
        self._broken = True
        self._failures += 1
        self._settle(puts, self._failed)
        pause_s = PROBE_S_MIN
        while self._broken:
            with anyio.move_on_after(pause_s):
                await self._fail_what_comes()
            pause_s = min(2 * pause_s, PROBE_S_MAX)
            self._broken = not await self._reopens()
        self._fail_waiting()  # it may build on what has failed
        self._mended()

    async def _fail_what_comes(self) -> None:
        while True:
            self._fail_waiting()
            self._stirred = anyio.Event()
            await self._stirred.wait()

    def _fail_waiting(self) -> None:
        puts, self._waiting = self._waiting, []
        if puts:
            self._settle(puts, self._failed)
        self._rested.set()

    @staticmethod
    def _settle(puts: list[Put], tell: Callable[[Sequence[Put]], None]) -> None:
        tell(puts)
        for put in puts:
            if put.settled is not None:
                put.settled.set()

    async def _reopens(self) -> bool:
        with anyio.CancelScope(shield=True):
            try:
                await self._journal.reopen()
            except JournalFailed:
                return False
        return True
