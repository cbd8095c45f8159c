"""The keeper: from a coordinator's handle to adopted shards and a fresh table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast
from weakref import WeakKeyDictionary

import anyio
import msgspec
import pytest
import structlog.testing

from hotseat.nodes.coordinators.sqlite import SqliteCoordinator
from hotseat.nodes.node.keeper import Keeper
from hotseat.nodes.node.register import NODE_TTL_S, PATIENCE_S
from hotseat.nodes.node.replicator import Replicator
from hotseat.runtime.control_plane import (
    ClusterRecord,
    Keys,
    NodeRecord,
    ShardRecord,
    decode_record,
    encode_record,
)
from hotseat.runtime.coordinator import ABSENT, Coordinator, Write
from hotseat.runtime.errors import (
    ClusterMismatch,
    ControlRecordInvalid,
    CoordinatorError,
    LinkUnavailable,
    NodeIdInUse,
)
from hotseat.runtime.frame import Frame
from hotseat.runtime.journal import StoreOp
from hotseat.runtime.link import Endpoint, Identity
from hotseat.runtime.placement import initial_layout
from hotseat.runtime.replica_runner import ReplicaRunner
from hotseat.runtime.replication.node import NodeReplicas
from hotseat.runtime.replication.options import ReplicationOptions
from hotseat.runtime.replication.output import Alarm
from hotseat.runtime.shard_table import ShardTable
from hotseat.runtime.testing.memory_coordinator import CasFault, MemoryCoordinator
from hotseat.runtime.testing.memory_journal import MemoryDisk, MemoryJournal
from hotseat.runtime.testing.memory_store import MemoryStore
from hotseat.runtime.testing.plain_host import PlainHost

CLUSTER = ClusterRecord(
    cluster="test", shards=90, nodes=("n1", "n2", "n3"), durability="disk"
)
KEYS = Keys("test")


class NoLinks:
    """The endpoint of a node that reaches no other: there is one copy of each shard."""

    def __init__(self, node: str, boot: str) -> None:
        self.identity = Identity("test", node, "node", boot)

    def send(self, process: str, frame: Frame) -> None:
        raise LinkUnavailable(f"there is no link to {process}")


class NoStates:
    """A host's states, where the host keeps all in memory."""

    def checkpoint(
        self, now_ms: int, bytes_max: int, *, everything: bool = False
    ) -> tuple[StoreOp, ...]:
        return ()

    def written(self, ops: Sequence[StoreOp]) -> None: ...

    def failed(self, ops: Sequence[StoreOp]) -> None: ...

    def sweep(self, now_ms: int) -> None: ...

    def games(self) -> Mapping[int, frozenset[tuple[str, str]]]:
        return {}

    def take_alarms(self) -> tuple[Alarm, ...]:
        return ()

    def take_wanted(self) -> tuple[tuple[int, str], ...]:
        return ()


class LoopClock:
    """The loop's clock, so that a test can let it jump."""

    def now_ms(self) -> int:
        return int(anyio.current_time() * 1000)

    def monotonic_s(self) -> float:
        return anyio.current_time()


@dataclass
class Node:
    """A keeper with the replicas that it informs, and what it called back."""

    coordinator: Coordinator
    name: str
    boot: str
    disk: MemoryDisk
    cluster: ClusterRecord = CLUSTER
    place: str = ""
    nodes: Mapping[str, NodeRecord] = field(default_factory=dict)
    tables: int = 0
    failure: CoordinatorError | None = None

    def __post_init__(self) -> None:
        self.host = PlainHost()
        self.replicas = Replicator(
            self.coordinator,
            cast("Endpoint", NoLinks(self.name, self.boot)),
            MemoryJournal(self.disk),
            NoStates(),
            self.build,
            LoopClock(),
        )
        record = NodeRecord(
            node=self.name,
            boot=self.boot,
            inbox=f"tcp://{self.name}/{self.boot}",
            place=self.place,
        )
        self.keeper = Keeper(
            self.coordinator,
            self.cluster,
            record,
            self.replicas,
            table_changed=self.table_changed,
            nodes_changed=self.nodes_changed,
            jitter=lambda: 0.5,
        )

    @property
    def serves(self) -> dict[int, int]:
        """Epoch by shard."""
        return self.host.epochs

    def build(self, cluster: ClusterRecord, io: Replicator) -> ReplicaRunner:
        layout = initial_layout(cluster.shards, cluster.nodes, cluster.copies)
        found = self.disk.recover()
        options = ReplicationOptions()
        core = NodeReplicas(KEYS, self.name, self.boot, cluster, options, found, layout)
        runner = ReplicaRunner(core, io)
        runner.host = self.host
        return runner

    def table_changed(self, table: ShardTable) -> None:
        assert table is self.keeper.table
        self.tables += 1

    def nodes_changed(self, nodes: Mapping[str, NodeRecord]) -> None:
        self.nodes = nodes

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Node]:
        """Runs until the block ends; a failure of the keeper is kept."""

        async def run() -> None:
            try:
                await self.keeper.run()
            except CoordinatorError as error:
                self.failure = error

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.replicas.run)
            tasks.start_soon(run)
            yield self
            tasks.cancel_scope.cancel()


async def until(condition: Callable[[], object], patience_s: float = 30.0) -> None:
    """Wait for what must come."""
    with anyio.fail_after(patience_s):
        while not condition():  # noqa: ASYNC110 - conditions of several keepers
            await anyio.sleep(0.01)


disks: WeakKeyDictionary[MemoryStore, defaultdict[str, MemoryDisk]] = (
    WeakKeyDictionary()
)
"""The nodes' disks, by cluster: they outlive processes."""


def memory_node(
    store: MemoryStore,
    name: str,
    boot: str = "b1",
    cluster: ClusterRecord = CLUSTER,
    place: str = "",
) -> Node:
    disk = disks.setdefault(store, defaultdict(MemoryDisk))[name]
    return Node(MemoryCoordinator(store), name, boot, disk, cluster, place)


def faults_of(node: Node) -> MemoryCoordinator:
    assert isinstance(node.coordinator, MemoryCoordinator)
    return node.coordinator


async def become_three(open_one: Callable[[], Coordinator]) -> None:
    """Three nodes share the shards evenly, and each one's table says so."""
    async with (
        open_one() as c1,
        open_one() as c2,
        open_one() as c3,
        Node(c1, "n1", "a", MemoryDisk()).running() as n1,
        Node(c2, "n2", "b", MemoryDisk()).running() as n2,
        Node(c3, "n3", "c", MemoryDisk()).running() as n3,
    ):
        nodes = (n1, n2, n3)
        with anyio.fail_after(20):
            for node in nodes:
                await node.keeper.wait_ready()
        await until(lambda: all(n.keeper.table.statistics().nodes == 3 for n in nodes))
        await until(
            lambda: all(n.keeper.table.statistics().unowned == 0 for n in nodes)
        )
        for node in nodes:
            assert len(node.serves) == 30
            assert set(node.serves.values()) == {1}
            assert node.keeper.table.owned_by(node.name) == sorted(node.serves)
            assert sorted(node.nodes) == ["n1", "n2", "n3"]
        assert n1.keeper.table.snapshot(0).shards == n3.keeper.table.snapshot(0).shards
        assert n1.keeper.table.nodes["n3"].inbox == "tcp://n3/c"
        assert n1.keeper.table.nodes["n3"].incarnation == "c"


async def test_three_nodes_share_the_shards(autojump_clock: object) -> None:
    """A fresh cluster is created, registered, claimed and known to all."""
    store = MemoryStore()
    await become_three(lambda: MemoryCoordinator(store))


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_three_nodes_share_a_file(backend: str, tmp_path: Path) -> None:
    """The same over the SQLite coordinator, on both loops."""
    path = tmp_path / "coordinator.db"

    async def main() -> None:
        await become_three(lambda: SqliteCoordinator(path))

    anyio.run(main, backend=backend)


async def test_run_reports_that_it_has_started(autojump_clock: object) -> None:
    """`run` says so once the node is registered and the table has been read."""
    node = memory_node(MemoryStore(), "n1")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(node.replicas.run)
        await tasks.start(lambda task_status: node.keeper.run(task_status=task_status))
        assert node.keeper.statistics().registered
        assert node.keeper.statistics().listings == 1
        tasks.cancel_scope.cancel()


async def test_a_restart_claims_higher_epochs(autojump_clock: object) -> None:
    """A node that comes back owns its shards again, each one epoch higher."""
    store = MemoryStore()
    async with memory_node(store, "n1").running() as first:
        await first.keeper.wait_ready()
        assert set(first.serves.values()) == {1}
    async with memory_node(store, "n1", "b2").running() as second:
        await second.keeper.wait_ready()
        assert second.serves == dict.fromkeys(first.serves, 2)


async def test_a_second_live_process_is_refused(autojump_clock: object) -> None:
    """Two processes with one node id: the second ends with a clear error."""
    store = MemoryStore()
    async with memory_node(store, "n1").running() as first:
        await first.keeper.wait_ready()
        async with memory_node(store, "n1", "b2").running() as second:
            before = anyio.current_time()
            await until(lambda: second.failure)
            waited_s = anyio.current_time() - before
        assert isinstance(second.failure, NodeIdInUse)
        assert second.failure.code == "node_id_in_use"
        assert "tcp://n1/b1" in str(second.failure)
        assert NODE_TTL_S < waited_s < PATIENCE_S + 2
        assert second.serves == {}
        assert first.failure is None
        assert set(first.serves.values()) == {1}


async def test_a_start_waits_for_the_predecessors_lease(autojump_clock: object) -> None:
    """A process that died leaves its lease behind; its successor outlasts it."""
    store = MemoryStore()
    dead = store.open_session()
    value = encode_record(NodeRecord(node="n1", boot="dead", inbox="tcp://gone"))
    store.apply([Write(KEYS.node("n1"), ABSENT, value, dead)])
    async with memory_node(store, "n1").running() as node:
        await anyio.sleep(NODE_TTL_S)
        assert not node.keeper.ready
        store.end_session(dead)
        await until(lambda: node.keeper.ready)


async def test_a_start_in_the_same_folder_waits_for_nobody(
    autojump_clock: object,
) -> None:
    """Who holds a folder that a process held before knows that it is dead."""
    store = MemoryStore()
    for place, waits in (("here", False), ("elsewhere", True)):
        dead = store.open_session()
        lying = NodeRecord(node="n1", boot="dead", inbox="tcp://gone", place="here")
        known = store.list(KEYS.node("n1")).entries
        revision = known[0].revision if known else ABSENT
        store.apply([Write(KEYS.node("n1"), revision, encode_record(lying), dead)])
        async with memory_node(store, "n1", place, place=place).running() as node:
            await anyio.sleep(NODE_TTL_S)
            assert node.keeper.ready != waits
            store.end_session(dead)
            await until(lambda: node.keeper.ready)


async def test_a_replaced_process_releases_and_stops(autojump_clock: object) -> None:
    """A process that was believed dead finds its successor, and claims nothing more."""
    store = MemoryStore()
    async with memory_node(store, "n1").running() as first:
        await first.keeper.wait_ready()
        handle = faults_of(first)
        handle.down = True
        held = store.list(KEYS.node("n1")).entries
        store.apply([Write(held[0].key, held[0].revision, None)])  # as if expired
        async with memory_node(store, "n1", "b2").running() as second:
            await second.keeper.wait_ready()
            handle.down = False
            await until(lambda: first.failure)
            await anyio.sleep(5)
            assert isinstance(first.failure, NodeIdInUse)
            assert first.serves == {}
            assert set(second.serves.values()) == {2}


async def test_a_lost_lease_is_taken_again(autojump_clock: object) -> None:
    """Losing a lease costs a registration: no shard is released for it."""
    store = MemoryStore()
    async with (
        memory_node(store, "n1").running() as node,
        memory_node(store, "n2").running() as other,
    ):
        await node.keeper.wait_ready()
        await other.keeper.wait_ready()
        await until(lambda: len(other.nodes) == 2)
        store.end_session("session-1")
        await until(lambda: len(other.nodes) == 1)
        gone = ({"n1", "n2"} - set(other.nodes)).pop()
        assert gone in other.keeper.table.nodes  # still where its shards are
        await until(lambda: len(other.nodes) == 2)
        assert set(node.serves.values()) == {1}


async def test_serving_goes_on_while_the_coordinator_is_away(
    autojump_clock: object,
) -> None:
    """An outage releases nothing; what happened meanwhile is seen after it."""
    store = MemoryStore()
    with structlog.testing.capture_logs() as lines:
        async with memory_node(store, "n1").running() as node:
            await node.keeper.wait_ready()
            shard, handle = min(node.serves), faults_of(node)
            handle.down = True
            await anyio.sleep(60)
            assert len(node.serves) == 30
            assert not node.keeper.statistics().coordinator_up
            assert not node.keeper.ready
            give_away(store, shard, "n2")
            handle.down = False
            await until(lambda: shard not in node.serves)
            await until(lambda: node.keeper.table.owner(shard) == "n2")
            assert node.keeper.statistics().coordinator_up
    events = [line["event"] for line in lines]
    assert events.count("coordinator_unavailable") == 1
    assert events.count("coordinator_back") == 1


def give_away(store: MemoryStore, shard: int, to: str) -> None:
    for entry in store.list(KEYS.prefix).entries:
        if entry.key == KEYS.shard(shard):
            record = decode_record(ShardRecord, entry.key, entry.value)
            record = msgspec.structs.replace(
                record, owner=to, epoch=record.epoch + 1, claim="operator"
            )
            store.apply([Write(entry.key, entry.revision, encode_record(record))])


async def test_a_change_of_owner_is_seen_by_the_watch(autojump_clock: object) -> None:
    """A shard that was given away is released well before the next listing."""
    store = MemoryStore()
    async with memory_node(store, "n1").running() as node:
        await node.keeper.wait_ready()
        shard = min(node.serves)
        before = anyio.current_time()
        give_away(store, shard, "n2")
        await until(lambda: shard not in node.serves)
        assert anyio.current_time() - before < 0.1


async def test_a_compacted_watch_lists_again(autojump_clock: object) -> None:
    """When the history that a watch needs is gone, nothing is missed."""
    store = MemoryStore(kept_transactions=1)
    async with memory_node(store, "n1").running() as node:
        await node.keeper.wait_ready()
        shard = min(node.serves)
        give_away(store, shard, "n2")
        for number in range(5):
            store.apply([Write(f"/other/{number}", ABSENT, b"")])
        await until(lambda: shard not in node.serves)


@pytest.mark.parametrize("fault", list(CasFault))
async def test_starts_through_unknown_outcomes(
    fault: CasFault, autojump_clock: object
) -> None:
    """Whatever becomes of the first requests, every shard is served in the end."""
    store = MemoryStore()
    node = memory_node(store, "n1")
    faults_of(node).faults.script.extend([fault, None, fault, fault, fault])
    async with node.running():
        with anyio.fail_after(60):
            await node.keeper.wait_ready()
        assert set(node.serves.values()) == {1}
        faults_of(node).land_late()
        await anyio.sleep(5)
        assert set(node.serves.values()) == {1}
        assert node.keeper.statistics().outstanding == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shards": 16}, "shards is 90 there and 16 here"),
        ({"durability": "memory"}, "durability"),
        ({"shards": 16, "copies": 2}, "shards.*copies"),
    ],
    ids=str,
)
async def test_another_configuration_is_refused(
    changes: dict[str, object], message: str, autojump_clock: object
) -> None:
    """What is fixed at creation must be configured alike; all differences are named."""
    store = MemoryStore()
    async with memory_node(store, "n1").running() as first:
        await first.keeper.wait_ready()
    other = msgspec.structs.replace(CLUSTER, **changes)
    node = memory_node(store, "n2", "b", other)
    with pytest.raises(ClusterMismatch, match=message) as caught:
        await node.keeper.run()
    assert caught.value.code == "cluster_mismatch"


async def test_another_set_of_nodes_is_no_mismatch(autojump_clock: object) -> None:
    """The layout is the creator's; a node outside of it joins and owns nothing."""
    store = MemoryStore()
    async with memory_node(store, "n1").running() as first:
        await first.keeper.wait_ready()
        wider = msgspec.structs.replace(CLUSTER, nodes=("n1", "n9"))
        joiner = memory_node(store, "n9", "b", wider)
        async with joiner.running():
            await joiner.keeper.wait_ready()
            assert joiner.serves == {}
            assert len(first.serves) == 30


async def test_a_cluster_of_a_newer_version_is_refused(autojump_clock: object) -> None:
    """A cluster record that this version cannot read ends the start, clearly."""
    store = MemoryStore()
    store.apply([Write(KEYS.cfg, ABSENT, b'{"schema":99}')])
    with pytest.raises(ControlRecordInvalid, match="newer version"):
        await memory_node(store, "n1").keeper.run()


async def test_a_start_waits_for_the_coordinator(autojump_clock: object) -> None:
    """A node that starts before its coordinator answers starts when it does."""
    node = memory_node(MemoryStore(), "n1")
    faults_of(node).down = True
    async with node.running():
        await anyio.sleep(30)
        assert not node.keeper.ready
        assert node.keeper.statistics().outstanding is None
        faults_of(node).down = False
        await until(lambda: node.keeper.ready)
