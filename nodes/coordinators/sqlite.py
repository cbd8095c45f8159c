"""The coordinator in a SQLite file: the default, for the processes of one machine.

WAL and synchronous=FULL: an acknowledged compare-and-swap survives a power cut. Each
handle has two connections. Reads run inline on the loop: in WAL mode they wait for no
writer and take tens of microseconds (a reader meets a lock only for the moment in
which the file is opened, recovered or closed by the last process). Writes run in a
worker thread, one at a time: they wait for other processes' transactions and for the
disk, which must never stop the loop that plays matches.

Rules: an error or a timeout of a write is `CasUnknown`, also where SQLite could say
more, since callers must be able to live with it anyway; watches poll
`PRAGMA data_version`, and are woken at once by this handle's own writes. Sessions are
rows with an expiry by the wall clock, the only one that processes share and that
outlives a reboot: a step of it costs a registration, never safety. Every write, and
now and then a watch, ends the sessions that have expired.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from ...runtime.clock import Clock, SystemClock
from ...runtime.coordinator import (
    CasOutcome,
    CasUnknown,
    Change,
    Listing,
    Write,
    check_writes,
)
from ...runtime.errors import CoordinatorUnavailable
from ..telemetry import get_logger
from .kept_session import kept_session
from .sqlite_file import CoordinatorFile

__all__ = ["SqliteCoordinator", "SqliteSession"]

WRITE_BUSY_S = 1.0
"""How long a write waits for other processes' transactions (each takes ~1 ms)."""

READ_BUSY_S = 0.05
"""How long a read may hold the loop while the file is opened or closed elsewhere."""

POLL_S = 0.05
"""Between two looks of a watch at `data_version` (a few microseconds each)."""

SWEEP_S = 0.25
"""Between two looks of a watch for expired sessions."""

log = get_logger()

T = TypeVar("T")


class SqliteCoordinator:
    """Implements `Coordinator` on a file that all processes of the cluster open."""

    def __init__(
        self, path: Path, *, create: bool = True, clock: Clock | None = None
    ) -> None:
        """`create`: make the file if it is not there. Otherwise that is an error."""
        self._path = path
        self._create = create
        self._file = (0, 0)
        self._clock: Clock = clock or SystemClock()
        self._reader: CoordinatorFile | None = None
        self._writer: CoordinatorFile | None = None
        self._written = anyio.Event()
        self._sweep_due_s = 0.0

    async def __aenter__(self) -> SqliteCoordinator:
        """Open the file.

        Raises:
            CoordinatorFileInvalid: It is not ours, too new, or cannot be opened.
            CoordinatorUnavailable: Other processes keep it locked.
        """
        self._one_write = anyio.CapacityLimiter(1)
        self._writer = await self._in_thread(
            lambda: CoordinatorFile.open(
                self._path, busy_s=WRITE_BUSY_S, create=self._create
            )
        )
        try:
            self._reader = await self._in_thread(
                lambda: CoordinatorFile.open(
                    self._path, busy_s=READ_BUSY_S, create=False
                )
            )
            self._file = _identity(self._path)
        except BaseException:
            self._writer.close()
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        reader, self._reader = self._reader, None
        writer, self._writer = self._writer, None
        self._wake_watches()
        with anyio.CancelScope(shield=True):
            if reader is not None:
                reader.close()
            if writer is not None:  # the last to close the file folds the WAL in
                await self._in_thread(writer.close)

    async def list(self, prefix: str) -> Listing:
        """Linearizable read of all keys under `prefix`.

        Raises:
            CoordinatorUnavailable: The file cannot be read.
        """
        await anyio.lowlevel.checkpoint()
        return self._read(lambda file: file.list(prefix))

    async def cas_many(self, writes: Sequence[Write]) -> CasOutcome:
        """Apply all writes or none.

        Raises:
            ValueError: See `Coordinator.cas_many`.
        """
        check_writes(writes)
        now_ms = self._clock.now_ms()
        try:
            return await self._write(lambda file: file.apply(writes, now_ms))
        except CoordinatorUnavailable as error:
            return CasUnknown(str(error))

    @asynccontextmanager
    async def session(self, ttl_s: float) -> AsyncIterator[SqliteSession]:
        """A row that is renewed until the block ends.

        Raises:
            CoordinatorUnavailable: The file cannot be written.
        """
        session = SqliteSession(secrets.token_hex(8))
        ttl_ms = round(ttl_s * 1000)
        now_ms = self._clock.now_ms()
        await self._write(lambda file: file.open_session(session.id, ttl_ms, now_ms))
        renew = partial(self._renew, period_s=ttl_s / 3)
        async with kept_session(session, renew, self._end):
            yield session

    @asynccontextmanager
    async def watch(
        self, prefix: str, from_revision: int
    ) -> AsyncIterator[AsyncIterator[tuple[Change, ...]]]:
        """Changes under `prefix` after `from_revision`; see `Coordinator.watch`."""
        yield _Watch(self, prefix, from_revision)

    def _read(self, read: Callable[[CoordinatorFile], T]) -> T:
        if self._reader is None:
            raise CoordinatorUnavailable(f"the coordinator file {self._path} is closed")
        self._look_at_file()
        try:
            return read(self._reader)
        except sqlite3.Error as error:
            raise CoordinatorUnavailable(
                f"cannot read {self._path}: {error}"
            ) from error

    async def _write(self, write: Callable[[CoordinatorFile], T]) -> T:
        writer = self._writer
        if writer is None:
            await anyio.lowlevel.checkpoint()
            raise CoordinatorUnavailable(f"the coordinator file {self._path} is closed")
        self._look_at_file()
        try:
            return await self._in_thread(lambda: write(writer))
        except sqlite3.Error as error:
            raise CoordinatorUnavailable(
                f"cannot write {self._path}: {error}"
            ) from error
        finally:
            self._wake_watches()

    def _look_at_file(self) -> None:
        """What other processes open must be what we opened: else nothing is decided.

        Raises:
            CoordinatorUnavailable: The file was deleted or replaced.
        """
        if _identity(self._path) != self._file:
            raise CoordinatorUnavailable(
                f"the coordinator file {self._path} was deleted or replaced: stop the"
                " cluster, put the file back, and start it again"
            )

    async def _in_thread(self, call: Callable[[], T]) -> T:
        # Not abandoned when cancelled: what was begun is finished and known.
        return await anyio.to_thread.run_sync(call, limiter=self._one_write)

    def _wake_watches(self) -> None:
        self._written.set()
        self._written = anyio.Event()

    async def _renew(self, session: SqliteSession, period_s: float) -> None:
        while not session.lost:
            await anyio.sleep(period_s)
            now_ms = self._clock.now_ms()
            renew = partial(
                CoordinatorFile.renew_session, session=session.id, now_ms=now_ms
            )
            try:
                session.lost = not await self._write(renew)
            except CoordinatorUnavailable as error:
                log.warning("session_not_renewed", session=session.id, error=str(error))

    async def _end(self, session: SqliteSession) -> None:
        session.lost = True
        try:
            await self._write(lambda file: file.end_session(session.id))
        except CoordinatorUnavailable as error:
            log.warning("session_left_to_expire", session=session.id, error=str(error))

    async def _wait_for_changes(self) -> None:
        """Until this handle wrote, or it is time to look what others did."""
        with anyio.move_on_after(POLL_S):
            await self._written.wait()
        if anyio.current_time() < self._sweep_due_s:
            return
        self._sweep_due_s = anyio.current_time() + SWEEP_S
        now_ms = self._clock.now_ms()
        if self._read(lambda file: file.has_expired(now_ms)):
            await self._write(lambda file: file.sweep(now_ms))


def _identity(path: Path) -> tuple[int, int]:
    """Tells a file from another one of the same name; (0, 0): there is none."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


class SqliteSession:
    """Implements `Session`."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.lost = False


class _Watch:
    """An async iterator over transactions."""

    def __init__(self, handle: SqliteCoordinator, prefix: str, revision: int) -> None:
        self._handle = handle
        self._prefix = prefix
        self._revision = revision  # up to which everything is in _waiting or given
        self._waiting: deque[tuple[Change, ...]] = deque()
        self._version: int | None = None

    def __aiter__(self) -> _Watch:
        return self

    async def __anext__(self) -> tuple[Change, ...]:
        await anyio.lowlevel.checkpoint()
        while not self._waiting:
            # The version first: what is committed in between is only read twice.
            version = self._handle._read(lambda file: file.data_version())
            if version == self._version:
                await self._handle._wait_for_changes()
                continue
            found, self._revision = self._handle._read(
                lambda file: file.changes_after(self._prefix, self._revision)
            )
            self._version = version
            self._waiting.extend(found)
        return self._waiting.popleft()
