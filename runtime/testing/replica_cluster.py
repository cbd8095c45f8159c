"""A whole cluster of replicas in one process, without faults of its own.

Messages, compare-and-swaps and disks are instant and in order; time passes when a test
says so. What goes wrong is what a test asks for: `crash`, `cut`, `cas_fates`,
`coordinator_up`, a `MemoryDisk`'s faults. (Seeded faults are for a simulator.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import msgspec

from ..control_plane import ClusterRecord, Keys, ShardRecord, decode_record
from ..coordinator import CasOutcome, CasUnknown
from ..errors import JournalFailed
from ..fleet import Fleet
from ..frame import ShardEntry
from ..journal import StoreOp
from ..placement import initial_layout
from ..replica_runner import ReplicaRunner
from ..replication.message import Message
from ..replication.node import NodeReplicas
from ..replication.options import ReplicationOptions
from ..replication.output import Alarm, CasRequest
from .memory_journal import MemoryDisk
from .memory_store import MemoryStore
from .plain_host import PlainHost

__all__ = ["ReplicaCluster", "ReplicaProcess"]

REREAD_MS = 1000
"""Between two listings of a process."""

LEASE_MS = 2000
"""A crashed node stays registered so long."""

STEPS_MAX = 200_000
"""Of one settling: then it does not come to rest."""

CasFate = Literal["lost", "answer_lost", "late"]


class ReplicaProcess:
    """One process of a node; implements `ReplicaIo`. A restart makes another."""

    def __init__(self, cluster: ReplicaCluster, node: str, boot: str) -> None:
        self.node = node
        self.dead = False
        if cluster.record.durability == "memory":  # nothing outlives a process
            cluster.disks[node] = MemoryDisk()
        self.disk = cluster.disks[node]
        self.host = PlainHost()
        self.alarms: list[Alarm] = []
        self.rows: dict[int, ShardEntry] = {}
        self.wakes_at_ms: int | None = None
        self.lists_at_ms = cluster.now_ms
        self.watched = 0  # the store's revision up to which it was told
        self.cas_sent = 0
        self._cluster = cluster
        self._groups = 0
        self._unsynced: dict[int, int] = {}  # group -> ticket
        recovered = self.disk.recover()
        self.host.recover(recovered, self.disk)
        self.core = NodeReplicas(
            cluster.keys,
            node,
            boot,
            cluster.record,
            cluster.options,
            recovered,
            cluster.layout,
        )
        self.runner = ReplicaRunner(self.core, self)
        self.runner.host = self.host

    def persist(self, ticket: int, ops: tuple[StoreOp, ...]) -> None:
        self._groups += 1
        group = self._groups
        self.disk.begin(group, ops)
        self._unsynced[group] = ticket
        self._later(lambda: self._sync(group))

    def _sync(self, group: int) -> None:
        ticket = self._unsynced.pop(group, 0)
        try:
            self.disk.sync_upto(group)
        except JournalFailed:
            if ticket:
                self.runner.persist_failed(ticket, self._cluster.now_ms)
        else:
            if ticket:
                self.runner.persisted(ticket, self._cluster.now_ms)

    def fail_unsynced(self) -> None:
        """What was begun on a broken disk is lost."""
        for group in list(self._unsynced):
            self._sync(group)

    def send(self, node: str, message: Message) -> None:
        self._cluster.post(self, node, message)

    def cas(self, request: CasRequest) -> None:
        self.cas_sent += 1

        def begin() -> None:
            outcome = self._cluster.apply(request)
            self.runner.answered(request.id, outcome, self._cluster.now_ms)

        self._later(begin)

    def alarm(self, alarm: Alarm) -> None:
        self.alarms.append(alarm)

    def table_changed(self, rows: tuple[ShardEntry, ...]) -> None:
        self.rows.update({row.shard: row for row in rows})

    def list_again(self) -> None:
        self.lists_at_ms = self._cluster.now_ms

    def wake_at(self, at_ms: int | None) -> None:
        self.wakes_at_ms = at_ms

    def _later(self, do: Callable[[], None]) -> None:
        self._cluster.later(self, do)


class ReplicaCluster:
    """Nodes "n1", "n2"…; none runs before `start`."""

    def __init__(
        self,
        nodes: int = 3,
        *,
        shards: int = 4,
        copies: int = 2,
        min_isr: int = 1,
        durability: Literal["memory", "disk"] = "disk",
        options: ReplicationOptions | None = None,
        extra_nodes: Sequence[str] = (),
    ) -> None:
        """`extra_nodes` are not in the first layout."""
        names = [f"n{number}" for number in range(1, nodes + 1)]
        self.record = ClusterRecord(
            cluster="test",
            shards=shards,
            nodes=tuple(names),
            copies=copies,
            min_isr=min_isr,
            durability=durability,
        )
        self.keys = Keys("test")
        self.layout = initial_layout(shards, names, copies)
        self.options = options or ReplicationOptions()
        self.store = MemoryStore()
        self.disks = {name: MemoryDisk() for name in [*names, *extra_nodes]}
        self.processes: dict[str, ReplicaProcess] = {}
        """The live ones, by node."""
        self.now_ms = 1_000_000
        self.coordinator_up = True
        self.cas_fates: deque[CasFate | None] = deque()
        """Of the next compare-and-swaps, in order; None: nothing goes wrong."""
        self.late: list[CasRequest] = []
        """Requests whose fate was "late": `land_late` applies them."""
        self.fleet = Fleet()
        """What all are told of the nodes, beside which are registered; see `tell`."""
        self.cut: set[tuple[str, str]] = set()
        """(from, to): messages that way are lost."""
        self._leases: dict[str, int | None] = {}  # node -> when it ends; None: alive
        self._boots = 0
        self._queue: deque[tuple[ReplicaProcess, Callable[[], None]]] = deque()

    # What a test does.

    def start(self, *nodes: str) -> None:
        """Start these nodes' processes; all of the first layout by default."""
        for node in nodes or self.record.nodes:
            self._boots += 1
            process = ReplicaProcess(self, node, f"boot{self._boots}")
            self.processes[node] = process
            self._leases[node] = None
        self._tell_registered()
        for node in nodes or self.record.nodes:
            for other in self.processes.values():
                if other.node != node:
                    other.runner.link_up(node, self.now_ms)

    def crash(self, node: str, *, refused: bool = True) -> None:
        """Kill a process; its disk keeps what it had synced.

        Others are refused a new connection, unless its whole machine vanished.
        """
        process = self.processes.pop(node)
        process.dead = True
        process.disk.crash()
        self._leases[node] = self.now_ms + LEASE_MS
        for other in self.processes.values():
            other.runner.link_down(node, self.now_ms)
            if refused:
                other.runner.refused(node, self.now_ms)

    def tell(self, fleet: Fleet) -> None:
        """All processes hear this of the nodes, and who is registered."""
        self.fleet = fleet
        self._tell_registered()

    def settle(self) -> None:
        """Until nothing moves any more, without any time passing."""
        for _ in range(STEPS_MAX):
            if self._queue:
                process, do = self._queue.popleft()
                if not process.dead:
                    do()
            elif not self._tell_news():
                return
        raise AssertionError("the cluster does not come to rest")

    def advance(self, ms: int) -> None:
        """Let time pass; everything happens when it is due."""
        target_ms = self.now_ms + ms
        self.settle()
        while True:
            at_ms = min(self._next_ms(), target_ms)
            self.now_ms = max(self.now_ms, at_ms)
            self._expire_leases()
            for process in list(self.processes.values()):
                due_ms = process.wakes_at_ms
                if due_ms is not None and due_ms <= self.now_ms:
                    process.runner.tick(self.now_ms)
                    again_ms = process.wakes_at_ms
                    late = again_ms is None or again_ms > self.now_ms
                    assert late, f"{process.node} wants a tick at once, again"
            self.settle()
            if at_ms >= target_ms:
                return

    def mend(self, node: str) -> None:
        """The node's disk, whose `failing` was set, writes again."""
        process = self.processes.get(node)
        disk = self.disks[node]
        if process is None:
            disk.failing = ""
            return
        process.fail_unsynced()
        disk.failing = ""
        disk.reopen()
        process.runner.disk_ok(self.now_ms)

    def until(self, true: Callable[[], bool], within_ms: int = 10_000) -> int:
        """Let time pass until something is true; how long it took."""
        began_ms = self.now_ms
        self.settle()
        while not true():
            passed_ms = self.now_ms - began_ms
            assert passed_ms < within_ms, f"not true within {within_ms} ms"
            self.advance(10)
        return self.now_ms - began_ms

    def propose(self, shard: int, match: str, text: str = "") -> int:
        """Propose a match's next record where the shard is served; its index."""
        process = self.processes[self.owner(shard)]
        index = process.host.next_index(shard, match)
        record = msgspec.Raw(msgspec.msgpack.encode(text or f"{match}/{index}"))
        process.host.proposed(shard, match, index)
        process.runner.propose(shard, [(match, index, record)], self.now_ms)
        return index

    def land_late(self) -> None:
        """What was late reaches the store now; its senders hear nothing."""
        late, self.late = self.late, []
        for request in late:
            self.store.apply(request.writes)

    # What a test looks at.

    def shard(self, shard: int) -> ShardRecord:
        """The record that stands in the store."""
        (value,) = [
            entry.value
            for entry in self.store.list(self.keys.prefix).entries
            if entry.key == self.keys.shard(shard)
        ]
        return decode_record(ShardRecord, self.keys.shard(shard), value)

    def owner(self, shard: int) -> str:
        """The live node that serves the shard."""
        (owner,) = self.servers(shard)
        return owner

    def servers(self, shard: int) -> list[str]:
        """All live nodes that serve the shard."""
        return [n for n, p in self.processes.items() if shard in p.host.epochs]

    def in_sync(self, shard: int) -> list[str]:
        """The nodes of the in-sync set, by the record."""
        return sorted(node for node, _ in self.shard(shard).isr)

    def settled(self) -> bool:
        """Every shard is served, with all copies that live nodes allow, in sync."""
        copies = min(self.record.copies, len(self.processes))
        living = {(node, p.core.ident) for node, p in self.processes.items()}
        return all(
            len(self.servers(shard)) == 1
            and len(self.shard(shard).isr) == copies
            and set(self.shard(shard).isr) <= living
            for shard in range(self.record.shards)
        )

    def alarms(self) -> list[Alarm]:
        """Of all live processes."""
        return [alarm for p in self.processes.values() for alarm in p.alarms]

    # What processes use.

    def later(self, process: ReplicaProcess, do: Callable[[], None]) -> None:
        """Do it when what waits already is done, if the process still lives."""
        self._queue.append((process, do))

    def post(self, sender: ReplicaProcess, node: str, message: Message) -> None:
        """Bring a message to a node, if both live and nothing is cut."""
        receiver = self.processes.get(node)
        if receiver is None or (sender.node, node) in self.cut:
            return
        self.later(
            receiver,
            lambda: receiver.runner.received(sender.node, message, self.now_ms),
        )

    def apply(self, request: CasRequest) -> CasOutcome:
        """A compare-and-swap, with the fate that the test gave it."""
        fate = self.cas_fates.popleft() if self.cas_fates else None
        if not self.coordinator_up or fate == "lost":
            return CasUnknown("lost")
        if fate == "late":
            self.late.append(request)
            return CasUnknown("late")
        outcome = self.store.apply(request.writes)
        return CasUnknown("answer lost") if fate == "answer_lost" else outcome

    def _tell_news(self) -> bool:
        """Listings that are due, and changes that are watched; False: none."""
        told = False
        if not self.coordinator_up:
            return told
        for process in list(self.processes.values()):
            if process.lists_at_ms <= self.now_ms:
                process.lists_at_ms = self.now_ms + REREAD_MS
                listing = self.store.list(self.keys.prefix)
                process.watched = listing.revision
                asked_at = process.core.revision
                process.runner.listing(listing, asked_at, self.now_ms)
                told = True
            news = self.store.changes_after(self.keys.prefix, process.watched)
            for revision, changes in news:
                process.watched = revision
                process.runner.changed(changes, self.now_ms)
                told = True
        return told

    def _next_ms(self) -> int:
        times = [self.now_ms + 10_000]
        for process in self.processes.values():
            if process.wakes_at_ms is not None:
                times.append(process.wakes_at_ms)
            if self.coordinator_up:
                times.append(process.lists_at_ms)
        times += [lease for lease in self._leases.values() if lease is not None]
        return min(times)

    def _expire_leases(self) -> None:
        ended = [n for n, at in self._leases.items() if at is not None]
        ended = [n for n in ended if (self._leases[n] or 0) <= self.now_ms]
        for node in ended:
            del self._leases[node]
        if ended:
            self._tell_registered()

    def _tell_registered(self) -> None:
        nodes = frozenset(self._leases)
        for process in self.processes.values():
            fleet = replace(self.fleet, registered=nodes)
            process.runner.registered(fleet, self.now_ms)
