"""One node process: its parts, put together, from start to stop.

Nothing is decided here. The order is: games, coordinator, journal, inbox, matches,
door, replicas, keeper; what was opened last is closed first. A node that stops resigns
what it owns, so that its followers take over at once, answers what it has, and is gone
when all that it acknowledged is on the disk.
"""

from __future__ import annotations

import secrets
import signal
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from typing import Any

import anyio

from ..config import Config
from ..runtime.budget import NO_GUARD, Guard, GuardStatistics
from ..runtime.control_plane import ClusterRecord, Keys, NodeRecord
from ..runtime.coordinator import Coordinator
from ..runtime.errors import CoordinatorError
from ..runtime.hello import Credential
from ..runtime.hosting.outbox import OutboxStatistics
from ..runtime.hosting.replica_states import HostingStatistics
from ..runtime.hosting.replicated_committer import ReplicatedCommitterStatistics
from ..runtime.journal import Journal
from ..runtime.link import Endpoint, EndpointStatistics, Identity, PeerAddress
from ..runtime.replication.node_statistics import NodeStatistics
from ..runtime.replication.recovered import Recovered
from ..runtime.shard_table import ShardTable
from .alive_mark import AliveMark
from .breadcrumb import (
    Breadcrumb,
    BreadcrumbGuard,
    open_breadcrumb,
    read_breadcrumb,
)
from .cluster_dir import ClusterDir
from .collector import Collector, CollectorStatistics, bounded_pauses
from .door import Door
from .games import Games
from .health import Health
from .hosting import Hosting, HostingParts
from .keeper import Keeper, KeeperStatistics
from .loop_watch import LoopWatch, LoopWatchStatistics, loop_watch
from .match_records import give_records
from .nng import NngEndpoint
from .nng_door import DoorServer
from .node_journal import node_journal
from .open_coordinator import coordinator_of
from .outlet import NodeOutlet, OutletStatistics
from .poison import PoisonWatch, report_death
from .replica_digests import give_digests
from .replicator import ReplicatorStatistics
from .router import Router
from .supervisor import SupervisorStatistics
from .switchboard import Switchboard, SwitchboardStatistics
from .telemetry import get_logger
from .watchdog import open_watchdog

__all__ = ["STATISTICS", "Node", "run_node"]

BREADCRUMB = "breadcrumb"
"""The file's name in a node's folder."""

TICK_S = 0.1
"""Between two looks for requests that have waited too long for an owner."""

SET_APART_TOLD_MAX = 100
"""Matches set apart that `status` names; the statistics count them all."""

log = get_logger()

STATISTICS: Mapping[str, type] = {
    "supervisor": SupervisorStatistics,
    "links": EndpointStatistics,
    "switchboard": SwitchboardStatistics,
    "outlet": OutletStatistics,
    "keeper": KeeperStatistics,
    "guard": GuardStatistics,
    "collector": CollectorStatistics,
    "loop": LoopWatchStatistics,
    "replicator": ReplicatorStatistics,
    "committer": ReplicatedCommitterStatistics,
    "states": HostingStatistics,
    "replicas": NodeStatistics,
    "results": OutboxStatistics,
}
"""What each part of a node tells, by the part's name."""


async def run_node(config: Config) -> None:
    """Run a node until SIGTERM or SIGINT.

    Raises:
        OperatorError: The cluster's folder or a game cannot be used.
        LinkRefused: The inbox or the door cannot be opened.
        JournalError: The journal cannot be used.
        CoordinatorError: The coordinator cannot be used, or knows another cluster.
    """
    home = ClusterDir.load(config.node.dir)
    games = Games.load(config.node.games)
    for name, error in games.broken.items():
        log.error("game_broken", game=name, code=error.code, error=str(error))
    identity = Identity(
        cluster=config.cluster.id,
        process=config.node.id,
        kind="node",
        incarnation=secrets.token_hex(8),
        games=games.names(),
    )
    log.info("node_starting", incarnation=identity.incarnation)
    async with AsyncExitStack() as stack:
        coordinator = await stack.enter_async_context(
            coordinator_of(config.cluster.coordinator, home)
        )
        folder = home.make_node_folder(config.node.id)
        durable = config.cluster.durability == "disk"
        journal, recovered = await stack.enter_async_context(
            node_journal(folder / "journal.db", durable=durable)
        )
        endpoint = await stack.enter_async_context(
            NngEndpoint(
                identity,
                config.node.listen,
                Credential(home.secret()),
                config.link,
                advertise=config.node.advertise,
            )
        )
        collector = stack.enter_context(bounded_pauses())
        loop = stack.enter_context(loop_watch())
        guard = stack.enter_context(open_watchdog(config.supervisor.resolver_budget_s))
        left: Breadcrumb | None = None
        if config.node.breadcrumb:
            opened = open_breadcrumb(folder / BREADCRUMB, identity.incarnation)
            left, crumb = stack.enter_context(opened)
            guard = BreadcrumbGuard(guard, crumb)
        node = Node(
            config,
            home,
            games,
            endpoint,
            coordinator,
            journal,
            recovered,
            guard,
            left,
        )
        node.collector, node.loop = collector, loop
        await stack.enter_async_context(node.supervisor)
        door = DoorServer(config.node.door or home.door(config.node.id), node.door)
        await stack.enter_async_context(door)
        if config.metrics.listen is not None:
            pages = node.health.http_door(config.metrics.listen)
            await stack.enter_async_context(pages)
            node.pages_url = pages.url
            log.info("metrics_served", url=pages.url)
        await node.serve()
    log.info("node_stopped")
    if node.failure is not None:
        raise node.failure


class Node:
    """The parts of one node, joined. `serve` runs it; `stop` ends that."""

    def __init__(
        self,
        config: Config,
        home: ClusterDir,
        games: Games,
        endpoint: Endpoint,
        coordinator: Coordinator,
        journal: Journal,
        recovered: Recovered,
        guard: Guard = NO_GUARD,
        left: Breadcrumb | None = None,
    ) -> None:
        """`left`: what this node's last process was running when it died."""
        self._home = home
        self._endpoint = endpoint
        self._stopping = anyio.Event()
        self._owners_changed = anyio.Event()
        self.failure: CoordinatorError | None = None
        self._linked: set[str] = set()
        self._registered: set[str] = set()
        name = config.node.id
        self._router = Router(name, config.cluster.shards)
        self._outlet = NodeOutlet(endpoint)
        self._guard = guard
        self._left = {} if left is None else {config.node.id: left}
        self._alive = AliveMark(home.make_node_folder(name) / "alive")
        self._deaths = anyio.Event()
        self._coordinator = coordinator
        self._keys = Keys(config.cluster.id)
        cluster = _cluster_record(config)
        self._hosting = Hosting(
            HostingParts(
                endpoint=endpoint,
                coordinator=coordinator,
                journal=journal,
                recovered=recovered,
                games=games,
                outlet=self._outlet,
                guard=guard,
                supervisor=config.supervisor,
                replication=config.replication,
                hosting=config.hosting,
                results=config.results,
                alive_ms=self._alive.last_ms,
            ),
            cluster,
            adopted=self._adopted,
            released=self._released,
            node_gone=self._node_gone,
        )
        self.supervisor = self._hosting.supervisor
        self._replicator = self._hosting.replicator
        self._switchboard = Switchboard(
            endpoint, self._outlet, self._router, self.supervisor, self._replicator
        )
        self._keeper = Keeper(
            coordinator,
            cluster,
            _node_record(config, home, endpoint),
            self._replicator,
            table_changed=self._table_changed,
            nodes_changed=self._nodes_changed,
            poison=PoisonWatch(self._keys, self._set_apart),
            first=self._report_deaths,
        )
        self.pages_url = ""
        self.collector = Collector()
        self.loop: LoopWatch | None = None
        facts = {
            "node": name,
            "cluster": config.cluster.id,
            "incarnation": endpoint.identity.incarnation,
            "build": version("hotseat"),
        }
        self.health = Health(self._statistics, lambda: self.ready, facts)
        self._door = Door(
            {
                "digests": partial(
                    give_digests, self._hosting.states, config.cluster.shards
                ),
                "identify": self._identify,
                "metrics": self.health.door_operation,
                "records": partial(give_records, self.supervisor),
                "status": self._status,
                "stop": self._stop,
            }
        )

    @property
    def ready(self) -> bool:
        """It serves, or follows in sync, all that is meant for it, and every registered
        node is reached."""
        reached = self._switchboard.reached(self._registered)
        return self._keeper.ready and reached and not self._stopping.is_set()

    async def door(self, request: bytes) -> bytes:
        """Answer a command."""
        return await self._door.answer(request)

    def stop(self) -> None:
        """Let `serve` return."""
        if not self._stopping.is_set():
            log.info("node_stopping")
            self._stopping.set()

    async def serve(self) -> None:
        """Route and host until `stop`, SIGTERM or SIGINT.

        What the keeper cannot go on with ends it too, and is `failure` then: raised
        here, it would reach the caller in a group for each part that it passes.
        """
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._stop_on_signal)
            tasks.start_soon(self._receive)
            tasks.start_soon(self._replicator.run)
            tasks.start_soon(self._hosting.reporter.run)
            tasks.start_soon(self._keep)
            tasks.start_soon(self._announce_ready)
            tasks.start_soon(self._reroute)
            tasks.start_soon(self._tell_deaths)
            await self._stopping.wait()
            await self._replicator.leave()
            tasks.cancel_scope.cancel()

    async def _stop_on_signal(self) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                self.stop()

    async def _keep(self) -> None:
        """Without the keeper the node must not go on: it would miss its deposition."""
        try:
            await self._keeper.run()
        except CoordinatorError as error:
            self.failure = error
            self._stopping.set()

    async def _receive(self) -> None:
        while True:
            self._switchboard.take(await self._endpoint.receive())

    async def _reroute(self) -> None:
        """What waits for an owner goes on when there is one, or is told no."""
        while True:
            with anyio.move_on_after(TICK_S):
                await self._owners_changed.wait()
            if self._owners_changed.is_set():
                self._owners_changed = anyio.Event()
                with self._replicator.batch():
                    self._switchboard.ownership_changed()
            self._switchboard.tick()
            self._alive.touch(self._hosting.clock.now_ms())

    async def _announce_ready(self) -> None:
        await self._keeper.wait_ready()
        log.info("node_ready", shards=sorted(self._router.owned))

    def _adopted(self, shard: int, epoch: int) -> None:
        self._router.owned[shard] = epoch
        self._owners_changed.set()
        log.info("shard_served", shard=shard, epoch=epoch)

    def _released(self, shard: int) -> None:
        epoch = self._router.owned.pop(shard, None)
        if epoch is not None:
            log.info("shard_released", shard=shard, epoch=epoch)

    def _table_changed(self, table: ShardTable) -> None:
        """Keep a link to every other node of the table, and to no other.

        An owner stays in it while its registration has lapsed: that is only a hint.
        """
        self._router.table_changed(table)
        self._switchboard.table_changed(table)
        self._owners_changed.set()
        me = self._endpoint.identity.process
        entries = {name: entry for name, entry in table.nodes.items() if name != me}
        for name in self._linked - entries.keys():
            self._endpoint.disconnect(name)
        for name, entry in entries.items():
            self._endpoint.connect(PeerAddress(name, entry.inbox, entry.incarnation))
        self._linked = set(entries)

    def _node_gone(self, node: str) -> None:
        """Another node's process has ended. If it was on this machine, its breadcrumb
        says in which match's code, if in any."""
        left = read_breadcrumb(self._home.node_path(node) / BREADCRUMB)
        if left is not None:
            self._left[node] = left
            self._deaths.set()

    async def _tell_deaths(self) -> None:
        while True:
            await self._deaths.wait()
            self._deaths = anyio.Event()
            try:
                await self._report_deaths()
            except CoordinatorError as error:
                log.warning("death_not_told", error=str(error))

    async def _report_deaths(self) -> None:
        """
        Raises:
            CoordinatorUnavailable: Call again.
        """
        for node, left in [*self._left.items()]:
            now_ms = self._hosting.clock.now_ms()
            await report_death(self._coordinator, self._keys, node, left, now_ms)
            del self._left[node]

    def _set_apart(self, match: str) -> None:
        log.error("match_poison", match=match)
        self.supervisor.set_apart(match, "quarantined")

    def _nodes_changed(self, nodes: Mapping[str, NodeRecord]) -> None:
        self._registered = nodes.keys() - {self._endpoint.identity.process}

    def _identify(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        identity = self._endpoint.identity
        return {
            "cluster": identity.cluster,
            "process": identity.process,
            "kind": identity.kind,
            "incarnation": identity.incarnation,
            "inbox": self._endpoint.address.inbox,
            "secret_file": str(self._home.secret_path),
            "pages": self.pages_url,
        }

    def _status(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        going_on, ended = self._hosting.states.counts(self._router.owned)
        return {
            "node": self._endpoint.identity.process,
            "ready": self.ready,
            "pages": self.pages_url,
            "shards": sorted(self._router.owned),
            "epochs": {str(s): e for s, e in sorted(self._router.owned.items())},
            **self._copies(),
            "matches": going_on,
            "ended": ended,
            "set_apart": [
                {"match": line.match, "shard": line.shard, "code": line.quarantined}
                for line in self._hosting.states.set_apart(SET_APART_TOLD_MAX)
            ],
            "games": [list(pair) for pair in self._endpoint.identity.games],
            "statistics": {
                name: asdict(part) for name, part in self._statistics().items()
            },
        }

    def _statistics(self) -> dict[str, Any]:
        """Of each part, by its name, as `STATISTICS` declares."""
        runner = self._replicator.runner
        replicas = {} if runner is None else {"replicas": runner.core.statistics()}
        return {
            "supervisor": self.supervisor.statistics(),
            "links": self._endpoint.statistics(),
            "switchboard": self._switchboard.statistics(),
            "outlet": self._outlet.statistics(),
            "keeper": self._keeper.statistics(),
            "guard": self._guard.statistics(),
            "collector": self.collector.statistics(),
            "replicator": self._replicator.statistics(),
            "committer": self._hosting.committer.statistics(),
            "states": self._hosting.states.statistics(),
            "results": self._hosting.reporter.statistics(),
            **({} if self.loop is None else {"loop": self.loop.statistics()}),
            **replicas,
        }

    def _copies(self) -> dict[str, Any]:
        """Who holds copies of what this node serves, and how far they are behind."""
        runner = self._replicator.runner
        if runner is None:
            return {"following": 0, "isr": {}, "lag": {}}
        isr: dict[str, list[str]] = {}
        for shard in self._router.owned:
            record = runner.core.record(shard)
            if record is not None:
                isr[str(shard)] = [node for node, _ in record.isr]
        following = runner.core.statistics().following
        return {"following": following, "isr": isr, "lag": {}}

    def _stop(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        self.stop()
        return {}


def _cluster_record(config: Config) -> ClusterRecord:
    """The cluster as this node is told that it is."""
    cluster = config.cluster
    return ClusterRecord(
        cluster=cluster.id,
        shards=cluster.shards,
        nodes=cluster.nodes or (config.node.id,),
        copies=cluster.copies,
        min_isr=cluster.min_isr,
        durability=cluster.durability,
    )


def _node_record(config: Config, home: ClusterDir, endpoint: Endpoint) -> NodeRecord:
    """Where this process is."""
    return NodeRecord(
        node=config.node.id,
        boot=endpoint.identity.incarnation,
        inbox=endpoint.address.inbox,
        door=config.node.door or home.door(config.node.id),
        build=version("hotseat"),
        games=endpoint.identity.games,
    )
