"""One node process: its parts, put together, from start to stop.

Nothing is decided here. The order is: coordinator, games, door, inbox, supervisor,
keeper; what was opened last is closed first, so that a node that stops takes no new
work, answers what it has, and gives its registration back.
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
from ..runtime.control_plane import ClusterRecord, NodeRecord
from ..runtime.coordinator import Coordinator
from ..runtime.errors import CoordinatorError
from ..runtime.hello import Credential
from ..runtime.link import Endpoint, EndpointStatistics, Identity, PeerAddress
from ..runtime.shard_table import ShardTable
from .cluster_dir import ClusterDir
from .door import Door
from .games import Games
from .health import Health
from .keeper import Keeper, KeeperStatistics
from .match_records import give_records
from .nng import NngEndpoint
from .nng_door import DoorServer
from .open_coordinator import coordinator_of
from .outlet import NodeOutlet, OutletStatistics
from .router import Router
from .supervisor import Supervisor, SupervisorStatistics
from .switchboard import Switchboard, SwitchboardStatistics
from .telemetry import get_logger
from .watchdog import open_watchdog

__all__ = ["STATISTICS", "Node", "run_node"]

log = get_logger()

STATISTICS: Mapping[str, type] = {
    "supervisor": SupervisorStatistics,
    "links": EndpointStatistics,
    "switchboard": SwitchboardStatistics,
    "outlet": OutletStatistics,
    "keeper": KeeperStatistics,
    "guard": GuardStatistics,
}
"""What each part of a node tells, by the part's name."""


async def run_node(config: Config) -> None:
    """Run a node until SIGTERM or SIGINT.

    Raises:
        OperatorError: The cluster's folder or a game cannot be used.
        LinkRefused: The inbox or the door cannot be opened.
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
        endpoint = await stack.enter_async_context(
            NngEndpoint(
                identity,
                config.node.listen,
                Credential(home.secret()),
                config.link,
                advertise=config.node.advertise,
            )
        )
        guard = stack.enter_context(open_watchdog(config.supervisor.resolver_budget_s))
        node = Node(config, home, games, endpoint, coordinator, guard)
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
        guard: Guard = NO_GUARD,
    ) -> None:
        self._home = home
        self._endpoint = endpoint
        self._stopping = anyio.Event()
        self.failure: CoordinatorError | None = None
        self._linked: set[str] = set()
        self._registered: set[str] = set()
        name = config.node.id
        self._router = Router(name, config.cluster.shards)
        self._outlet = NodeOutlet(endpoint)
        self._guard = guard
        self.supervisor = Supervisor(
            games,
            self._outlet,
            config.supervisor,
            shards=config.cluster.shards,
            guard=guard,
        )
        self._switchboard = Switchboard(
            endpoint, self._outlet, self._router, self.supervisor
        )
        self._keeper = Keeper(
            coordinator,
            ClusterRecord(
                cluster=config.cluster.id,
                shards=config.cluster.shards,
                nodes=config.cluster.nodes or (name,),
                copies=config.cluster.copies,
                min_isr=config.cluster.min_isr,
                durability=config.cluster.durability,
            ),
            NodeRecord(
                node=name,
                boot=endpoint.identity.incarnation,
                inbox=endpoint.address.inbox,
                door=config.node.door or home.door(name),
                build=version("hotseat"),
                games=games.names(),
            ),
            adopt=self._adopt,
            release=self._release,
            table_changed=self._table_changed,
            nodes_changed=self._nodes_changed,
        )
        self.pages_url = ""
        self.health = Health(
            self._statistics,
            lambda: self.ready,
            {
                "node": name,
                "cluster": config.cluster.id,
                "incarnation": endpoint.identity.incarnation,
                "build": version("hotseat"),
            },
        )
        self._door = Door(
            {
                "identify": self._identify,
                "metrics": self.health.door_operation,
                "records": partial(give_records, self.supervisor),
                "status": self._status,
                "stop": self._stop,
            }
        )

    @property
    def ready(self) -> bool:
        """It owns all that is meant for it, and every registered node is reached."""
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
            tasks.start_soon(self._keep)
            tasks.start_soon(self._announce_ready)
            await self._stopping.wait()
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

    async def _announce_ready(self) -> None:
        await self._keeper.wait_ready()
        log.info("node_ready", shards=sorted(self._router.owned))

    def _adopt(self, shard: int, epoch: int) -> None:
        self._router.owned[shard] = epoch
        self.supervisor.adopt(shard, epoch)

    def _release(self, shard: int) -> None:
        self._router.owned.pop(shard, None)
        self.supervisor.release(shard)

    def _table_changed(self, table: ShardTable) -> None:
        """Keep a link to every other node of the table, and to no other.

        An owner stays in it while its registration has lapsed: that is only a hint.
        """
        self._router.table_changed(table)
        me = self._endpoint.identity.process
        entries = {name: entry for name, entry in table.nodes.items() if name != me}
        for name in self._linked - entries.keys():
            self._endpoint.disconnect(name)
        for name, entry in entries.items():
            self._endpoint.connect(PeerAddress(name, entry.inbox, entry.incarnation))
        self._linked = set(entries)

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
        matches = self.supervisor.statistics()
        return {
            "node": self._endpoint.identity.process,
            "ready": self.ready,
            "shards": sorted(self._router.owned),
            "epochs": {str(s): e for s, e in sorted(self._router.owned.items())},
            "matches": matches.running,
            "ended": matches.resident,
            "games": [list(pair) for pair in self._endpoint.identity.games],
            "statistics": {
                name: asdict(part) for name, part in self._statistics().items()
            },
        }

    def _statistics(self) -> dict[str, Any]:
        """Of each part, by its name, as `STATISTICS` declares."""
        return {
            "supervisor": self.supervisor.statistics(),
            "links": self._endpoint.statistics(),
            "switchboard": self._switchboard.statistics(),
            "outlet": self._outlet.statistics(),
            "keeper": self._keeper.statistics(),
            "guard": self._guard.statistics(),
        }

    def _stop(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        self.stop()
        return {}
