"""A node's journal in an SQLite file: group commits in a thread, reads on the loop.

Whatever arrives while a group is written becomes the next group: one transaction, one
fsync, one hop to a worker thread for all of it. So batches grow with load, and nobody
waits for a timer. A caller that is cancelled leaves its operations in the queue: they
are written all the same, in their order.

After a failure nothing is written until `reopen`: what waited is refused too, since it
stands behind what is not there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread
from anyio.abc import TaskGroup

from ...runtime.errors import JournalFailed, JournalInUse
from ...runtime.journal import JournalStatistics, MatchLine, StoreOp
from ...runtime.replication.recovered import Recovered
from ..pid_file import PidFile, PidFileHeld
from ..telemetry import get_logger
from .file import JournalFile, failed
from .reader import JournalReader
from .recovery import Opened, open_journal

__all__ = ["SqliteJournal"]

LOCK_S = 2.0
"""How long to wait for another process to let go of the file: it may be stopping."""

log = get_logger()

T = TypeVar("T")


@dataclass(slots=True)
class _Waiting:
    """A call of `write`."""

    ops: Sequence[StoreOp]
    done: anyio.Event = field(default_factory=anyio.Event)
    failure: JournalFailed | None = None


class SqliteJournal:
    """Implements `Journal`. One process at a time has a file open."""

    def __init__(self, path: Path, *, bytes_max: int | None = None) -> None:
        """`bytes_max`: the file does not grow beyond it; the disk counts as full."""
        self.path = path
        self.bytes_max = bytes_max
        self._lock = PidFile(path.with_name(f"{path.name}.pid"), wait_s=LOCK_S)
        self._file: JournalFile | None = None
        self._reader: JournalReader | None = None
        self._recovered = Recovered()
        self._tasks: TaskGroup | None = None
        self._waiting: list[_Waiting] = []
        self._writing: list[_Waiting] = []
        self._wake = anyio.Event()
        self._failure: JournalFailed | None = None
        self._closing = False
        self._groups = self._operations = self._failures = 0

    async def __aenter__(self) -> SqliteJournal:
        """Open the file and recover.

        Raises:
            JournalInUse: Another process has it open.
            JournalForeign: It is another program's, or a newer version wrote it.
            FormatTooNew: A newer version wrote a part of it.
            JournalFailed: It cannot be opened or written.
        """
        self._one = anyio.CapacityLimiter(1)
        opened = await self._in_thread(self._open)
        self._recovered = opened.recovered
        if opened.set_aside is not None:
            log.error(
                "journal_set_aside",
                path=str(self.path),
                now=str(opened.set_aside),
                reason=opened.reason,
            )
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._write_groups)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Write what waits, and close the file."""
        assert self._tasks is not None
        self._closing = True
        self._wake.set()
        try:
            # What the caller raised is the caller's: it is not put into a group.
            await self._tasks.__aexit__(None, None, None)
        finally:
            with anyio.CancelScope(shield=True):
                await self._in_thread(self._close)

    @property
    def recovered(self) -> Recovered:
        """What was found when it was opened."""
        return self._recovered

    async def write(self, ops: Sequence[StoreOp]) -> None:
        """Make a group durable, or a part of a larger one.

        Raises:
            JournalFailed: Nothing of it is there, nor of any later one.
        """
        assert not self._closing, "the journal is closed"
        if self._failure is not None:
            await anyio.lowlevel.checkpoint()
            raise _again(self._failure)
        waiting = _Waiting(ops)
        self._waiting.append(waiting)
        self._wake.set()
        await waiting.done.wait()
        if waiting.failure is not None:
            raise _again(waiting.failure)

    async def reopen(self) -> None:
        """Try again after a failure.

        Raises:
            JournalFailed: It is still so.
        """
        if self._failure is None:
            return
        step = partial(self._open_file.reopen, self.bytes_max)
        with anyio.CancelScope(shield=True):
            await self._in_thread(step)
        self._failure = None
        log.info("journal_back", path=str(self.path))

    def manifest(self, shard: int, after: str = "") -> Iterator[MatchLine]:
        """The lines of a shard's matches behind `after`, sorted by match.

        Raises:
            JournalCorrupt: They cannot be read.
        """
        return self._read.manifest(shard, after)

    def line(self, match: str) -> MatchLine | None:
        """The line of one match, buried ones too; None if nothing is stored.

        Raises:
            JournalCorrupt: It cannot be read.
        """
        return self._read.line(match)

    def state(self, match: str) -> bytes | None:
        """The packed state, or None if none is stored.

        Raises:
            JournalCorrupt: Its checksum is wrong.
        """
        return self._read.state(match)

    def history(self, match: str, first: int, bytes_max: int) -> tuple[bytes, ...]:
        """Packed records from `first` on: one at least, then up to `bytes_max`.

        Raises:
            JournalCorrupt: A record's checksum is wrong.
        """
        return self._read.history(match, first, bytes_max)

    def marks(
        self, match: str, first: int, last: int, bytes_max: int
    ) -> tuple[tuple[int, bytes], ...]:
        """What was kept of the match's past; see `StoreReader`."""
        return self._read.marks(match, first, last, bytes_max)

    def statistics(self) -> JournalStatistics:
        """What it has done, and how it stands."""
        file = self._file
        return JournalStatistics(
            groups=self._groups,
            operations=self._operations,
            bytes=file.bytes_written if file is not None else 0,
            failures=self._failures,
            rows=file.rows if file is not None else 0,
            rows_cut=file.rows_cut if file is not None else 0,
            waiting=len(self._waiting) + len(self._writing),
            failing=self._failure is not None,
        )

    async def _write_groups(self) -> None:
        # Shielded: what was handed over is written and answered, to the end.
        with anyio.CancelScope(shield=True):
            while not self._closing:
                await self._wake.wait()
                self._wake = anyio.Event()
                while self._waiting:
                    await self._write_group()

    async def _write_group(self) -> None:
        """Write what waits as one group, and answer it."""
        group, self._waiting = self._waiting, []
        self._writing = group
        ops = [op for waiting in group for op in waiting.ops]
        if self._failure is None:
            try:
                await self._in_thread(partial(self._open_file.write, ops))
                self._groups += 1
                self._operations += len(ops)
            except JournalFailed as error:
                self._failures += 1
                self._failure = error
                log.error(
                    "journal_failed",
                    path=str(self.path),
                    code=error.code,
                    error=str(error),
                )
        self._writing = []
        for waiting in group:
            waiting.failure = self._failure
            waiting.done.set()

    async def _in_thread(self, step: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(step, limiter=self._one)

    def _open(self) -> Opened:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.__enter__()
        except PidFileHeld as error:
            raise JournalInUse(
                f"the journal {self.path} is open in {error}: stop it first"
            ) from error
        try:
            opened = open_journal(self.path)
            self._file = opened.file
            self._reader = JournalReader(self.path)
            self._file.limit(self.bytes_max)
        except sqlite3.Error as error:
            self._release()
            raise failed(self.path, error) from error
        except BaseException:
            self._release()
            raise
        return opened

    def _close(self) -> None:
        try:
            if self._failure is None:
                self._open_file.mark(clean=True)
                self._read.close()  # so that the last to close can fold
                self._reader = None
        except JournalFailed as error:
            log.error(
                "journal_failed", path=str(self.path), code=error.code, error=str(error)
            )
        finally:
            self._release()

    def _release(self) -> None:
        if self._file is not None:
            self._file.close()
        if self._reader is not None:
            self._reader.close()
        self._lock.__exit__(None, None, None)

    @property
    def _open_file(self) -> JournalFile:
        assert self._file is not None, "the journal is not open"
        return self._file

    @property
    def _read(self) -> JournalReader:
        assert self._reader is not None, "the journal is not open"
        return self._reader


def _again(failure: JournalFailed) -> JournalFailed:
    """The same, to be raised in another task."""
    return JournalFailed(failure.code, str(failure))
