"""Applying what is committed: at followers, at the owner, and when it goes wrong."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hotseat.engine.definition import Game, define_game, event, state, transition, views
from hotseat.engine.record import RecordKind
from hotseat.runtime.hosting.options import HostingOptions
from hotseat.runtime.record_codec import pack_record
from hotseat.runtime.replication.message import Entry

from ..sample_games import race
from .stage import EPOCH, SHARD, Log, Node, digests, same


def counting(step: int | list[int] = 1) -> Game:
    """Adds; with another `step` it is the same game by name, with another rule; with a
    list, whose last item counts, it is not even pure."""

    def add(ctx: Any) -> Any:
        factor = step if isinstance(step, int) else step[-1]
        return {"G": {"total": ctx.G["total"] + factor * ctx.event.payload}}

    return define_game(
        name="counting",
        version="1",
        max_players=2,
        events={"add": event()},
        initial="play",
        setup=lambda ctx: {"total": 0},
        states={"play": state(active_players=["0"])},
        transitions=[transition("add", "play", "play", add)],
        views=views(public=lambda ctx: ctx.G),
    )


def played(log: Log, *matches: str, actions: int = 3) -> Log:
    """The log, with these matches begun and played on."""
    for match in matches:
        log.create(match)
    for _ in range(actions):
        for match in matches:
            log.act(match)
    return log


def test_a_follower_has_the_owners_state() -> None:
    """What is applied leads to the very state that was decided on."""
    log = played(Log(), "a", "b")
    follower, owner = Node(), Node()
    follower.follow(log)
    owner.own(log)
    for match in ("a", "b"):
        assert same(follower.state(match), log.states[match])
        assert same(owner.state(match), log.states[match])
    assert follower.codes() == owner.codes() == []
    assert follower.states.get("c") is None


def test_an_entry_that_comes_again_changes_nothing() -> None:
    """Redelivery is no second action."""
    log = played(Log(), "a")
    node = Node()
    node.follow(log)
    node.applied = 0
    node.follow(log, persist=False)
    node.applied = 0
    node.own(log, persist=False)
    assert same(node.state("a"), log.states["a"])
    assert node.digests("a") == digests(log, "a")
    assert node.codes() == []


def test_a_gap_costs_that_match_alone() -> None:
    """A record is never guessed: the match is set apart, the others go on."""
    log = played(Log(), "a", "b")
    lost = next(e for e in log.entries if e.match == "a" and e.index == 4)
    node = Node()
    for entry in log.entries:
        if entry is not lost:
            node.states.apply(SHARD, entry)
    assert node.line("a").quarantined == "log_gap"
    assert same(node.state("b"), log.states["b"])
    assert node.codes() == ["log_gap"]
    assert node.states.take_wanted() == [(SHARD, "a")]


def test_a_match_begins_with_its_creation() -> None:
    """An entry of a match that nobody knows is no beginning."""
    log = played(Log(), "a")
    node = Node()
    node.states.apply(SHARD, log.entries[3])
    assert node.line("a").quarantined == "log_gap"


def test_a_game_that_is_not_here_sets_its_matches_apart_and_loses_nothing() -> None:
    """Once the game is there, the match is where the log is."""
    log = played(Log(counting()), "a")
    node = Node(race())
    node.follow(log)
    line = node.line("a")
    assert (line.quarantined, line.game, line.epoch) == ("missing_game", "counting", 7)
    node.checkpoint()
    node.restart(race(), counting())
    log.act("a")
    node.follow(log)
    assert same(node.state("a"), log.states["a"])
    assert node.digests("a") == digests(log, "a")
    assert node.codes() == ["match_recovered"]


def test_a_game_that_came_while_the_node_ran_is_found() -> None:
    """The match is looked at again when it is asked for."""
    log = played(Log(counting()), "a")
    node = Node(race())
    machines = {("counting", "1"): log.machine}
    known: dict[tuple[str, str], Any] = {}
    node.states._find_machine = lambda n, v: known.get((n, v))
    node.states._roster.find_machine = node.states._find_machine
    node.states._roster.restorer._find_machine = node.states._find_machine
    node.follow(log)
    assert node.line("a").quarantined == "missing_game"
    known.update(machines)
    assert same(node.state("a"), log.states["a"])


@pytest.mark.parametrize("kind", ["from_the_future"])
def test_a_record_that_is_not_known_sets_the_match_apart(kind: str) -> None:
    """It and all behind it are kept as they are."""
    log = played(Log(), "a")
    record = msgspec.structs.replace(log.changes[-1].record, index=6, kind=kind)
    packed = (
        pack_record(record)
        if isinstance(kind, RecordKind)
        else pack_record(msgspec.structs.replace(record, kind=RecordKind.EDIT)).replace(
            b"edit", b"soon"
        )
    )
    if not isinstance(kind, RecordKind):
        packed = _resealed(packed)
    node = Node()
    node.follow(log)
    for index in (6, 7):
        entry = Entry(EPOCH, index + 1, "a", index, msgspec.Raw(packed))
        log.entries.append(entry)
    node.follow(log)
    line = node.line("a")
    assert (line.quarantined, line.index) == ("unknown_record", 5)
    node.checkpoint()
    assert node.disk.history("a", 6, 1 << 20) == (packed, packed)
    node.restart()
    assert node.line("a").quarantined == "unknown_record"


def _resealed(packed: bytes) -> bytes:
    """The same with its checksum put right."""
    from zlib import crc32

    sealed = packed[5:]
    crc = crc32(sealed[5:], crc32(sealed[:1])).to_bytes(4, "big")
    return packed[:5] + sealed[:1] + crc + sealed[5:]


def test_a_bit_that_flipped_in_memory_is_put_right() -> None:
    """What is stored says the same as the log: an alarm, and the match goes on."""
    log = played(Log(), "a")
    node = Node()
    node.follow(log)
    node.checkpoint()
    log.act("a")
    node.follow(log)
    held = node.states._roster.matches["a"]
    assert held.state is not None
    flipped = msgspec.structs.replace(
        held.state.snapshot, G=log.machine.start({"players": ["0", "1"]}, "x", 0).G
    )
    held.state = msgspec.structs.replace(held.state, snapshot=flipped)
    log.act("a")
    node.follow(log)
    assert same(node.state("a"), log.states["a"])
    assert node.codes() == ["state_repaired"]
    assert node.states.take_wanted() == []


def test_an_impure_game_diverges_and_is_rebuilt_from_the_owner() -> None:
    """The follower names the record, asks for the owner's copy, and goes on from it;
    a match that differs again stays set apart."""
    log = played(Log(counting()), "a", "b", actions=0)
    owner, node = Node(counting()), Node(counting(2))
    log.act("b")
    owner.own(log)
    node.follow(log)
    assert node.line("b").quarantined == "divergent"
    [alarm] = node.states.take_alarms()
    assert (alarm.shard, alarm.code) == (SHARD, "divergent")
    assert "record 3" in alarm.message
    assert node.states.take_wanted() == [(SHARD, "b")]
    for piece in owner.states.state_pieces("b"):
        node.states.copied(SHARD, piece)
    assert same(node.state("b"), log.states["b"])
    assert node.codes() == ["match_recovered"]
    log.act("b")
    node.follow(log)
    assert node.line("b").quarantined == "divergent"
    assert node.digests("b") == digests(log, "b")
    assert isinstance(node.state("a").snapshot.G["total"], int)


def test_a_copy_is_not_asked_for_for_ever() -> None:
    """A game that always differs costs a few copies, with a pause between them."""
    log = played(Log(counting()), "a", actions=0)
    owner = Node(counting())
    node = Node(counting(2), options=HostingOptions(copies_asked_max=2))
    asked = 0
    for _ in range(6):
        log.act("a")
        owner.own(log)
        node.follow(log)
        node.pass_time(60)
        for _, match in node.states.take_wanted():
            asked += 1
            for piece in owner.states.state_pieces(match):
                node.states.copied(SHARD, piece)
    assert asked == 2
    assert node.line("a").quarantined == "divergent"


def test_a_match_that_lacks_records_is_rebuilt_with_them() -> None:
    """The owner's copy brings the newest records along."""
    log = played(Log(), "a", actions=6)
    owner, node = Node(), Node()
    owner.own(log)
    for entry in log.entries[:4]:
        node.states.apply(SHARD, entry)
    node.states.apply(SHARD, log.entries[-1])
    assert node.line("a").quarantined == "log_gap"
    for piece in owner.states.state_pieces("a"):
        node.states.copied(SHARD, piece)
    assert same(node.state("a"), log.states["a"])
    assert node.digests("a") == digests(log, "a")


def test_a_copy_that_nobody_asked_for_is_passed_by() -> None:
    """Only a match that is set apart takes one."""
    log = played(Log(), "a")
    owner, node = Node(), Node()
    owner.own(log)
    for entry in log.entries[:-1]:
        node.states.apply(SHARD, entry)
    for piece in owner.states.state_pieces("a"):
        node.states.copied(SHARD, piece)
    assert node.state("a").index == log.states["a"].index - 1


def test_a_verdict_stays() -> None:
    """A match that was set apart by its node answers so after a restart too, while
    the log goes on."""
    log = played(Log(), "a")
    node = Node()
    node.follow(log)
    node.states.quarantine("a", "quarantined")
    log.act("a")
    node.follow(log)
    assert node.line("a").quarantined == "quarantined"
    node.checkpoint()
    node.restart()
    line = node.line("a")
    assert (line.quarantined, line.index) == ("quarantined", log.states["a"].index)


def test_a_verdict_is_passed_without_running_the_game() -> None:
    """A match that killed its node is set apart before anything of it is run."""
    log = played(Log(), "a")
    node = Node()
    node.follow(log)
    node.checkpoint()
    node.restart()
    node.states.quarantine("a", "quarantined")
    assert node.states.statistics().woken == 0
    assert node.line("a").quarantined == "quarantined"
    node.checkpoint()
    node.restart()
    assert node.line("a").quarantined == "quarantined"
    log.act("a")
    node.follow(log)
    assert node.line("a").index == log.states["a"].index
    assert node.digests("a") == digests(log, "a")


def test_a_game_that_once_did_otherwise_is_played_again() -> None:
    """Without any copy: after a pause the record leads to what the log says."""
    step = [2]
    log = played(Log(counting()), "a")
    node = Node(counting(step))
    node.follow(log)
    assert node.line("a").quarantined == "divergent"
    step.append(1)
    assert node.line("a").quarantined == "divergent"  # not at once
    node.pass_time(5)
    assert same(node.state("a"), log.states["a"])
    assert node.codes() == ["divergent", "match_recovered"]
