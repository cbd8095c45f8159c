"""A node's traffic: kept, forwarded once, returned, or answered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import msgspec
import pytest

from hotseat.nodes.node.outlet import NodeOutlet
from hotseat.nodes.node.parked import PARKED_MAX, PARKED_S
from hotseat.nodes.node.router import Router
from hotseat.nodes.node.switchboard import Switchboard
from hotseat.runtime.codec import FRAME_LIMIT_BYTES, decode_frame, encode_frame
from hotseat.runtime.errors import FrameTooLarge, LinkFull, LinkUnavailable
from hotseat.runtime.frame import (
    Accepted,
    ClientGone,
    FetchTable,
    Forwarded,
    Frame,
    Moved,
    NodeEntry,
    Refused,
    Request,
    Returned,
    ShardEntry,
    Sync,
    TableSnapshot,
    ViewUpdate,
)
from hotseat.runtime.link import (
    Arrival,
    Endpoint,
    Identity,
    LinkDownReason,
    PeerAddress,
    PeerDown,
    PeerUp,
)
from hotseat.runtime.match_id import match_id, shard_of
from hotseat.runtime.replication.message import Alive, Fenced, Message
from hotseat.runtime.route import Route
from hotseat.runtime.shard_table import ShardTable

SHARDS = 4
MATCH = match_id("local", "key")
SHARD = shard_of(MATCH, SHARDS)
SYNC = Sync(7, MATCH, 1)


class Wire:
    """An endpoint that keeps what is sent, to the processes that are up."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Frame]] = []
        self.broken: dict[str, Exception] = {}

    def send(self, process: str, frame: Frame) -> None:
        if process in self.broken:
            raise self.broken[process]
        encode_frame(frame)
        self.sent.append((process, frame))


class Matches:
    """A supervisor that keeps what it is told."""

    def __init__(self) -> None:
        self.batches: list[list[tuple[Route, Request]]] = []
        self.gone: list[tuple[str, ...]] = []

    def handle_batch(self, requests: Iterable[tuple[Route, Request]]) -> None:
        self.batches.append(list(requests))

    def peer_gone(self, peer: str) -> None:
        self.gone.append((peer,))

    def client_gone(self, peer: str, client: str) -> None:
        self.gone.append((peer, client))


class Replicas:
    """Keeps what the other nodes' replicas said, batch by batch."""

    def __init__(self) -> None:
        self.batches: list[list[tuple[object, ...]]] = []

    @contextmanager
    def batch(self) -> Iterator[None]:
        self.batches.append([])
        yield

    def received(self, node: str, message: Message) -> None:
        self.batches[-1].append((node, message))

    def link_up(self, node: str, inbox: str) -> None:
        self.batches[-1].append(("up", node, inbox))

    def link_down(self, node: str, reason: LinkDownReason) -> None:
        self.batches[-1].append(("down", node, reason))


class Stage:
    """The switchboard of n1; "c1" is a client, n2 and n3 are nodes."""

    def __init__(self, owner: str) -> None:
        self.wire: Any = Wire()
        self.matches = Matches()
        self.router = Router("n1", SHARDS)
        table = ShardTable(SHARDS)
        table.apply([ShardEntry(SHARD, owner, 3)], revision=5)
        self.router.table_changed(table)
        self.table = table
        self.now_s = 0.0
        if owner == "n1":
            self.router.owned[SHARD] = 3
        wire = cast("Endpoint", self.wire)
        self.replicas = Replicas()
        self.board = Switchboard(
            wire,
            NodeOutlet(wire),
            self.router,
            self.matches,
            self.replicas,
            clock=lambda: self.now_s,
        )
        for name, kind in (("c1", "client"), ("n2", "node"), ("n3", "node")):
            identity = Identity("x", name, kind, "boot")
            address = PeerAddress(name, "memory://", "boot")
            self.board.take([PeerUp(identity, address)])

    def arrive(self, process: str, *frames: Frame) -> None:
        self.board.take([Arrival(process, frame) for frame in frames])

    def sent(self) -> list[tuple[str, Frame]]:
        sent, self.wire.sent = self.wire.sent, []
        return list(sent)


def test_one_drain_reaches_the_supervisor_as_one_batch() -> None:
    """Mailboxes are filled first; nobody is woken in between."""
    stage = Stage(owner="n1")
    stage.arrive("c1", SYNC, Sync(8, MATCH, 1), Sync(9, MATCH, 1))
    (batch,) = stage.matches.batches
    assert [frame.request for _, frame in batch] == [7, 8, 9]
    assert {route for route, _ in batch} == {Route("c1", None, "local")}


def test_b12_a_message_for_another_node_is_forwarded_once() -> None:
    """B12: a message at a wrong node goes to the owner, in its client's name."""
    stage = Stage(owner="n2")
    stage.arrive("c1", SYNC, SYNC)
    (process, frame), hint, again = stage.sent()
    assert process == "n2"
    assert isinstance(frame, Forwarded)
    assert (frame.client, frame.principal) == ("c1", "local")
    assert decode_frame(frame.frame) == SYNC
    assert again == ("n2", frame)
    assert hint == ("c1", Moved(0, SHARD, 3, "n2"))  # told once
    assert stage.matches.batches == []


def test_b12_at_a_second_wrong_node_it_is_answered_moved() -> None:
    """B12: what was forwarded here and is not ours is not forwarded again."""
    stage = Stage(owner="n3")
    stage.arrive("n2", Forwarded("c9", "local", msgspec.Raw(encode_frame(SYNC))))
    ((process, frame),) = stage.sent()
    assert process == "n2"
    assert isinstance(frame, Returned)
    assert frame.client == "c9"
    assert decode_frame(frame.frame) == Moved(7, SHARD, 3, "n3")


def test_a_forwarded_message_is_kept_with_the_way_back() -> None:
    """The owner answers through the node that forwarded."""
    stage = Stage(owner="n1")
    stage.arrive("n2", Forwarded("c9", "ann", msgspec.Raw(encode_frame(SYNC))))
    assert stage.matches.batches == [[(Route("n2", "c9", "ann"), SYNC)]]


def test_what_comes_back_goes_to_the_client() -> None:
    """An answer of the owner reaches the client's own link."""
    stage = Stage(owner="n2")
    answer = Accepted(7, MATCH, 1, 1)
    stage.arrive("n2", Returned("c1", msgspec.Raw(encode_frame(answer))))
    assert stage.sent() == [("c1", answer)]


def test_the_owner_learns_that_a_client_has_left() -> None:
    """Views are not pushed to nobody: neither after a leave nor to a stranger."""
    stage = Stage(owner="n2")
    stage.arrive("c1", SYNC)
    stage.sent()
    stage.board.take([PeerDown("c1", LinkDownReason.LOST)])
    assert stage.sent() == [("n2", ClientGone("c1"))]
    assert stage.matches.gone == [("c1",)]
    stage.arrive("n2", Returned("c1", msgspec.Raw(encode_frame(Moved(1, 1, 1, "")))))
    assert stage.sent() == [("n2", ClientGone("c1"))]


def test_a_client_that_left_elsewhere_is_forgotten_here() -> None:
    """The word of the node that forwarded for it is passed on."""
    stage = Stage(owner="n1")
    stage.arrive("n2", ClientGone("c9"))
    assert stage.matches.gone == [("n2", "c9")]


@pytest.mark.parametrize(
    "frame",
    [
        Forwarded("c2", "root", msgspec.Raw(encode_frame(SYNC))),
        Returned("n2", msgspec.Raw(encode_frame(SYNC))),
        ClientGone("c9"),
        Accepted(1, MATCH, 1, 1),
    ],
)
def test_a_client_cannot_speak_as_a_node(frame: Frame) -> None:
    """It could act for another principal; it is counted and dropped."""
    stage = Stage(owner="n1")
    stage.arrive("c1", frame)
    assert stage.sent() == []
    assert stage.matches.batches == []
    assert stage.matches.gone == []
    assert stage.board.statistics().misplaced == 1


def test_garbage_inside_a_forwarded_frame_costs_only_that_frame() -> None:
    """What comes after it in the same drain is taken."""
    stage = Stage(owner="n1")
    stage.arrive(
        "n2",
        Forwarded("c9", "local", msgspec.Raw(b"\x93\x01")),
        Forwarded("c9", "local", msgspec.Raw(encode_frame(Moved(1, 1, 1, "")))),
        Forwarded("c9", "local", msgspec.Raw(encode_frame(SYNC))),
    )
    assert stage.matches.batches == [[(Route("n2", "c9", "local"), SYNC)]]
    assert stage.board.statistics().misplaced == 2


@pytest.mark.parametrize(
    ("error", "code"), [(LinkUnavailable(""), "no_owner"), (LinkFull(""), "busy")]
)
def test_an_owner_that_cannot_be_reached_is_said_at_once(
    error: Exception, code: str
) -> None:
    """The client may try again; nothing is kept here for a link that is full."""
    stage = Stage(owner="n2")
    stage.wire.broken["n2"] = error
    stage.arrive("c1", SYNC)
    ((_, frame),) = stage.sent()
    assert isinstance(frame, Refused)
    assert (frame.request, frame.code) == (7, code)


def test_every_node_gives_the_shard_table() -> None:
    """Also one that is still starting says so."""
    stage = Stage(owner="n2")
    stage.arrive("c1", FetchTable(3))
    ((_, frame),) = stage.sent()
    assert isinstance(frame, TableSnapshot)
    assert frame.shards[SHARD] == ShardEntry(SHARD, "n2", 3)
    starting = Stage(owner="n2")
    starting.board = Switchboard(
        starting.wire,
        NodeOutlet(starting.wire),
        Router("n1", SHARDS),
        starting.matches,
    )
    starting.board.take(
        [PeerUp(Identity("x", "c1", "client", "b"), PeerAddress("c1", "", "b"))]
    )
    starting.arrive("c1", FetchTable(3))
    ((_, frame),) = starting.sent()
    assert isinstance(frame, Refused)


def test_an_answer_that_does_not_fit_becomes_a_refusal() -> None:
    """The asker learns `too_large` and does not wait for nothing."""
    wire: Any = Wire()
    outlet = NodeOutlet(wire)
    big = msgspec.Raw(msgspec.msgpack.encode("x" * FRAME_LIMIT_BYTES))
    update = ViewUpdate(5, MATCH, 1, "", 1, 1, "play", (), None, False, big)
    for route in (Route("c1"), Route("n2", "c9")):
        outlet.deliver(route, update)
    (_, direct), (_, through) = wire.sent
    assert isinstance(direct, Refused)
    assert (direct.request, direct.code) == (5, FrameTooLarge.code)
    assert isinstance(through, Returned)
    assert outlet.statistics().unsendable == 2


def test_an_answer_to_one_who_left_is_dropped_and_counted() -> None:
    """The outlet never raises."""
    wire: Any = Wire()
    wire.broken["c1"] = LinkUnavailable("")
    outlet = NodeOutlet(wire)
    outlet.deliver(Route("c1"), Accepted(1, MATCH, 1, 1))
    assert outlet.statistics().dropped == 1


def test_replication_reaches_the_replicas_as_one_batch() -> None:
    """What one drain brought of nodes' replicas is settled once, in order."""
    stage = Stage(owner="n1")
    stage.replicas.batches.clear()
    alive, fenced = Alive(5, ((SHARD, 3),)), Fenced(SHARD, 4)
    arrivals = [Arrival("n2", alive), Arrival("n3", fenced)]
    stage.board.take([*arrivals, PeerDown("n3", LinkDownReason.LOST)])
    assert stage.replicas.batches == [
        [("n2", alive), ("n3", fenced), ("down", "n3", LinkDownReason.LOST)]
    ]
    assert stage.board.statistics().replicated == 2


def test_links_of_clients_are_none_of_the_replicas_business() -> None:
    """Only nodes hold copies."""
    stage = Stage(owner="n1")
    ups = [event for batch in stage.replicas.batches for event in batch]
    assert ups == [("up", "n2", "memory://"), ("up", "n3", "memory://")]
    stage.replicas.batches.clear()
    stage.board.take([PeerDown("c1", LinkDownReason.LOST)])
    assert stage.replicas.batches == [[]]


def test_a_client_cannot_speak_for_a_replica() -> None:
    """It would be believed with the history of every match."""
    stage = Stage(owner="n1")
    stage.replicas.batches.clear()
    stage.arrive("c1", Fenced(SHARD, 4))
    assert stage.replicas.batches == [[]]
    assert stage.board.statistics().misplaced == 1


def own(stage: Stage, owner: str, epoch: int = 4) -> None:
    """The table changes: another node owns the shard."""
    if owner == "n1":
        stage.router.owned[SHARD] = epoch
    stage.table.apply([ShardEntry(SHARD, owner, epoch)])
    stage.board.ownership_changed({SHARD})


def test_who_asks_while_an_owner_is_gone_waits_for_the_next_one() -> None:
    """The follower that takes over answers; or it is told where that one is."""
    for owner in ("n1", "n3"):
        stage = Stage(owner="n2")
        stage.board.take([PeerDown("n2", LinkDownReason.LOST)])
        stage.sent()
        stage.arrive("c1", SYNC)
        assert stage.sent() == []
        assert stage.board.statistics().parked.waiting == 1
        own(stage, owner)
        if owner == "n1":
            assert stage.matches.batches == [[(Route("c1", None, "local"), SYNC)]]
        else:
            assert [process for process, _ in stage.sent()] == ["n3", "c1"]
        assert stage.board.statistics().parked.waiting == 0


def test_an_owner_that_is_reached_again_gets_what_waited() -> None:
    """A link that broke alone changes no owner."""
    stage = Stage(owner="n2")
    stage.board.take([PeerDown("n2", LinkDownReason.LOST)])
    stage.arrive("c1", SYNC)
    stage.sent()
    identity = Identity("x", "n2", "node", "boot")
    stage.board.take([PeerUp(identity, PeerAddress("n2", "memory://", "boot"))])
    assert [process for process, _ in stage.sent()] == ["n2", "c1"]


def test_clients_are_told_of_a_new_owner_unasked_and_once() -> None:
    """Who waits for one that hangs would not ask; nodes know by themselves."""
    stage = Stage(owner="n2")
    stage.board.table_changed(stage.table)
    stage.sent()
    stage.table.apply([ShardEntry(SHARD, "n3", 4)])
    stage.board.table_changed(stage.table)
    stage.board.table_changed(stage.table)
    assert stage.sent() == [("c1", Moved(0, SHARD, 4, "n3"))]
    stage.arrive("c1", SYNC)  # it is forwarded, and the client knows already
    assert [process for process, _ in stage.sent()] == ["n3"]


def test_clients_are_told_where_a_node_is_that_came_back() -> None:
    """They reach it before they need it."""
    stage = Stage(owner="n2")
    stage.table.set_nodes([NodeEntry("n2", "tcp://old", "1")])
    stage.board.table_changed(stage.table)
    stage.sent()
    stage.table.set_nodes([NodeEntry("n2", "tcp://new", "2")])
    stage.board.table_changed(stage.table)
    stage.board.table_changed(stage.table)
    ((process, told),) = stage.sent()
    assert process == "c1"
    assert isinstance(told, TableSnapshot)
    assert [entry.inbox for entry in told.nodes] == ["tcp://new"]


def test_nobody_waits_for_an_owner_for_ever() -> None:
    """After a while the client is told, and asks again with the same key."""
    stage = Stage(owner="n2")
    stage.board.take([PeerDown("n2", LinkDownReason.LOST)])
    stage.arrive("c1", SYNC)
    stage.sent()
    stage.now_s = PARKED_S - 0.01
    stage.board.tick()
    assert stage.sent() == []
    stage.now_s = PARKED_S
    stage.board.tick()
    ((_, frame),) = stage.sent()
    assert isinstance(frame, Refused)
    assert (frame.request, frame.code) == (7, "no_owner")


def test_waiting_is_bounded_and_leaves_with_its_client() -> None:
    """A crowd at a dead node's shards fills no memory."""
    stage = Stage(owner="n2")
    stage.board.take([PeerDown("n2", LinkDownReason.LOST)])
    stage.sent()
    stage.arrive("c1", *[SYNC] * (PARKED_MAX + 1))
    ((_, frame),) = stage.sent()
    assert isinstance(frame, Refused)
    assert stage.board.statistics().parked.waiting == PARKED_MAX
    stage.board.take([PeerDown("c1", LinkDownReason.LOST)])
    assert stage.board.statistics().parked.waiting == 0


def test_what_an_owner_took_to_its_grave_is_to_be_asked_again() -> None:
    """A forwarded request without an answer is answered `retry` at once; one that
    was answered is not."""
    stage = Stage(owner="n2")
    stage.arrive("c1", SYNC, Sync(8, MATCH, 1))
    answer = Accepted(8, MATCH, 1, 1)
    stage.arrive("n2", Returned("c1", msgspec.Raw(encode_frame(answer))))
    stage.sent()
    stage.board.take([PeerDown("n2", LinkDownReason.LOST)])
    (told,) = [frame for _, frame in stage.sent() if isinstance(frame, Refused)]
    assert (told.request, told.code) == (7, "retry")
    assert stage.board.statistics().abandoned == 1
