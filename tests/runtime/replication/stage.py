"""A few replicas of one shard on a bench: messages, disks and the record by hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec

from hotseat.runtime.control_plane import ShardRecord
from hotseat.runtime.coordinator import CasConflict, CasOk, CasOutcome, CasUnknown
from hotseat.runtime.replication.effects import Effects, RecordWrite
from hotseat.runtime.replication.manifest import Manifest
from hotseat.runtime.replication.me import Me
from hotseat.runtime.replication.message import Entry, ManifestLine, Message, Piece
from hotseat.runtime.replication.options import ReplicationOptions
from hotseat.runtime.replication.output import Install, Output
from hotseat.runtime.replication.recovered import RecoveredShard
from hotseat.runtime.replication.role import Role
from hotseat.runtime.replication.shard import ShardReplica

__all__ = ["Bench", "Replica", "item"]


def item(name: str, index: int = 0) -> tuple[str, int, msgspec.Raw]:
    return (name, index, msgspec.Raw(msgspec.msgpack.encode(name)))


@dataclass
class Replica:
    """One replica, and all that it asked for."""

    me: Me
    effects: Effects
    core: ShardReplica
    disk: bool = False
    durable: bool = True
    """Groups are durable as soon as they are asked for (else by `persist`)."""
    outputs: list[Output] = field(default_factory=list)
    writes: deque[RecordWrite] = field(default_factory=deque)
    tickets: deque[int] = field(default_factory=deque)
    manifest: Manifest = field(default_factory=Manifest)
    damaged: list[str] = field(default_factory=list)
    """The next arrivals of these matches differ from what the owner holds."""

    def all(self, kind: str) -> list[object]:
        return [x for output in self.outputs for x in getattr(output, kind)]

    @property
    def committed(self) -> list[str]:
        return [
            e.match for out in self.outputs for c in out.committed for e in c.entries
        ]

    def log(self) -> list[tuple[int, str]]:
        log = self.core.data.log
        entries: tuple[Entry, ...] = log.between(log.base_seq + 1, log.last_seq)
        return [(entry.epoch, entry.match) for entry in entries]


class Bench:
    """Nodes named by letters; the record's register; links that may be cut."""

    def __init__(
        self,
        nodes: str = "abc",
        *,
        want: str | None = None,
        min_isr: int = 1,
        options: ReplicationOptions | None = None,
        disk: bool = False,
    ) -> None:
        self.now = 10_000
        self.options = options or ReplicationOptions()
        self.min_isr = min_isr
        self.disk = disk
        self.want = tuple(want if want is not None else nodes)
        self.record: ShardRecord | None = None
        self.revision = 0
        self.replicas: dict[str, Replica] = {}
        self.queue: deque[tuple[str, str, Message]] = deque()
        self.cut: set[tuple[str, str]] = set()
        self.dropped: list[tuple[str, str, Message]] = []
        self.watching: set[str] = set()
        self.reach_record = set(nodes)
        self.lose_answers = False
        self.filter: Callable[[str, str, Message], bool] | None = None
        for node in nodes:
            self.start(node)

    # Life and death.

    def start(
        self,
        node: str,
        recovered: RecoveredShard | None = None,
        ident: str | None = None,
        boot: int = 0,
    ) -> Replica:
        count = getattr(self, "_starts", 0) + 1
        self._starts = count
        prefix = f"{node}{count}"
        me = Me(
            node,
            prefix,
            ident=ident or prefix,
            boot=boot,
            min_isr=self.min_isr,
            durability="disk" if self.disk else "memory",
            serving_allowed=True,
            clock_ms=self.now,
        )
        effects = Effects()
        core = ShardReplica(0, me, effects, self.options, recovered, self.want)
        replica = Replica(me, effects, core, self.disk)
        self.replicas[node] = replica
        self.watching.add(node)
        self._register()
        return replica

    def kill(self, node: str) -> None:
        del self.replicas[node]
        self.watching.discard(node)
        self.queue = deque(x for x in self.queue if node not in x[:2])
        self._register()

    def _register(self) -> None:
        alive = frozenset(self.replicas)
        for replica in self.replicas.values():
            replica.me.registered = alive

    def __getitem__(self, node: str) -> Replica:
        return self.replicas[node]

    # One step of one replica.

    def settle(self, node: str) -> None:
        """Settle and obey: persist, send, queue the writes."""
        replica = self.replicas[node]
        core, effects = replica.core, replica.effects
        replica.me.clock_ms = self.now
        while True:
            core.settle(self.now)
            ticket = effects.close_group()
            if ticket == 0:
                break
            if replica.disk and not replica.durable:
                replica.tickets.append(ticket)
                break
            core.persisted(ticket, self.now)
        core.due_ms()
        replica.writes.extend(effects.take_writes())
        output = effects.take_output(0, (), None)
        replica.outputs.append(output)
        for send in output.sends:
            message = (node, send.node, send.message)
            dropped = self.filter is not None and not self.filter(*message)
            if message[:2] in self.cut or send.node not in self.replicas or dropped:
                self.dropped.append(message)
            else:
                self.queue.append(message)
        for page in output.installs:
            self._judge(replica, page)
        if output.installs:
            self.settle(node)

    @staticmethod
    def _judge(replica: Replica, page: Install) -> None:
        """The host compares a page that it was given."""
        if page.page == 0:
            replica.manifest = Manifest()
        differing = tuple(x.match for x in page.lines if x.match in replica.damaged)
        replica.manifest.add(x for x in page.lines if x.match not in differing)
        for match in differing:
            replica.damaged.remove(match)
        replica.core.judged(page, differing, replica.manifest.digest())

    def persist(self, node: str) -> None:
        """All that waits for the disk is durable."""
        replica = self.replicas[node]
        while replica.tickets:
            replica.core.persisted(replica.tickets.popleft(), self.now)
        self.settle(node)

    def fail_disk(self, node: str) -> None:
        replica = self.replicas[node]
        while replica.tickets:
            replica.core.persist_failed(replica.tickets.popleft(), self.now)
        self.settle(node)

    # The record.

    def read(self, node: str) -> None:
        """The node reads the record."""
        if node in self.reach_record:
            self.replicas[node].core.observe(self.revision, self.record, self.now)
            self.settle(node)

    def apply(self, write: RecordWrite) -> CasOutcome:
        if write.expected != self.revision:
            return CasConflict(("shard",))
        self.revision += 1
        self.record = write.record
        return CasOk(self.revision)

    def write(self, node: str, *, land: bool = True, known: bool = True) -> bool:
        """The node's oldest write arrives (or not), and is answered (or not)."""
        replica = self.replicas[node]
        if not replica.writes:
            return False
        write = replica.writes.popleft()
        outcome: CasOutcome = self.apply(write) if land else CasUnknown("lost")
        if not known:
            outcome = CasUnknown("no answer")
        moved = isinstance(outcome, CasConflict)
        replica.core.answered(write.nonce, outcome, moved, self.now)
        self.settle(node)
        return True

    def edit(self, **fields: object) -> None:
        """Somebody else edits the record."""
        assert self.record is not None
        self.revision += 1
        edited = {"claim": f"editor.{self.revision}", **fields}
        self.record = msgspec.structs.replace(self.record, **edited)
        for node in sorted(self.watching & self.reach_record):
            self.read(node)

    # Running.

    def deliver(self, at: int = 0) -> None:
        """One message arrives."""
        self.queue.rotate(-at)
        sender, node, message = self.queue.popleft()
        self.queue.rotate(at)
        replica = self.replicas[node]
        replica.me.heard[sender] = self.now
        replica.core.received(sender, message, self.now)  # type: ignore[arg-type]
        self.settle(node)

    def run(self, limit: int = 2000) -> None:
        """Until nothing is on its way; writes land and are answered at once."""
        for _ in range(limit):
            if self.queue:
                self.deliver()
            elif not any(self._writes(node) for node in sorted(self.replicas)):
                return
        raise AssertionError(f"it does not come to rest: {list(self.queue)[:6]}")

    def _writes(self, node: str) -> bool:
        if node not in self.reach_record or not self.write(node):
            return False
        for watcher in sorted(self.watching & self.reach_record):
            self.read(watcher)
        return True

    def beat(self) -> None:
        """Every node tells every other one that it lives, and what it owns."""
        for node in sorted(self.replicas):
            core = self.replicas[node].core
            for other in sorted(self.replicas):
                if other != node and (node, other) not in self.cut:
                    target = self.replicas[other]
                    target.me.heard[node] = self.now
                    if core.ownership is not None:
                        target.core.alive(node, core.epoch, self.now, self.now)

    def pass_ms(self, ms: int, step: int = 50) -> None:
        """Time passes, with heartbeats; all that follows is done."""
        end = self.now + ms
        while self.now < end:
            self.now += min(step, end - self.now)
            self.beat()
            for node in sorted(self.replicas):
                self.replicas[node].core.tick(self.now)
                self.settle(node)
            self.run()

    def begin(self) -> None:
        """Everybody reads; the first one wanted owns it, and the others join."""
        for node in sorted(self.replicas):
            self.read(node)
        self.run()
        self.pass_ms(300)

    def role(self, node: str) -> Role:
        return self[node].core.role

    def owner(self) -> str | None:
        owners = [n for n in sorted(self.replicas) if self[n].core.serving]
        assert len(owners) <= 1, owners
        return owners[0] if owners else None

    def propose(self, node: str, *names: str) -> int:
        seq = self[node].core.propose([item(name) for name in names], self.now)
        self.settle(node)
        return seq

    def feed_pages(self, node: str, pages: int = 2) -> int:
        """Answer each `Feed` of the owner with a page; returns how many."""
        replica = self.replicas[node]
        answered = 0
        for output in list(replica.outputs):
            for feed in output.feeds:
                number = int(feed.cursor or 0)
                name = feed.only[number] if feed.only else f"m{number}"
                last = number == (len(feed.only) or pages) - 1
                piece = Piece(name, 0, 0, 1, b"x")
                line = ManifestLine(name, 0, b"d")
                cursor = None if last else str(number + 1)
                given = (feed.node, feed.install, (piece,), cursor, self.now, (line,))
                replica.core.feed(*given)
                answered += 1
        replica.outputs = [replace(output, feeds=()) for output in replica.outputs]
        if answered:
            self.settle(node)
        return answered
