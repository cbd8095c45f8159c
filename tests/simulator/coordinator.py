"""The coordinator, seen from far away: linearizable, but its answers may be lost.

A request takes time to get there and back; it may be lost, land though its answer is
lost, or land long after its sender has given up. Leases run out, and are lost though
their holder lives. The store itself is the one of the memory coordinator.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from hotseat.runtime.coordinator import CasOutcome, CasUnknown, Listing, Write
from hotseat.runtime.errors import WatchCompacted
from hotseat.runtime.testing.memory_store import MemoryStore, StoreImage

from .network import COORDINATOR, Network
from .scheduler import MS, Scheduler
from .settings import Settings
from .trace import Trace

if TYPE_CHECKING:
    from .process import Process

__all__ = ["LEASE_MS", "CoordinatorModel"]

LEASE_MS = 2_000

LATE_MS_MAX = 2_500
"""A request may land so long after its sender gave up."""

TIMEOUT_MS = 900
"""After so long without an answer a request's outcome is unknown."""


class CoordinatorModel:
    """The store, and how far away it is."""

    def __init__(
        self,
        scheduler: Scheduler,
        trace: Trace,
        settings: Settings,
        network: Network,
        prefix: str,
    ) -> None:
        self.store = MemoryStore(kept_transactions=settings.kept_transactions)
        self.down = False
        self.read_only = False
        """An operator has closed it to what nodes write."""
        self.slow_us = 0
        self.watch_slow_us = 0
        self.meddle: Callable[[Process, tuple[Write, ...]], int | None] | None = None
        """A script that decides how many milliseconds late a request lands."""
        self._prefix = prefix
        self._scheduler = scheduler
        self._trace = trace
        self._network = network
        self._rates = dict(settings.rates)
        self._draw = random.Random(f"coordinator {settings.seed}")
        self._polls: dict[str, None] = {}
        self._life = 0
        self.store.listen(self._on_transaction)

    def heal(self) -> None:
        """It is there, near, and loses nothing."""
        self.down = False
        self.slow_us = self.watch_slow_us = 0
        self._rates.clear()

    def restore(self, backup: StoreImage) -> None:
        """It begins again with a backup, read only for now; what was on its way to it
        never arrives."""
        self._life += 1
        self.read_only = True
        self.store.restore(backup)

    def reaches(self, process: Process) -> bool:
        """Whether the process and the coordinator hear each other."""
        node = process.node
        return (
            not self.down
            and self._network.passes(node, COORDINATOR)
            and self._network.passes(COORDINATOR, node)
        )

    def cas(self, process: Process, number: int, writes: tuple[Write, ...]) -> None:
        """Send a transaction; `process.answered` gets what became of it."""
        fate = self._draw.random()
        timeout_us = TIMEOUT_MS * MS
        if self.down or not self._network.passes(process.node, COORDINATOR):
            self._answer(process, number, CasUnknown("no answer"), timeout_us)
            return
        late_ms = None if self.meddle is None else self.meddle(process, writes)
        if late_ms is not None:
            self._trace.struck("cas_late", f"{process.node} {number}, by a script")
            self._answer(process, number, CasUnknown("no answer"), 100 * MS)
            self._scheduler.after(late_ms * MS, self._land_unseen, self._life, writes)
            return
        for name in ("cas_lost", "cas_answer_lost", "cas_late"):
            rate = self._rates.get(name, 0.0)
            if fate < rate:
                self._trace.struck(name, f"{process.node} {number}")
                break
            fate -= rate
        else:
            self._scheduler.after(
                self._way_us(), self._land, self._life, process, number, writes
            )
            return
        self._answer(process, number, CasUnknown(name), timeout_us)
        if name == "cas_answer_lost":
            self._scheduler.after(self._way_us(), self._land_unseen, self._life, writes)
        elif name == "cas_late":
            late_us = self._draw.randint(1, LATE_MS_MAX) * MS
            self._scheduler.after(late_us, self._land_unseen, self._life, writes)

    def list(self, process: Process, asked_at: int) -> None:
        """Read everything; `process.listed` gets it, or None."""
        if not self.reaches(process):
            self._scheduler.after(TIMEOUT_MS * MS, process.listed, None, asked_at)
            return
        self._scheduler.after(self._way_us(), self._read, process, asked_at)

    def listen(self, process: Process) -> None:
        """A process watches from now on, until it dies."""
        self._poll_later(process, 0)

    def renew(self, process: Process) -> None:
        """Keep the process's lease, or let it run out, every third of its time."""
        if process.session is None or not process.alive:
            return
        now_us = self._scheduler.now_us
        if self.down:
            process.renewed_us = now_us  # nobody is there to let it run out
        elif not process.paused and self.reaches(process):
            process.renewed_us = now_us
        elif now_us - process.renewed_us > LEASE_MS * MS:
            self.end(process)
            return
        self._scheduler.after(LEASE_MS * MS // 3, self.renew, process)

    def end(self, process: Process) -> None:
        """Its lease is gone."""
        if process.session is not None:
            session, process.session = process.session, None
            self._trace.note(f"{process.node} lease ends")
            self.store.end_session(session)

    def expire(self, process: Process) -> None:
        """The lease of a dead process runs out, after a while."""
        delay_us = self._draw.randint(LEASE_MS // 2, LEASE_MS) * MS
        self._scheduler.after(delay_us, self.end, process)

    def _way_us(self) -> int:
        way = 200 + int(self._draw.random() * 2_500)
        if self.slow_us:
            way += int(self.slow_us * self._draw.random())
        return way

    def _land(
        self, life: int, process: Process, number: int, writes: tuple[Write, ...]
    ) -> None:
        if self.down or self.read_only or life != self._life:
            self._answer(process, number, CasUnknown("it went down"), TIMEOUT_MS * MS)
            return
        outcome = self.store.apply(writes)
        if not self._network.passes(COORDINATOR, process.node):
            lost = CasUnknown("the answer was lost")
            self._answer(process, number, lost, TIMEOUT_MS * MS)
            return
        self._answer(process, number, outcome, self._way_us())

    def _land_unseen(self, life: int, writes: tuple[Write, ...]) -> None:
        if self.read_only or life != self._life:
            return
        outcome = self.store.apply(writes)
        self._trace.note(f"unseen cas: {type(outcome).__name__}")

    def _answer(
        self, process: Process, number: int, outcome: CasOutcome, delay_us: int
    ) -> None:
        self._scheduler.after(delay_us, process.answered, number, outcome)

    def _read(self, process: Process, asked_at: int) -> None:
        listing: Listing | None = None
        if self.reaches(process):
            listing = self.store.list(self._prefix)
        self._scheduler.after(self._way_us(), process.listed, listing, asked_at)

    def _on_transaction(self) -> None:
        for process in self._network.processes.values():
            if process.alive and process.watched is not None:
                self._poll_later(process, self.watch_slow_us)

    def _poll_later(self, process: Process, slow_us: int) -> None:
        if process.boot in self._polls:
            return
        self._polls[process.boot] = None
        delay_us = self._way_us() + int(slow_us * self._draw.random())
        self._scheduler.after(delay_us, self._poll, process)

    def _poll(self, process: Process) -> None:
        del self._polls[process.boot]
        if not process.alive or process.watched is None:
            return
        if not self.reaches(process):
            process.watched = None  # the watch breaks; the next listing begins anew
            return
        try:
            found = self.store.changes_after(self._prefix, process.watched)
        except WatchCompacted:
            process.watched = None
            return
        for revision, changes in found:
            process.watched = revision
            process.changed(changes)
