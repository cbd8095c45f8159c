"""The keeper: keeps this node registered, its replicas informed, its table fresh.

It lists and watches the coordinator, and tells the replication core all that it reads
(through `Replicas`), and the router who owns what. It decides nothing about ownership.
While the coordinator is away, what is owned goes on being served.

Three tasks: one stays registered; one lists, every `REREAD_S` and when the core asks;
one watches. They may bring news in any order: the core, the directory and the table
sort them by revision and epoch.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

import anyio
from anyio.abc import TaskGroup, TaskStatus
from msgspec import structs

from ...runtime.control_plane import ClusterRecord, Keys, NodeRecord
from ...runtime.coordinator import Change, Coordinator, Listing
from ...runtime.errors import (
    CoordinatorError,
    CoordinatorUnavailable,
    WatchCompacted,
)
from ...runtime.fleet import Fleet
from ...runtime.frame import NodeEntry, ShardEntry
from ...runtime.node_directory import NodeDirectory
from ...runtime.pin_table import PinTable
from ...runtime.shard_table import ShardTable
from ..telemetry import get_logger
from .create_cluster import ensure_cluster
from .poison import PoisonWatch
from .register import Registration, node_id_in_use

__all__ = ["Keeper", "KeeperStatistics", "Replicas"]

REREAD_S = 1.0
"""Between two listings: what a silent watch could miss is seen this late at most."""

LOOK_S = 0.05
"""Between two looks whether all that is meant for this node is served."""

BACKOFF_S_MIN = 0.1
BACKOFF_S_MAX = 2.0
"""Pauses while the coordinator is away: doubled each time, a random half of it off."""

log = get_logger()

T = TypeVar("T")


class Replicas(Protocol):
    """What the keeper tells the replication core, and asks it."""

    def begin(
        self,
        cluster: ClusterRecord,
        *,
        rows_changed: Callable[[Sequence[ShardEntry]], None],
        list_wanted: Callable[[], None],
    ) -> None: ...

    @property
    def revision(self) -> int: ...

    def listing(self, listing: Listing, asked_at: int) -> None: ...

    def changed(self, changes: Sequence[Change]) -> None: ...

    def registered(self, fleet: Fleet) -> None: ...

    def stand_down(self) -> None: ...

    def outstanding(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class KeeperStatistics:
    """`outstanding` is None before the cluster's record has been read."""

    GAUGES: ClassVar[frozenset[str]] = frozenset(
        {"unowned_shards", "table_revision", "outstanding"}
    )

    ready: bool
    registered: bool
    coordinator_up: bool
    listings: int
    watches_broken: int
    unowned_shards: int
    table_revision: int
    outstanding: int | None


class Keeper:
    """Keeps one node's place in the cluster. Callbacks must not raise.

    `table_changed(table)` comes with each change of the shard table (one object, kept
    up to date), and `nodes_changed(nodes)` with each change of the registered nodes.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        cluster: ClusterRecord,
        node: NodeRecord,
        replicas: Replicas,
        *,
        table_changed: Callable[[ShardTable], None] = lambda table: None,
        nodes_changed: Callable[[Mapping[str, NodeRecord]], None] = lambda nodes: None,
        poison: PoisonWatch | None = None,
        first: Callable[[], Awaitable[None]] | None = None,
        jitter: Callable[[], float] = random.random,
        pins: PinTable | None = None,
    ) -> None:
        """`first` is awaited once the cluster is known, before anything is claimed,
        and again while the coordinator is away; `poison` is told what is read;
        `pins` is kept up to date by the core."""
        self.table = ShardTable(cluster.shards, pins)
        self._coordinator = coordinator
        self._cluster = cluster
        self._node = node
        self._replicas = replicas
        self._table_changed = table_changed
        self._nodes_changed = nodes_changed
        self._poison = poison
        self._first = first
        self._jitter = jitter
        self._keys = Keys(cluster.cluster)
        self._directory = NodeDirectory(self._keys)
        self._registration = Registration(coordinator, self._keys, node)
        self._addresses: dict[str, NodeEntry] = {}
        self._failure: Exception | None = None
        self._up = True
        self._list_wanted = False
        self._listed_revision = 0
        self._listings = self._watches_broken = 0
        self._registered = anyio.Event()
        self._stirred = anyio.Event()  # the reading task has something to do
        self._listed = anyio.Event()  # replaced with each listing

    @property
    def ready(self) -> bool:
        """Whether every shard that is meant for this node is served, or followed in
        sync, by it.

        Not while the coordinator is away: who else says so then cannot be known.
        """
        settled = self._replicas.outstanding() == 0
        return settled and self._registration.registered and self._up

    async def wait_ready(self) -> None:
        """Return when `ready` is true."""
        while not self.ready:  # noqa: ASYNC110  # it depends on too much for an event
            await anyio.sleep(LOOK_S)

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
        if self._first is not None:
            await self._patiently(self._first)
        self._replicas.begin(
            found, rows_changed=self._apply, list_wanted=self._want_listing
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._guard, tasks, self._stay_registered)
            tasks.start_soon(self._guard, tasks, lambda: self._read(task_status))
            tasks.start_soon(self._guard, tasks, self._watch)
        if self._failure is not None:
            self._replicas.stand_down()
            raise self._failure

    def tell_room(self, room: bool) -> None:
        """Whether this node has room for more copies."""
        self._registration.tell(structs.replace(self._node, room=room))

    def statistics(self) -> KeeperStatistics:
        table = self.table.statistics()
        return KeeperStatistics(
            ready=self.ready,
            registered=self._registration.registered,
            coordinator_up=self._up,
            listings=self._listings,
            watches_broken=self._watches_broken,
            unowned_shards=table.unowned,
            table_revision=table.revision,
            outstanding=self._replicas.outstanding(),
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
        while True:
            try:
                await self._registration.stay(self._registered.set)
            except CoordinatorUnavailable as error:
                log.warning("registration_lost", node=self._node.node, error=str(error))
            await self._pause(BACKOFF_S_MAX)

    async def _read(self, task_status: TaskStatus[None]) -> None:
        await self._registered.wait()
        started = False
        while True:
            await self._patiently(self._list)
            if not started:
                started = True
                task_status.started()
            await self._rest()

    async def _list(self) -> None:
        self._list_wanted = False
        asked_at = self._replicas.revision
        listing = await self._coordinator.list(self._keys.prefix)
        self._listings += 1
        self._take_nodes(self._directory.listing(listing))
        if self._poison is not None:
            self._poison.listing(listing)
        self._replicas.listing(listing, asked_at)
        self._listed_revision = max(self._listed_revision, listing.revision)
        self.table.apply((), listing.revision)
        self._listed.set()
        self._listed = anyio.Event()

    async def _rest(self) -> None:
        """Until it is time to list again."""
        with anyio.move_on_after(REREAD_S):
            while not self._list_wanted:
                self._stirred = anyio.Event()
                await self._stirred.wait()

    async def _watch(self) -> None:
        while True:
            await self._listed.wait()
            try:
                prefix, revision = self._keys.prefix, self._listed_revision
                async with self._coordinator.watch(prefix, revision) as watch:
                    async for changes in watch:
                        self._take_changes(changes)
            except (CoordinatorUnavailable, WatchCompacted):
                self._watches_broken += 1
                self._want_listing()

    # What came, and what to do about it.

    def _take_changes(self, changes: Sequence[Change]) -> None:
        self._take_nodes(self._directory.changed(changes))
        if self._poison is not None:
            self._poison.changed(changes)
        self._replicas.changed(changes)
        self.table.apply((), changes[-1].revision)

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
            self._replicas.registered(self._directory.fleet)
            if self._readdress():
                self._table_changed(self.table)

    def _apply(self, rows: Sequence[ShardEntry]) -> None:
        """Rows of the table, as the core reads them."""
        if self.table.apply(rows):
            self._readdress()
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

    def _want_listing(self) -> None:
        self._list_wanted = True
        self._stirred.set()

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
                return answer
            await self._pause(pause_s)
            pause_s = min(2 * pause_s, BACKOFF_S_MAX)

    async def _pause(self, pause_s: float) -> None:
        await anyio.sleep(pause_s * (1 - self._jitter() / 2))
