"""A coordinator in one process, with the faults that a real one has.

Each handle stands for one process's client; all share a `MemoryStore`. Faults are
scripted per handle through `faults`, so a test is deterministic: nothing here draws
random numbers, and the only clock is the one that `slow_s` sleeps by.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum

import anyio

from ..coordinator import CasOutcome, CasUnknown, Change, Listing, Write, check_writes
from ..errors import CoordinatorUnavailable
from .memory_store import MemoryStore

__all__ = ["CasFault", "CoordinatorFaults", "MemoryCoordinator", "MemorySession"]


class CasFault(Enum):
    """What becomes of one compare-and-swap; its caller sees `CasUnknown` in each."""

    REQUEST_LOST = "request lost"  # it never lands
    ANSWER_LOST = "answer lost"  # it has landed, if its revisions matched
    LATE = "late"  # it is applied when `MemoryCoordinator.land_late` says so


@dataclass
class CoordinatorFaults:
    """What goes wrong for one handle.

    `script` holds the fates of the next compare-and-swaps, None for a healthy one;
    `slow_s` delays every call.
    """

    script: deque[CasFault | None] = field(default_factory=deque)
    slow_s: float = 0.0


class MemoryCoordinator:
    """One process's handle on a `MemoryStore`; implements `Coordinator`."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.faults = CoordinatorFaults()
        self._down = False
        self._late: list[Sequence[Write]] = []
        self._watches: dict[_Watch, None] = {}

    @property
    def down(self) -> bool:
        """While true, this handle reaches nothing and its watches break."""
        return self._down

    @down.setter
    def down(self, down: bool) -> None:
        self._down = down
        for watch in tuple(self._watches):
            watch.wake()

    def land_late(self) -> tuple[CasOutcome, ...]:
        """Apply the requests that were made late, oldest first."""
        late, self._late = self._late, []
        return tuple(self.store.apply(writes) for writes in late)

    async def list(self, prefix: str) -> Listing:
        """Linearizable read of all keys under `prefix`.

        Raises:
            CoordinatorUnavailable: The handle is down.
        """
        await self._reach()
        return self.store.list(prefix)

    async def cas_many(self, writes: Sequence[Write]) -> CasOutcome:
        """Apply all writes or none.

        Raises:
            ValueError: See `Coordinator.cas_many`.
        """
        check_writes(writes)
        try:
            await self._reach()
        except CoordinatorUnavailable as error:
            return CasUnknown(str(error))
        fault = self.faults.script.popleft() if self.faults.script else None
        if fault is None:
            return self.store.apply(writes)
        if fault is CasFault.ANSWER_LOST:
            self.store.apply(writes)
        elif fault is CasFault.LATE:
            self._late.append(tuple(writes))
        return CasUnknown(fault.value)

    @asynccontextmanager
    async def session(self, ttl_s: float) -> AsyncIterator[MemorySession]:
        """A session until the block ends, or `MemoryStore.end_session`.

        Raises:
            CoordinatorUnavailable: The handle is down.
        """
        await self._reach()
        session = MemorySession(self.store, self.store.open_session())
        try:
            yield session
        finally:
            self.store.end_session(session.id)

    @asynccontextmanager
    async def watch(
        self, prefix: str, from_revision: int
    ) -> AsyncIterator[AsyncIterator[tuple[Change, ...]]]:
        """Changes under `prefix` after `from_revision`; see `Coordinator.watch`."""
        watch = _Watch(self, prefix, from_revision)
        self._watches[watch] = None
        self.store.listen(watch.wake)
        try:
            yield watch
        finally:
            self.store.unlisten(watch.wake)
            del self._watches[watch]

    async def __aenter__(self) -> MemoryCoordinator:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.down = True

    async def _reach(self) -> None:
        await anyio.sleep(self.faults.slow_s)
        if self._down:
            raise CoordinatorUnavailable("the coordinator is down")


@dataclass(frozen=True)
class MemorySession:
    """Implements `Session`."""

    store: MemoryStore
    id: str

    @property
    def lost(self) -> bool:
        return not self.store.has_session(self.id)


class _Watch:
    """An async iterator over transactions."""

    def __init__(self, handle: MemoryCoordinator, prefix: str, revision: int) -> None:
        self._handle = handle
        self._prefix = prefix
        self._revision = revision
        self._woken = anyio.Event()

    def wake(self) -> None:
        self._woken.set()

    def __aiter__(self) -> _Watch:
        return self

    async def __anext__(self) -> tuple[Change, ...]:
        while True:
            await anyio.lowlevel.checkpoint()
            self._woken = anyio.Event()
            if self._handle.down:
                raise CoordinatorUnavailable("the coordinator went away: list again")
            found = self._handle.store.changes_after(self._prefix, self._revision)
            if found:
                self._revision, changes = found[0]
                return changes
            self._revision = self._handle.store.revision
            await self._woken.wait()
