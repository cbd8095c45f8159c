"""The keeper: keeps this node registered, its shards claimed, its table fresh.

The shell around `runtime/ownership.py`: it lists and watches the coordinator, sends
what the core asks for, and calls back what became of it. It decides nothing about
ownership. While the coordinator is away, what is owned goes on being served.

Three tasks: one stays registered; one lists, every `REREAD_S` and when the core asks,
and ticks; one watches. They may bring news in any order: the core, the directory and
the table sort them by revision and epoch.
"""

from __future__ import annotations

import math
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import anyio
from anyio.abc import TaskGroup, TaskStatus

from ..runtime.control_plane import ClusterRecord, Keys, NodeRecord
from ..runtime.coordinator import CasUnknown, Change, Coordinator
from ..runtime.errors import (
    CoordinatorError,
    CoordinatorUnavailable,
    WatchCompacted,
)
from ..runtime.frame import NodeEntry
from ..runtime.node_directory import NodeDirectory
from ..runtime.ownership import Ownership
from ..runtime.ownership_output import CasRequest, Output, OwnershipStatistics
from ..runtime.placement import initial_layout
from ..runtime.shard_table import ShardTable
from .create_cluster import ensure_cluster
from .register import Registration, node_id_in_use
from .telemetry import get_logger

__all__ = ["Keeper", "KeeperStatistics"]

REREAD_S = 1.0
"""Between two listings: what a silent watch could miss is seen this late at most."""

BACKOFF_S_MIN = 0.1
BACKOFF_S_MAX = 2.0
"""Pauses while the coordinator is away: doubled each time, a random half of it off."""

log = get_logger()

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KeeperStatistics:
    """`ownership` is None before the cluster's record has been read."""

    GAUGES: ClassVar[frozenset[str]] = frozenset({"unowned_shards", "table_revision"})

    ready: bool
    registered: bool
    coordinator_up: bool
    listings: int
    watches_broken: int
    unowned_shards: int
    table_revision: int
    ownership: OwnershipStatistics | None


class Keeper:
    """Drives one node's ownership. Callbacks are synchronous and must not raise.

    `adopt(shard, epoch)` and `release(shard)` say what to serve; `table_changed(table)`
    comes with each change of the shard table (one object, kept up to date), and
    `nodes_changed(nodes)` with each change of the registered nodes.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        cluster: ClusterRecord,
        node: NodeRecord,
        *,
        adopt: Callable[[int, int], None],
        release: Callable[[int], None],
        table_changed: Callable[[ShardTable], None] = lambda table: None,
        nodes_changed: Callable[[Mapping[str, NodeRecord]], None] = lambda nodes: None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.table = ShardTable(cluster.shards)
        self._coordinator = coordinator
        self._cluster = cluster
        self._node = node
        self._adopt = adopt
        self._release = release
        self._table_changed = table_changed
        self._nodes_changed = nodes_changed
        self._jitter = jitter
        self._keys = Keys(cluster.cluster)
        self._directory = NodeDirectory(self._keys)
        self._registration = Registration(coordinator, self._keys, node)
        self._ownership: Ownership | None = None
        self._addresses: dict[str, NodeEntry] = {}
        self._failure: Exception | None = None
        self._up = True
        self._list_wanted = False
        self._timer_s = float("inf")
        self._listed_revision = 0
        self._listings = self._watches_broken = 0
        self._registered = anyio.Event()
        self._stirred = anyio.Event()  # the reading task has something to do
        self._listed = anyio.Event()  # replaced with each listing
        self._ready = anyio.Event()

    @property
    def ready(self) -> bool:
        """Whether every shard that is meant for this node is served by it.

        Not while the coordinator is away: who else says so then cannot be known.
        """
        settled = self._ownership is not None and self._ownership.outstanding() == 0
        return settled and self._registration.registered and self._up

    async def wait_ready(self) -> None:
        """Wait until `ready` has been true once."""
        await self._ready.wait()

    async def run(
        self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Keep going until cancelled. Started: registered, and the table is read.

        An error ends what was served first.

        Raises:
            ClusterMismatch: The cluster was created with other values.
            NodeIdInUse: Another live process has this node's id.
            ControlRecordInvalid: The cluster's or the node's key cannot be read.
        """
        found = await self._patiently(
            lambda: ensure_cluster(self._coordinator, self._cluster)
        )
        layout = initial_layout(found.shards, found.nodes, found.copies)
        ownership = Ownership(self._keys, self._node.node, self._node.boot, layout)
        self._ownership = ownership
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._guard, tasks, self._stay_registered)
            tasks.start_soon(
                self._guard, tasks, lambda: self._read(tasks, ownership, task_status)
            )
            tasks.start_soon(self._guard, tasks, lambda: self._watch(tasks, ownership))
        if self._failure is not None:
            self._obey(tasks, ownership, ownership.stand_down())
            raise self._failure

    def statistics(self) -> KeeperStatistics:
        ownership = self._ownership
        table = self.table.statistics()
        return KeeperStatistics(
            ready=self.ready,
            registered=self._registration.registered,
            coordinator_up=self._up,
            listings=self._listings,
            watches_broken=self._watches_broken,
            unowned_shards=table.unowned,
            table_revision=table.revision,
            ownership=None if ownership is None else ownership.statistics(),
        )

    # The tasks.

    async def _guard(
        self, tasks: TaskGroup, task: Callable[[], Awaitable[None]]
    ) -> None:
        """The first error is raised by `run` as it is, not in a group."""
        try:
            await task()
        except CoordinatorError as error:
            self._failure = self._failure or error
            tasks.cancel_scope.cancel()

    async def _stay_registered(self) -> None:
        def on_registered() -> None:
            self._registered.set()
            self._note_ready()

        while True:
            try:
                await self._registration.stay(on_registered)
            except CoordinatorUnavailable as error:
                log.warning("registration_lost", node=self._node.node, error=str(error))
            await self._pause(BACKOFF_S_MAX)

    async def _read(
        self, tasks: TaskGroup, ownership: Ownership, task_status: TaskStatus[None]
    ) -> None:
        await self._registered.wait()
        started = False
        while True:
            await self._patiently(lambda: self._list(tasks, ownership))
            if not started:
                started = True
                task_status.started()
            await self._rest(tasks, ownership)

    async def _list(self, tasks: TaskGroup, ownership: Ownership) -> None:
        self._list_wanted = False
        asked_at = ownership.revision
        listing = await self._coordinator.list(self._keys.prefix)
        self._listings += 1
        self._take_nodes(self._directory.listing(listing))
        output = ownership.listing(listing, asked_at, self._now_ms())
        self._listed_revision = max(self._listed_revision, listing.revision)
        self._obey(tasks, ownership, output, listing.revision)
        self._listed.set()
        self._listed = anyio.Event()

    async def _rest(self, tasks: TaskGroup, ownership: Ownership) -> None:
        """Until it is time to list again; tick meanwhile."""
        until_s = anyio.current_time() + REREAD_S
        while not self._list_wanted and anyio.current_time() < until_s:
            self._stirred = anyio.Event()
            with anyio.move_on_at(min(until_s, self._timer_s)):
                await self._stirred.wait()
            if anyio.current_time() >= self._timer_s:
                self._obey(tasks, ownership, ownership.tick(self._now_ms()))

    async def _watch(self, tasks: TaskGroup, ownership: Ownership) -> None:
        while True:
            await self._listed.wait()
            try:
                prefix, revision = self._keys.prefix, self._listed_revision
                async with self._coordinator.watch(prefix, revision) as watch:
                    async for changes in watch:
                        self._take_changes(tasks, ownership, changes)
            except (CoordinatorUnavailable, WatchCompacted):
                self._watches_broken += 1
                self._want_listing()

    async def _send(
        self, tasks: TaskGroup, ownership: Ownership, request: CasRequest
    ) -> None:
        try:
            outcome = await self._coordinator.cas_many(request.writes)
        except CoordinatorError as error:
            outcome = CasUnknown(str(error))
        output = ownership.answered(request.id, outcome, self._now_ms())
        self._obey(tasks, ownership, output)

    # What came, and what to do about it.

    def _take_changes(
        self, tasks: TaskGroup, ownership: Ownership, changes: Sequence[Change]
    ) -> None:
        self._take_nodes(self._directory.changed(changes))
        output = ownership.changed(changes, self._now_ms())
        self._obey(tasks, ownership, output, changes[-1].revision)

    def _take_nodes(self, changed: bool) -> None:
        """Before anything about shards: a replaced process must not claim.

        The other process registered before it claimed, so this is in time.

        Raises:
            NodeIdInUse: Another boot is registered under this node's id.
        """
        for fault in self._directory.take_faults():
            log.error("node_record_invalid", error=fault)
        records = self._directory.records
        mine = records.get(self._node.node)
        if mine is not None and mine.boot != self._node.boot:
            raise node_id_in_use(mine)
        if changed:
            self._nodes_changed(dict(records))
            if self._readdress():
                self._table_changed(self.table)

    def _readdress(self) -> bool:
        """Owners keep their last known address while they are not registered."""
        for name, record in self._directory.records.items():
            self._addresses[name] = NodeEntry(name, record.inbox, record.boot)
        owners = {self.table.owner(shard) for shard in range(len(self.table))}
        for name in [*self._addresses]:
            if name not in owners and name not in self._directory.records:
                del self._addresses[name]
        return self.table.set_nodes(self._addresses.values())

    def _obey(
        self,
        tasks: TaskGroup,
        ownership: Ownership,
        output: Output,
        revision: int = 0,
    ) -> None:
        for shard, _ in output.released:
            self._release(shard)
        for shard, epoch in output.adopted:
            self._adopt(shard, epoch)
        if output.released:
            log.info("shards_released", shards=dict(output.released))
        if output.adopted:
            log.info("shards_claimed", shards=dict(output.adopted))
        for alarm in output.alarms:
            log.error(
                "shard_stopped",
                shard=alarm.shard,
                code=alarm.code,
                error=alarm.message,
            )
        if self.table.apply(output.table, revision):
            self._readdress()
            self._table_changed(self.table)
        for request in output.requests:
            tasks.start_soon(self._send, tasks, ownership, request)
        if output.list_again:
            self._want_listing()
        timer_ms = output.timer_ms
        self._timer_s = float("inf") if timer_ms is None else timer_ms / 1000
        self._stirred.set()
        self._note_ready()

    def _want_listing(self) -> None:
        self._list_wanted = True
        self._stirred.set()

    def _note_ready(self) -> None:
        if not self._ready.is_set() and self.ready:
            self._ready.set()

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """Repeat while the coordinator is away."""
        pause_s = BACKOFF_S_MIN
        while True:
            try:
                answer = await call()
            except CoordinatorUnavailable as error:
                if self._up:
                    log.warning("coordinator_unavailable", error=str(error))
                self._up = False
            else:
                if not self._up:
                    log.info("coordinator_back")
                    self._up = True
                    self._note_ready()
                return answer
            await self._pause(pause_s)
            pause_s = min(2 * pause_s, BACKOFF_S_MAX)

    async def _pause(self, pause_s: float) -> None:
        await anyio.sleep(pause_s * (1 - self._jitter() / 2))

    @staticmethod
    def _now_ms() -> int:
        # Rounded up: a timer that is due by the loop's clock is due by this one.
        return math.ceil(anyio.current_time() * 1000)
