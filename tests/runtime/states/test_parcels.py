"""Matches that come home by the log of their home: they wait, and are whole, or go."""

from __future__ import annotations

from unittest.mock import create_autospec

from hotseat.engine.definition import Game
from hotseat.runtime.clock import Clock
from hotseat.runtime.command import Attach, Detach
from hotseat.runtime.control_plane import SHARDS_MAX
from hotseat.runtime.hosting.options import HostingOptions
from hotseat.runtime.hosting.replica_host import Matches, ReplicaHost
from hotseat.runtime.hosting.replicated_committer import ReplicatedCommitter
from hotseat.runtime.match_codec import pack_state
from hotseat.runtime.replica_runner import Returning, Visiting
from hotseat.runtime.replication.message import Entry, Raw
from hotseat.runtime.replication.output import Carry, Come, Wiped
from hotseat.runtime.replication.parcel import Kept, pack_parcel
from hotseat.runtime.replication.pin_board import Guest

from ..sample_games import race, sealed_bid
from .stage import EPOCH, SHARD, Log, Node, digests, same
from .test_apply import played

PINNED = SHARDS_MAX + 5
SMALL = HostingOptions(transfer_bytes=300)


class Homecoming:
    """Match `a` is in a shard of its own, and to go home; `b` is at home."""

    def __init__(self, *games: Game) -> None:
        """`games` of the replica at home, if it has others than are played."""
        self.away = played(Log(shard=PINNED), "a")
        self.away.decide("a", Detach(PINNED))
        self.away.decide("a", Attach())
        self.home = played(Log(), "b")
        self.owner = Node(options=SMALL)
        self.owner.follow(self.away)
        self.node = Node(*games, options=SMALL)
        self.node.follow(self.home)
        self.node.states.take_leaving()

    @property
    def index(self) -> int:
        return self.away.states["a"].index

    def pieces(self) -> list[Raw]:
        return list(self.owner.states.carry(Carry(PINNED, "a", 9)))

    def log(self, *records: Raw) -> None:
        """At home, committed and applied."""
        for record in records:
            seq = len(self.home.entries) + 1
            self.home.entries.append(Entry(EPOCH, seq, "a", self.index, record))
        self.node.follow(self.home)

    def go_on(self) -> None:
        """The match's next action is in the home's log."""
        self.away.act("a")
        entry = self.away.entries[-1]
        seq = len(self.home.entries) + 1
        self.home.entries.append(Entry(EPOCH, seq, "a", entry.index, entry.record))
        self.node.follow(self.home)

    def base(self) -> int:
        """How far the home's log is in what is stored."""
        return self.node.disk.recover().shards[SHARD].base_seq


def host_of(node: Node, told: list[str]) -> ReplicaHost:
    """The host of a node's matches, whose supervisor only notes what it is told."""
    matches = create_autospec(Matches, instance=True)
    matches.forsake.side_effect = lambda match: told.append(f"forsake {match}")
    matches.arrived.side_effect = lambda line: told.append(f"arrived {line.match}")
    return ReplicaHost(
        node.states,
        create_autospec(ReplicatedCommitter, instance=True),
        matches,
        create_autospec(Clock, instance=True),
        ask_state=lambda shard, match, now_ms: None,
        alarm=lambda alarm: None,
        now_ms=lambda: node.now_ms,
    )


def test_what_comes_waits_until_the_pin_is_gone() -> None:
    """It is told of; it is no match of the home, and no checkpoint passes it."""
    it = Homecoming()
    before = len(it.home.entries)
    it.log(*it.pieces())
    whole = Guest(PINNED, it.index, 9, whole=True)
    assert it.node.states.take_leaving()[-1] == Visiting(SHARD, "a", whole)
    assert it.node.states.get("a") is None
    assert [line.match for line in it.node.states.lines(SHARD)] == ["b"]
    it.home.act("b")
    it.node.follow(it.home)
    it.node.checkpoint()
    assert it.base() == before


def test_it_is_the_match_with_all_of_its_records() -> None:
    """Stored at the next checkpoint, and found by a start."""
    it = Homecoming()
    it.log(*it.pieces())
    it.node.states.come(SHARD, "a")
    assert it.node.states.take_leaving()[-1] == Visiting(SHARD, "a", None)
    assert same(it.node.state("a"), it.away.states["a"])
    assert it.node.digests("a") == digests(it.away, "a")
    it.node.checkpoint()
    assert it.base() == len(it.home.entries)
    it.node.restart()
    assert same(it.node.state("a"), it.away.states["a"])
    assert it.node.digests("a") == digests(it.away, "a")
    assert it.node.codes() == []


def test_the_next_record_at_home_says_that_it_has_come() -> None:
    """Though the news of the pin's end are late."""
    it = Homecoming()
    it.log(*it.pieces())
    it.go_on()
    assert same(it.node.state("a"), it.away.states["a"])
    it.node.restart()
    assert same(it.node.state("a"), it.away.states["a"])


def test_what_was_forgotten_with_a_pinned_shard_alarms_nobody_while_it_comes() -> None:
    """A replica that was away reads in the home's log how the match was before, though
    nothing of it is here; all of it comes behind that. If not, an operator is told."""
    it = Homecoming()
    it.go_on()
    it.owner.follow(it.away)
    it.log(*it.pieces())
    it.go_on()
    assert same(it.node.state("a"), it.away.states["a"])
    it.node.pass_time(2)
    assert it.node.codes() == []
    lacking = Homecoming()
    lacking.go_on()
    assert lacking.node.codes() == []
    lacking.node.pass_time(2)
    assert lacking.node.codes() == ["log_gap"]


def test_a_start_finds_what_waits_once_more() -> None:
    """The home's log begins before it, whatever was saved since."""
    it = Homecoming()
    it.log(*it.pieces())
    it.node.checkpoint()
    it.node.restart()
    assert Visiting(SHARD, "a", Guest(PINNED, it.index, 9, whole=True)) in (
        it.node.states.take_leaving()
    )
    it.node.states.come(SHARD, "a")
    assert same(it.node.state("a"), it.away.states["a"])


def test_what_did_not_come_home_is_dropped() -> None:
    """The log says so; then checkpoints go on, and nothing of it is left."""
    it = Homecoming()
    it.log(*it.pieces(), pack_parcel(Kept(PINNED)))
    assert it.node.states.take_leaving()[-1] == Visiting(SHARD, "a", None)
    it.node.states.come(SHARD, "a")
    assert it.node.states.get("a") is None
    it.home.act("b")
    it.node.follow(it.home)
    it.node.checkpoint()
    assert it.base() == len(it.home.entries)


def test_half_of_a_match_is_none() -> None:
    """Its owner died over it: what is here is not taken for the match, and a later
    attempt begins anew."""
    it = Homecoming()
    pieces = it.pieces()
    assert len(pieces) > 2
    it.log(*pieces[:-1])
    it.node.states.come(SHARD, "a")
    assert it.node.states.get("a") is None
    it.log(*pieces)
    it.node.states.come(SHARD, "a")
    assert same(it.node.state("a"), it.away.states["a"])


def test_a_replica_of_both_shards_keeps_its_pinned_copy_until_then() -> None:
    """It may be needed there; when it has come home, that copy is gone."""
    it = Homecoming()
    it.node.applied = 0
    it.node.follow(it.away)
    it.node.applied = len(it.home.entries)
    it.log(*it.pieces())
    assert [line.match for line in it.node.states.lines(PINNED)] == ["a"]
    it.node.states.come(SHARD, "a")
    assert not list(it.node.states.lines(PINNED))
    assert Returning(PINNED, None) in it.node.states.take_leaving()
    assert same(it.node.state("a"), it.away.states["a"])


def test_a_node_that_lacks_the_game_keeps_it_for_who_has_it() -> None:
    """Its state and records come home as they were packed."""
    it = Homecoming(sealed_bid())
    it.log(*it.pieces())
    it.node.states.come(SHARD, "a")
    assert it.node.line("a").quarantined == "missing_game"
    it.node.checkpoint()
    assert it.node.disk.state("a") == pack_state(it.away.states["a"])
    assert it.node.digests("a") == digests(it.away, "a")


def test_what_came_is_no_news_of_a_match_that_has_gone_on() -> None:
    """It is pinned once more, say, when the end of an older pin is told of: it stays
    where it is, and nobody takes it from who serves it there."""
    it = Homecoming()
    it.node.applied = 0
    it.node.follow(it.away)
    it.node.applied = len(it.home.entries)
    it.log(*it.pieces())
    it.away.decide("a", Detach(PINNED))
    it.node.applied = len(it.away.entries) - 1
    it.node.follow(it.away)
    it.node.states.take_leaving()
    told: list[str] = []
    host_of(it.node, told).come(Come(SHARD, "a"))
    assert told == []
    assert Visiting(SHARD, "a", None) in it.node.states.take_leaving()
    assert [line.match for line in it.node.states.lines(PINNED)] == ["a"]
    assert same(it.node.state("a"), it.away.states["a"])


def test_who_served_it_elsewhere_is_told_that_it_has_come() -> None:
    """No actor goes on from what it was; then its deadline counts at home."""
    it = Homecoming()
    it.log(*it.pieces())
    told: list[str] = []
    host_of(it.node, told).come(Come(SHARD, "a"))
    assert told == ["forsake a", "arrived a"]
    assert same(it.node.state("a"), it.away.states["a"])


def test_a_copy_that_cannot_be_played_is_stored_where_the_match_went() -> None:
    """It goes on in another shard, by that shard's log: nothing that is known of the
    old one is needed any more."""
    log = played(Log(), "a")
    node = Node()
    node.follow(log)
    node.checkpoint()
    node.restart(sealed_bid())
    log.act("a")
    there = Log(shard=PINNED)
    there.states["a"] = log.states["a"]
    (entry,) = log.entries[-1:]
    there.entries.append(Entry(EPOCH, 1, "a", entry.index, entry.record))
    node.applied = 0
    node.follow(there)
    assert node.line("a").quarantined == "missing_game"
    node.checkpoint()
    node.write((Wiped(SHARD, 0, 0, complete=False),))
    node.restart(race())
    assert node.state("a").index == entry.index
    assert same(node.state("a"), log.states["a"])
    assert [line.match for line in node.states.lines(PINNED)] == ["a"]
