"""The runner: what the core asks for is done in order, and heard to its end."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from hotseat.runtime.control_plane import ClusterRecord, Keys
from hotseat.runtime.fleet import Fleet
from hotseat.runtime.frame import ShardEntry
from hotseat.runtime.journal import Forgotten, StoreOp
from hotseat.runtime.placement import initial_layout
from hotseat.runtime.replica_runner import ReplicaRunner, compose_group
from hotseat.runtime.replication.message import Message, Raw
from hotseat.runtime.replication.node import NodeReplicas
from hotseat.runtime.replication.options import ReplicationOptions
from hotseat.runtime.replication.output import (
    Alarm,
    Appended,
    CasRequest,
    Commit,
    JournalOp,
    Wiped,
)
from hotseat.runtime.replication.recovered import Recovered
from hotseat.runtime.testing.memory_store import MemoryStore
from hotseat.runtime.testing.plain_host import PlainHost


@dataclass
class Outside:
    """Notes what it is told; implements `ReplicaIo`."""

    told: list[str] = field(default_factory=list)
    groups: list[tuple[int, tuple[StoreOp, ...]]] = field(default_factory=list)
    requests: list[CasRequest] = field(default_factory=list)
    wakes_at_ms: int | None = None

    def persist(self, ticket: int, ops: tuple[StoreOp, ...]) -> None:
        self.told.append("persist")
        self.groups.append((ticket, ops))

    def send(self, node: str, message: Message) -> None:
        self.told.append(f"send {node}")

    def cas(self, request: CasRequest) -> None:
        self.told.append("cas")
        self.requests.append(request)

    def alarm(self, alarm: Alarm) -> None:
        self.told.append(f"alarm {alarm.code}")

    def table_changed(self, rows: tuple[ShardEntry, ...]) -> None:
        self.told.append("table")

    def list_again(self) -> None:
        self.told.append("list")

    def wake_at(self, at_ms: int | None) -> None:
        self.wakes_at_ms = at_ms


@dataclass
class Lone:
    """A cluster of one node with one shard."""

    durability: str = "disk"
    store: MemoryStore = field(default_factory=MemoryStore)
    io: Outside = field(default_factory=Outside)
    host: PlainHost = field(default_factory=PlainHost)
    now_ms: int = 1000

    def __post_init__(self) -> None:
        keys = Keys("test")
        cluster = ClusterRecord(
            cluster="test",
            shards=1,
            nodes=("n1",),
            durability="disk" if self.durability == "disk" else "memory",
        )
        core = NodeReplicas(
            keys,
            "n1",
            "b1",
            cluster,
            ReplicationOptions(),
            Recovered(),
            initial_layout(1, ["n1"]),
        )
        self.runner = ReplicaRunner(core, self.io, wall_ms=lambda: 5_000_000)
        self.runner.host = self.host
        self.runner.registered(Fleet(frozenset({"n1"})), self.now_ms)

    def serve(self) -> None:
        """Answer what it asks for until the shard is served."""
        for _ in range(20):
            self.now_ms += 1000
            listing = self.store.list("")
            self.runner.listing(listing, listing.revision, self.now_ms)
            self.answer()
            if self.host.epochs:
                return
        raise AssertionError(self.io.told)

    def answer(self) -> None:
        """Every request and every group, in order."""
        while self.io.requests or self.io.groups:
            requests, self.io.requests = self.io.requests, []
            groups, self.io.groups = self.io.groups, []
            for request in requests:
                outcome = self.store.apply(request.writes)
                self.runner.answered(request.id, outcome, self.now_ms)
            for ticket, _ in groups:
                if ticket:
                    self.runner.persisted(ticket, self.now_ms)

    def propose(self, index: int) -> None:
        self.host.proposed(0, "m", index)
        self.runner.propose(0, [("m", index, Raw(b"\x01"))], self.now_ms)


def test_proposals_of_a_batch_are_one_group() -> None:
    """Many actions of one wake-up cost one write to the disk."""
    lone = Lone()
    lone.serve()
    with lone.runner.batch():
        for index in (1, 2, 3):
            lone.propose(index)
        assert lone.io.groups == []
    ((ticket, ops),) = lone.io.groups
    (appended,) = [op for op in ops if isinstance(op, Appended)]
    assert [entry.index for entry in appended.entries] == [1, 2, 3]
    assert lone.host.acknowledged == []
    lone.io.groups = []
    lone.runner.persisted(ticket, lone.now_ms)
    assert lone.host.acknowledged == [(0, "m", 1), (0, "m", 2), (0, "m", 3)]


def test_in_memory_a_lone_owner_commits_at_once() -> None:
    """The journal is told, and nobody waits for it."""
    lone = Lone(durability="memory")
    lone.serve()
    lone.propose(1)
    assert lone.host.acknowledged == [(0, "m", 1)]
    assert any(ops for _, ops in lone.io.groups)


def test_a_confirmation_comes_after_its_token() -> None:
    """A lone owner has it at the end of the batch; outside of one it may not ask."""
    lone = Lone()
    lone.serve()
    with lone.runner.batch():
        token = lone.runner.confirm(0, lone.now_ms)
        assert lone.host.confirmed_tokens == {}
    assert lone.host.confirmed_tokens == {0: token}
    with pytest.raises(AssertionError, match="batch"):
        lone.runner.confirm(0, lone.now_ms)


def test_it_wants_to_be_woken() -> None:
    """After every settling the outside knows when to tick at the latest."""
    lone = Lone()
    lone.serve()
    assert lone.io.wakes_at_ms is not None
    assert lone.io.wakes_at_ms > lone.now_ms


def test_states_of_an_install_stand_before_it_is_complete() -> None:
    """A crash between the two would leave a complete install without its states."""
    states: list[StoreOp] = [Forgotten("m1"), Forgotten("m2")]
    other: list[StoreOp] = [Forgotten("m3")]
    journal: list[JournalOp] = [
        Wiped(1, 0, 0, complete=False),
        Commit(7, 3),
        Wiped(1, 9, 2, complete=True),
        Appended(1, ()),
    ]
    assert compose_group(journal, {1: states, 2: other}) == (
        *journal[:2],
        *states,
        *journal[2:],
        *other,
    )
