"""The shell around the replication core: what it carries out, and what it brings in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

import anyio
import msgspec
import pytest
import structlog.testing

from hotseat.nodes.journal.node_journal import node_journal
from hotseat.nodes.node import replicator as module
from hotseat.nodes.node.replicator import LOOK_PAUSES_S, Replicator
from hotseat.runtime.control_plane import ClusterRecord
from hotseat.runtime.coordinator import ABSENT, CasOk, CasOutcome, CasUnknown, Write
from hotseat.runtime.errors import FrameTooLarge, LinkUnavailable, NotServing
from hotseat.runtime.fleet import Fleet
from hotseat.runtime.frame import Frame
from hotseat.runtime.journal import StoreOp
from hotseat.runtime.link import Endpoint, Identity, LinkDownReason
from hotseat.runtime.replica_runner import ReplicaRunner
from hotseat.runtime.replication.message import Alive, Entry, Message
from hotseat.runtime.replication.output import (
    Alarm,
    Appended,
    CasRequest,
    Commit,
    IdentityKept,
)
from hotseat.runtime.replication.recovered import Recovered
from hotseat.runtime.testing.memory_coordinator import MemoryCoordinator
from hotseat.runtime.testing.memory_journal import MemoryDisk, MemoryJournal
from hotseat.runtime.testing.memory_store import MemoryStore

CLUSTER = ClusterRecord(cluster="t", shards=2, nodes=("n1", "n2"), durability="disk")
GAMES = (("nim", "1"), ("chess", "2"))


class Runner:
    """Stands for core and runner: keeps what it is told, batch by batch."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.core = self
        self.ident = "me"
        self.batches = 0

    @contextmanager
    def batch(self) -> Iterator[None]:
        self.batches += 1
        yield

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **_: self.told.append((name, *arguments[:-1]))

    def of(self, *names: str) -> list[tuple[Any, ...]]:
        return [told for told in self.told if told[0] in names]


class Links:
    """An endpoint that keeps what is sent, to whom it can be."""

    def __init__(self) -> None:
        self.identity = Identity("t", "n1", "node", "boot", games=GAMES)
        self.sent: list[tuple[str, Frame]] = []
        self.broken: dict[str, Exception] = {}

    def send(self, process: str, frame: Frame) -> None:
        if process in self.broken:
            raise self.broken[process]
        self.sent.append((process, frame))


class States:
    """Copies that have something to store, and alarms."""

    def __init__(self) -> None:
        self.to_store: list[tuple[StoreOp, ...]] = []
        self.alarms: list[Alarm] = []
        self.wanted: list[tuple[int, str]] = []
        self.needed: dict[int, frozenset[tuple[str, str]]] = {}

    def checkpoint(
        self, now_ms: int, bytes_max: int, *, everything: bool = False
    ) -> tuple[StoreOp, ...]:
        return self.to_store.pop(0) if self.to_store else ()

    def written(self, ops: Sequence[StoreOp]) -> None: ...

    def failed(self, ops: Sequence[StoreOp]) -> None: ...

    def sweep(self, now_ms: int) -> None: ...

    def games(self) -> dict[int, frozenset[tuple[str, str]]]:
        return self.needed

    def take_alarms(self) -> list[Alarm]:
        taken, self.alarms = self.alarms, []
        return taken

    def take_wanted(self) -> list[tuple[int, str]]:
        taken, self.wanted = self.wanted, []
        return taken


class LoopClock:
    def now_ms(self) -> int:
        return int(anyio.current_time() * 1000)

    def monotonic_s(self) -> float:
        return anyio.current_time()


class Stage:
    """A replicator of n1 with all that it stands on."""

    def __init__(self, cluster: ClusterRecord = CLUSTER) -> None:
        self.runner = Runner()
        self.links = Links()
        self.states = States()
        self.disk = MemoryDisk()
        self.coordinator = MemoryCoordinator(MemoryStore())
        self.gone: list[str] = []
        self.listings = 0
        self.cluster = cluster
        self.it = Replicator(
            self.coordinator,
            cast("Endpoint", self.links),
            MemoryJournal(self.disk),
            self.states,
            lambda cluster, io: cast("ReplicaRunner", self.runner),
            LoopClock(),
            self.gone.append,
        )

    def want_listing(self) -> None:
        self.listings += 1

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Replicator]:
        self.disk.recover()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.it.run)
            self.it.begin(
                self.cluster,
                rows_changed=lambda rows: None,
                list_wanted=self.want_listing,
            )
            await anyio.wait_all_tasks_blocked()
            yield self.it
            tasks.cancel_scope.cancel()


async def test_each_group_is_answered_when_it_is_durable() -> None:
    """In order, and all that one write brought in one batch."""
    stage = Stage()
    async with stage.running() as it:
        it.persist(1, (IdentityKept("me", 1, ""),))
        it.persist(2, (Commit(0, 0),))
        await anyio.wait_all_tasks_blocked()
        assert stage.runner.of("persisted") == [("persisted", 1), ("persisted", 2)]
        assert stage.disk.recover().ident == "me"


async def test_a_disk_that_refuses_is_told_and_probed(autojump_clock: object) -> None:
    """Each group that is lost is said to be, and then that the disk writes again."""
    stage = Stage()
    async with stage.running() as it:
        stage.disk.failing = "disk_full"
        it.persist(1, (IdentityKept("me", 1, ""),))
        await anyio.sleep(1)
        it.persist(2, (IdentityKept("me", 2, ""),))
        await anyio.sleep(1)
        assert stage.runner.of("persisted", "persist_failed", "disk_ok") == [
            ("persist_failed", 1),
            ("persist_failed", 2),
        ]
        stage.disk.failing = ""
        await anyio.sleep(5)
        assert stage.runner.told[-1] == ("disk_ok",)


async def test_what_cannot_be_sent_is_dropped_and_counted() -> None:
    """Replication asks again: nothing here is the only copy."""
    stage = Stage()
    alive = Alive(1, ())
    stage.it.send("n2", alive)
    stage.links.broken["n2"] = LinkUnavailable("down")
    stage.it.send("n2", alive)
    stage.links.broken["n2"] = FrameTooLarge("large")
    with structlog.testing.capture_logs() as lines:
        stage.it.send("n2", alive)
    assert [line["event"] for line in lines] == ["replica_unsendable"]
    assert stage.links.sent == [("n2", alive)]
    found = stage.it.statistics()
    assert (found.sends, found.sends_dropped) == (1, 2)


async def test_whatever_the_coordinator_does_each_request_is_answered() -> None:
    """An error on the way is an unknown outcome."""
    stage = Stage()
    async with stage.running() as it:
        it.cas(CasRequest(1, (Write("/a", ABSENT, b"1"),)))
        await anyio.wait_all_tasks_blocked()
        stage.coordinator.down = True
        it.cas(CasRequest(2, (Write("/b", ABSENT, b"1"),)))
        await anyio.wait_all_tasks_blocked()
    (_, first, landed), (_, second, unknown) = stage.runner.of("answered")
    outcomes: list[CasOutcome] = [landed, unknown]
    assert (first, second) == (1, 2)
    assert [type(outcome) for outcome in outcomes] == [CasOk, CasUnknown]


async def test_the_timer_ticks_when_it_is_wanted(autojump_clock: object) -> None:
    """An earlier wish wakes it, a later one does not make it tick too soon."""
    stage = Stage()
    async with stage.running() as it:
        begun = it.now_ms()
        it.wake_at(begun + 500)
        it.wake_at(begun + 100)
        await anyio.sleep(0.099)
        assert stage.runner.of("tick") == []
        await anyio.sleep(0.002)
        assert stage.runner.of("tick") == [("tick",)]
        it.wake_at(begun + 200)
        it.wake_at(begun + 400)
        await anyio.sleep(0.2)
        assert len(stage.runner.of("tick")) == 1
        await anyio.sleep(0.2)
        assert len(stage.runner.of("tick")) == 2
        it.wake_at(None)
        await anyio.sleep(60)
        assert len(stage.runner.of("tick")) == 2


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What the next attempts to connect say; the last one says it for ever."""
    said = [False]

    async def is_refused(inbox: str) -> bool:
        assert inbox == "tcp://n2"
        return said.pop(0) if len(said) > 1 else said[0]

    monkeypatch.setattr(module, "is_refused", is_refused)
    return said


async def test_a_node_whose_inbox_refuses_is_gone(
    refusals: list[bool], autojump_clock: object
) -> None:
    """It may take a few attempts: a process does not die in one moment."""
    refusals[:] = [False, False, True]
    stage = Stage()
    async with stage.running() as it:
        it.link_up("n2", "tcp://n2")
        it.link_down("n2", LinkDownReason.LOST)
        await anyio.sleep(1)
        assert stage.runner.of("refused") == [("refused", "n2")]
        assert stage.gone == ["n2"]


@pytest.mark.parametrize("reason", [r for r in LinkDownReason if r != "lost"])
async def test_other_ends_of_a_link_say_nothing(
    reason: LinkDownReason, refusals: list[bool], autojump_clock: object
) -> None:
    """A silent peer may live; one that we closed, or that was replaced, does."""
    refusals[:] = [True]
    stage = Stage()
    async with stage.running() as it:
        it.link_up("n2", "tcp://n2")
        it.link_down("n2", reason)
        await anyio.sleep(1)
        assert stage.runner.of("link_up", "link_down", "refused") == [
            ("link_up", "n2"),
            ("link_down", "n2"),
        ]


async def test_a_link_that_is_back_ends_the_doubt(
    refusals: list[bool], autojump_clock: object
) -> None:
    """A process that has come back, on another port, is not dead."""
    refusals[:] = [False] * 3 + [True]
    stage = Stage()
    async with stage.running() as it:
        it.link_up("n2", "tcp://n2")
        it.link_down("n2", LinkDownReason.LOST)
        await anyio.sleep(sum(LOOK_PAUSES_S[:2]) + 0.001)
        it.link_up("n2", "tcp://n2")
        await anyio.sleep(2)
        assert stage.runner.of("refused") == []


async def test_alarms_are_written_down_once(autojump_clock: object) -> None:
    """Of the core and of the copies; and a copy that differs is asked for."""
    stage = Stage()
    with structlog.testing.capture_logs() as lines:
        async with stage.running() as it:
            it.alarm(Alarm(3, "log_conflict", "entry 7"))
            stage.states.alarms.append(Alarm(-1, "manifest_corrupt", "bytes"))
            stage.states.wanted.append((1, "m1"))
            await anyio.sleep(3)
    alarms = [line for line in lines if line["event"] == "replica_alarm"]
    assert [(line["code"], line.get("shard")) for line in alarms] == [
        ("log_conflict", 3),
        ("manifest_corrupt", None),
    ]
    assert stage.runner.of("ask_state") == [("ask_state", 1, "m1")]


async def test_a_node_that_lacks_a_game_is_unfit_for_its_shards() -> None:
    """Only where a match needs it; told again only when it changes."""
    stage = Stage()
    stage.states.needed[1] = frozenset({("nim", "1")})
    games = {"n1": frozenset(GAMES), "n2": frozenset(GAMES[1:])}
    both = Fleet(frozenset({"n1", "n2"}), games=games)
    async with stage.running() as it:
        it.registered(both)
        it.registered(both)
        assert stage.runner.of("unfit") == [("unfit", {1: frozenset({"n2"})})]
        it.registered(Fleet(frozenset({"n1"}), games={"n1": frozenset(GAMES)}))
        assert stage.runner.of("unfit")[1:] == [("unfit", {})]


async def test_nothing_is_taken_before_the_cluster_is_known() -> None:
    """A node that is still starting serves nobody, and drops what comes."""
    stage = Stage()
    message: Message = Alive(1, ())
    with stage.it.batch():
        stage.it.received("n2", message)
    with pytest.raises(NotServing):
        stage.it.propose(0, [], 0)
    assert stage.it.outstanding() is None
    assert stage.runner.told == []


@pytest.mark.parametrize("durability", ["disk", "memory"])
async def test_who_leaves_stands_down_first(
    durability: str, autojump_clock: object
) -> None:
    """What was acknowledged is written before it ends; without durability the disk is
    sealed, last of all."""
    stage = Stage(msgspec.structs.replace(CLUSTER, durability=durability))
    async with stage.running() as it:
        it.persist(1, (IdentityKept("me", 1, ""),))
        await it.leave()
        told = [name for name, *_ in stage.runner.told]
        assert "stand_down" in told
        assert ("persisted", 1) in stage.runner.told
        it.received("n2", Alive(1, ()))
        assert "received" not in [name for name, *_ in stage.runner.told]
    found = stage.disk.recover()
    assert found.ident == "me"
    assert (found.nonce == "sealed") == (durability == "memory")


async def test_a_journal_without_a_seal_counts_for_nothing(tmp_path: Any) -> None:
    """Without durability; and a seal is good for one start."""
    path = tmp_path / "journal.db"
    async with node_journal(path, durable=True) as (journal, found):
        assert found.ident == ""
        await journal.write((IdentityKept("me", 1, ""),))
    async with node_journal(path, durable=True) as (journal, found):
        assert found.ident == "me"
    async with node_journal(path, durable=False) as (journal, found):
        assert found.ident == ""
        await journal.write((IdentityKept("me", 0, "sealed"),))
    async with node_journal(path, durable=False) as (journal, found):
        assert found.ident == "me"
    async with node_journal(path, durable=False) as (journal, found):
        assert found.ident == ""


async def test_what_has_no_seal_is_set_aside_and_can_be_brought_back(
    tmp_path: Any,
) -> None:
    """As data of nobody: an old copy. An empty file takes no other one's place."""
    path = tmp_path / "journal.db"
    aside, salvage = (tmp_path / f"journal.db.{end}" for end in ("unsealed", "salvage"))
    entry = Entry(3, 1, "m", 0, msgspec.Raw(b"\xc0"))
    async with node_journal(path, durable=False) as (journal, _):
        await journal.write((IdentityKept("me", 1, ""), Appended(4, (entry,))))
    for _ in range(3):
        async with node_journal(path, durable=False) as (journal, found):
            assert found == Recovered()
        assert aside.exists()
    aside.rename(salvage)
    async with node_journal(path, durable=False) as (journal, found):
        assert found.ident == ""
        assert found.shards[4].entries == (entry,)
    assert not salvage.exists()
    assert not aside.exists()
