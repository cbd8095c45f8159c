"""One node process: its parts, put together, from start to stop.

Nothing is decided here. The order is: games, coordinator, journal, inbox, matches,
door, replicas, keeper; what was opened last is closed first. A node that stops hands
over what it owns (`departure.py`); what is left after a while it resigns, so that its
followers take over at once. It answers what it has, and is gone when all that it
acknowledged is on the disk.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial
from importlib.metadata import version
from typing import Any

import anyio

from ...config import Config
from ...runtime.control_plane import ClusterRecord, Keys, NodeRecord
from ...runtime.errors import CoordinatorError
from ...runtime.link import PeerAddress
from ...runtime.pin_table import PinTable
from ...runtime.shard_table import ShardTable
from ...runtime.traces import Traces
from ..nng_door import DoorServer
from ..operator.commands import Commands
from ..operator.door import Door, Operation
from ..operator.match_records import give_records
from ..operator.node_page import give_nodes
from ..operator.operations import operator_operations
from ..operator.operations_log import OperationsLog
from ..operator.replica_digests import give_digests
from ..operator.sealed_door import SealedDoor
from ..operator.spread_shards import give_balance
from ..operator.verbs import VerbParts, node_verbs
from ..telemetry import get_logger
from .alive_mark import AliveMark
from .deaths import Deaths
from .departure import Departure
from .health import Health
from .hosting import Hosting, HostingParts
from .keeper import Keeper
from .memory_room import MemoryRoom
from .outlet import NodeOutlet
from .parts import BREADCRUMB, NodeParts, open_parts
from .poison import PoisonWatch
from .router import Router
from .service_manager import ServiceManager
from .status import NodeStatus
from .switchboard import Switchboard

__all__ = ["Node", "run_node"]

TICK_S = 0.1
"""Between two looks for requests that have waited too long for an owner."""

log = get_logger()


async def run_node(config: Config) -> None:
    """Run a node until SIGTERM or SIGINT.

    Raises:
        OperatorError: The cluster's folder or a game cannot be used.
        LinkRefused: The inbox or the door cannot be opened.
        JournalError: The journal cannot be used.
        CoordinatorError: The coordinator cannot be used, or knows another cluster.
    """
    async with AsyncExitStack() as stack:
        parts = await stack.enter_async_context(open_parts(config))
        node = Node(parts)
        await stack.enter_async_context(node.supervisor)
        address = config.node.door or parts.home.door(config.node.id)
        await stack.enter_async_context(DoorServer(address, node.door))
        if config.node.open_door is not None:
            sealed = SealedDoor(node.door, parts.home.secret())
            there = DoorServer(config.node.open_door, sealed.answer)
            await stack.enter_async_context(there)
            log.info("door_opened", address=there.address)
        if config.metrics.listen is not None:
            pages = node.health.http_door(config.metrics.listen)
            await stack.enter_async_context(pages)
            node.tell.pages_url = pages.url
            log.info("metrics_served", url=pages.url)
        await node.serve()
    log.info("node_stopped")
    if node.failure is not None:
        raise node.failure


class Node:
    """The parts of one node, joined. `serve` runs it; `stop` ends that."""

    def __init__(self, parts: NodeParts) -> None:
        config, endpoint = parts.config, parts.endpoint
        self._endpoint = endpoint
        self._clock = parts.clock
        self._collector = parts.collector
        self._manager = ServiceManager()
        self._stopping = anyio.Event()
        self._hurried = anyio.Event()
        self._owners_changed = anyio.Event()
        self.failure: CoordinatorError | None = None
        self._linked: set[str] = set()
        self._nodes: Mapping[str, NodeRecord] = {}
        self._registered: set[str] = set()
        name, home = config.node.id, parts.home
        cluster, keys = _cluster_record(config), Keys(config.cluster.id)
        self._pins = pins = PinTable(cluster.shards)
        self._router = Router(name, cluster.shards, pins)
        traces = Traces(config.supervisor.traced_actions, parts.clock.monotonic_s)
        self._outlet = NodeOutlet(endpoint, traces)
        self._alive = AliveMark(home.make_node_folder(name) / "alive")
        self._deaths = _deaths(parts, keys)
        self._hosting = Hosting(
            _hosting_parts(parts, self._outlet, self._alive.last_ms, traces),
            cluster,
            pins=pins,
            adopted=self._adopted,
            released=self._released,
            node_gone=self._node_gone,
        )
        self.supervisor = self._hosting.supervisor
        self._replicator = self._hosting.replicator
        self._memory = MemoryRoom(config.node.memory_mib)
        self._departure = Departure(
            parts.coordinator, keys, name, self._replicator, config.node.stop_drain_s
        )
        self._switchboard = Switchboard(
            endpoint,
            self._outlet,
            self._router,
            self.supervisor,
            self._replicator,
            traces=traces,
        )
        self._poison = PoisonWatch(keys, self._set_apart, self._bring_back)
        self._keeper = Keeper(
            parts.coordinator,
            cluster,
            _node_record(parts),
            self._replicator,
            table_changed=self._table_changed,
            nodes_changed=self._nodes_changed,
            poison=self._poison,
            first=self._deaths.tell,
            pins=pins,
        )
        self._commands = self._operators_commands(parts, keys)
        self.tell = NodeStatus(
            parts,
            self._hosting,
            self._keeper,
            self._switchboard,
            self._outlet,
            self._router,
            self._commands,
            lambda: self.ready,
        )
        self.health = Health(self.tell.statistics, lambda: self.ready, _facts(parts))
        self._door = Door(self._operations(cluster.shards))

    @property
    def ready(self) -> bool:
        """It serves, or follows in sync, all that is meant for it, and every registered
        node is reached."""
        reached = self._switchboard.reached(self._registered)
        return self._keeper.ready and reached and not self._stopping.is_set()

    @property
    def address(self) -> PeerAddress:
        """Where its inbox is."""
        return self._endpoint.address

    async def door(self, request: bytes) -> bytes:
        """Answer a command."""
        return await self._door.answer(request)

    def stop(self) -> None:
        """Let `serve` return, when what this node owns is handed over; asked again,
        at once."""
        if self._stopping.is_set():
            self._hurried.set()
        else:
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
            tasks.start_soon(self._manager.run, self._keeper.wait_ready)
            tasks.start_soon(self._reroute)
            tasks.start_soon(self._deaths.run)
            tasks.start_soon(self._commands.run)
            await self._stopping.wait()
            self._manager.stopping()
            if self.failure is None:
                await self._departure.go(self._hurried)
            await self._commands.stop()
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
            self._collector.look(self._clock.monotonic_s())
            self._alive.touch(self._clock.now_ms())
            if self._memory.look():
                log.warning("memory_room", room=self._memory.room)
                self._keeper.tell_room(self._memory.room)

    async def _announce_ready(self) -> None:
        await self._keeper.wait_ready()
        log.info("node_ready", shards=sorted(self._router.owned))

    def _node_gone(self, node: str) -> None:
        self._collector.hold(self._clock.monotonic_s())
        self._deaths.node_gone(node)

    def _adopted(self, shard: int, epoch: int) -> None:
        # For who waits for a dead process's matches. No such care for a planned change,
        # nor for a frozen owner, whose players have waited a second by now.
        self._collector.hold_longer(self._clock.monotonic_s())
        self._router.owned[shard] = epoch
        for match in self._poison.apart():  # it may have come here since it was told
            if self._pins.shard_of(match) == shard:
                self.supervisor.set_apart(match, "quarantined")
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

    def _set_apart(self, match: str) -> None:
        self.supervisor.set_apart(match, "quarantined")

    def _bring_back(self, match: str, apart_ms: int) -> None:
        if code := self.supervisor.bring_back(match, apart_ms):
            log.error("match_stays_apart", match=match, code=code)

    def _nodes_changed(self, nodes: Mapping[str, NodeRecord]) -> None:
        self._nodes = nodes
        self._registered = nodes.keys() - {self._endpoint.identity.process}

    def _operations(self, shards: int) -> Mapping[str, Operation]:
        """What the door for commands can be asked."""
        return {
            **operator_operations(
                self._hosting, self._router, self._pins, shards, self._clock.now_ms
            ),
            **self._commands.door_operations(),
            "balance": partial(give_balance, self._hosting),
            "digests": partial(give_digests, self._hosting.states, shards),
            "identify": self.tell.identify,
            "metrics": self.health.door_operation,
            "nodes": partial(self._give_nodes, shards),
            "records": partial(give_records, self.supervisor),
            "status": self.tell.status,
            "stop": self._stop,
        }

    def _give_nodes(self, shards: int, asked: Mapping[str, Any]) -> dict[str, Any]:
        runner = self._replicator.runner
        core = None if runner is None else runner.core
        return give_nodes(self._nodes, core, range(shards))

    def _operators_commands(self, parts: NodeParts, keys: Keys) -> Commands:
        """What operators can have changed here."""
        identity, now_ms = self._endpoint.identity, parts.clock.now_ms
        verbs = VerbParts(
            identity.process,
            parts.home,
            self._hosting,
            self._router,
            self._pins,
            parts.coordinator,
            keys,
            parts.games,
            parts.config.cluster.shards,
            now_ms,
        )
        log = OperationsLog(parts.coordinator, keys)
        boot = identity.incarnation
        return Commands(log, node_verbs(verbs), identity.process, boot, now_ms)

    def _stop(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        self.stop()
        return {}


def _deaths(parts: NodeParts, keys: Keys) -> Deaths:
    """Who tells in which matches nodes died; this node's last process among them."""
    deaths = Deaths(
        parts.coordinator,
        keys,
        lambda node: parts.home.node_path(node) / BREADCRUMB,
        parts.clock.now_ms,
    )
    deaths.found(parts.config.node.id, parts.left)
    return deaths


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


def _node_record(parts: NodeParts) -> NodeRecord:
    """Where this process is."""
    identity, node = parts.endpoint.identity, parts.config.node
    return NodeRecord(
        node=node.id,
        boot=identity.incarnation,
        inbox=parts.endpoint.address.inbox,
        door=node.open_door or node.door or parts.home.door(node.id),
        place=parts.home.place(),
        build=version("hotseat"),
        games=identity.games,
    )


def _hosting_parts(
    parts: NodeParts, outlet: NodeOutlet, alive_ms: int, traces: Traces
) -> HostingParts:
    config = parts.config
    return HostingParts(
        endpoint=parts.endpoint,
        coordinator=parts.coordinator,
        journal=parts.journal,
        recovered=parts.recovered,
        games=parts.games,
        outlet=outlet,
        guard=parts.guard,
        supervisor=config.supervisor,
        replication=config.replication,
        hosting=config.hosting,
        results=config.results,
        alive_ms=alive_ms,
        clock=parts.clock,
        traces=traces,
    )


def _facts(parts: NodeParts) -> dict[str, str]:
    """What every metric of this process is about."""
    return {
        "node": parts.config.node.id,
        "cluster": parts.config.cluster.id,
        "incarnation": parts.endpoint.identity.incarnation,
        "build": version("hotseat"),
    }
