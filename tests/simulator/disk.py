"""A node's disk, in time: one write at a time, what waits meanwhile becomes the next.

It outlives the processes of its node. What it holds, and how it loses it, is the
production's own `MemoryDisk`; here is how long it takes, and when it fails.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from hotseat.nodes.journal.node_journal import seal
from hotseat.runtime.errors import JournalFailed
from hotseat.runtime.journal import StoreOp
from hotseat.runtime.replication.output import IdentityKept
from hotseat.runtime.replication.recovered import Recovered
from hotseat.runtime.testing.memory_journal import DiskImage, MemoryDisk

from .scheduler import MS, Scheduler
from .settings import Settings
from .trace import Trace

if TYPE_CHECKING:
    from .process import Process

__all__ = ["Disk"]

REOPEN_MS = 200
"""Between two attempts to use a journal again that failed."""

SEALED = seal("", 0).nonce

_Group = tuple[int, tuple[StoreOp, ...]]


class Disk:
    """Of one node."""

    def __init__(
        self, scheduler: Scheduler, trace: Trace, settings: Settings, node: str
    ) -> None:
        self.store = MemoryDisk()
        self.slow_us = 0
        self.images: list[DiskImage] = []
        """Copies that somebody took, oldest first; see `image_restored`."""
        self._scheduler = scheduler
        self._trace = trace
        self._node = node
        self._draw = random.Random(f"disk {settings.seed} {node}")
        self._process: Process | None = None
        self._queue: list[_Group] = []
        self._writing: list[_Group] = []
        self._tickets = 0
        self._failed = False
        self._durable = settings.durability == "disk"
        self.failures = 0
        """Groups that were not written."""

    def mount(self, process: Process) -> None:
        """A new process uses it."""
        self._process = process
        self._queue, self._writing = [], []
        self._failed = False

    @property
    def usable(self) -> bool:
        """Whether a process can start on it: without durability it writes first."""
        return self._durable or not self.store.failing

    @property
    def resting(self) -> bool:
        """All that it was given is answered."""
        return not (self._queue or self._writing)

    @property
    def sealed(self) -> bool:
        """What it holds is whole, and nobody has used it since."""
        return self.store.identity.nonce == SEALED

    def recovered(self) -> Recovered:
        """What that process finds. Without durability, only what was sealed counts; and
        a seal is good for one start."""
        store = self.store
        if self._durable:
            return store.recover()
        if not self.sealed:
            store.erase()
        found = store.recover()
        self._tickets += 1
        store.begin(self._tickets, (IdentityKept("", 0, ""),))
        store.sync_upto(self._tickets)
        return found

    def heal(self) -> None:
        """It is quick, and takes what it is given."""
        self.slow_us = 0
        self.store.failing = ""
        self.store.lying = False

    def lie(self) -> None:
        """From now on it says that it has synced, and has not."""
        self.store.lying = True

    def crash(self, *, power_failed: bool) -> bool:
        """The process is gone, and perhaps the machine's power with it.

        Returns whether something is gone that was said to be durable.
        """
        assert self._process is not None
        lied = power_failed and self.store.lying
        self.store.crash(self._draw, lose_unsynced=power_failed)
        self._queue, self._writing = [], []
        return lied

    def write(self, process: Process, ticket: int, ops: tuple[StoreOp, ...]) -> None:
        """Make a group durable, and tell the process."""
        if process is not self._process or not process.alive:
            return
        self._queue.append((ticket, ops))
        if self._failed:
            self._scheduler.after(50, self._fail_queue, process)
        elif not self._writing:
            self._begin(process)

    def _begin(self, process: Process) -> None:
        self._writing, self._queue = self._queue, []
        for _, ops in self._writing:
            self._tickets += 1
            self.store.begin(self._tickets, ops)
        duration_us = 100 + int(self._draw.random() * 900)
        if self.slow_us:
            duration_us += int(self.slow_us * self._draw.random())
        self._scheduler.after(duration_us, self._done, process)

    def _done(self, process: Process) -> None:
        if process is not self._process or not process.alive:
            return
        written, self._writing = self._writing, []
        try:
            self.store.sync_upto(self._tickets)
        except JournalFailed as error:
            self._trace.struck("journal_failed", f"{self._node} {error.code}")
            self._failed = True
            self._queue = written + self._queue
            self._fail_queue(process)
            self._scheduler.after(REOPEN_MS * MS, self._reopen, process)
            return
        for ticket, ops in written:
            process.persisted(ticket, ops)
        if self._queue:
            self._begin(process)

    def _fail_queue(self, process: Process) -> None:
        if process is not self._process or not self._failed:
            return
        failed, self._queue = self._queue, []
        for ticket, ops in failed:
            self.failures += 1
            process.persist_failed(ticket, ops)

    def _reopen(self, process: Process) -> None:
        if process is not self._process or not process.alive:
            return
        try:
            self.store.reopen()
        except JournalFailed:
            self._scheduler.after(REOPEN_MS * MS, self._reopen, process)
            return
        process.disk_ok()

    def mended(self) -> list[_Group]:
        """The process knows that writing works again: what it gives from now on does
        not fail. What it gave before has: returns what it has not been told of."""
        self._failed = False
        failed, self._queue = self._queue, []
        self.failures += len(failed)
        return failed

    def take_image(self) -> None:
        """Somebody copies the whole disk."""
        if len(self.images) < 4:
            self.images.append(self.store.image())
