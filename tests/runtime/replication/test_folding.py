"""Pinned matches that are folded back: at home again, whole, with one owner always."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from msgspec import structs

from hotseat.runtime.control_plane import (
    SHARDS_MAX,
    PinRecord,
    ShardRecord,
    encode_record,
)
from hotseat.runtime.coordinator import (
    CasConflict,
    CasOk,
    CasUnknown,
    Change,
    Entry,
    Listing,
    Write,
)
from hotseat.runtime.fleet import Fleet
from hotseat.runtime.pin_table import PinTable
from hotseat.runtime.replication.effects import Effects, RecordWrite
from hotseat.runtime.replication.me import Me
from hotseat.runtime.replication.message import Raw
from hotseat.runtime.replication.options import ReplicationOptions
from hotseat.runtime.replication.parcel import (
    Kept,
    Parcel,
    is_parcel,
    pack_parcel,
    read_parcel,
)
from hotseat.runtime.replication.pin_board import Guest, PinBoard, Placed
from hotseat.runtime.replication.placer import Placer
from hotseat.runtime.replication.readings import Readings
from hotseat.runtime.replication.record_writer import RecordWriter
from hotseat.runtime.replication.register import RecordRegister

from ...simulator.pins import Pinner
from ...simulator.process import Process
from ...simulator.settings import Settings
from ...simulator.world import World
from .test_pins import KEYS, MATCH, PINNED, at, kinds, live

RECORD = ShardRecord(
    owner="n1", epoch=2, isr=(("n1", "i"),), want=("n1",), claim="n1-1.7.3"
)


def pin_then_fold(*at_ms: int) -> Callable[[World], None]:
    """A match is pinned, and folded back at these times."""

    def script(world: World) -> None:
        at(world, 1_500, Pinner(world).pin)
        for ms in at_ms:
            at(world, ms, Pinner(world).fold)

    return script


def the_match(world: World) -> str:
    return next(m for m in world.history.matches if "detach" in kinds(world, m))


def ends_a_pin(world: World, writes: tuple[Write, ...]) -> bool:
    return any(w.key.startswith(world.keys.pins) and w.value is None for w in writes)


# Whole clusters.


def test_a_match_is_folded_back_and_goes_on_at_home() -> None:
    """Its pin and its own shard are gone everywhere, and nobody was refused for it."""
    world = live(pin_then_fold(2_500))
    match = the_match(world)
    played = kinds(world, match)
    assert not world.places.pins
    assert played[played.index("attach") + 1 :].count("action") > 5
    keys = [entry.key for entry in world.coordinator.store.list(KEYS_SIM).entries]
    assert sum("/shard/" in key for key in keys) == 1
    for process in world.network.processes.values():
        assert list(process.core._shards) == [0]
        assert not process.core.pins.pin_of(match)


def test_its_disks_forget_the_shard_that_is_no_more() -> None:
    """A start finds the match at home, and nothing of the pinned shard."""
    world = live(pin_then_fold(2_500))
    match = the_match(world)
    held = 0
    for disk in world.disks.values():
        pinned = [s for s, log in disk.recovered().shards.items() if s >= SHARDS_MAX]
        assert all(not disk.recovered().shards[s].entries for s in pinned)
        line = disk.store.line(match)
        held += line is not None
        assert line is None or line.shard == 0
    assert held == 2


def test_a_match_may_be_pinned_again_and_again() -> None:
    """Each pin has a shard of its own; the match is at home in between."""

    def script(world: World) -> None:
        for round_ms in (1_300, 2_100, 2_900):
            at(world, round_ms, lambda: again(world))
            at(world, round_ms + 400, Pinner(world).fold)

    def again(world: World) -> None:
        match = next(iter(sorted(world.history.matches)))
        owner = world.owner(world.places.of(match))
        assert owner is not None
        owner.pin(match)

    world = live(script)
    played = kinds(world, sorted(world.history.matches)[0])
    assert played.count("detach") == played.count("attach") == 3
    assert world.trace.counts["folded"] == 3


def test_a_match_that_is_over_is_folded_back_by_itself() -> None:
    """It costs no pin any more, and its home's retention rule is its own."""
    short = live(pin_then_fold(), lambda s: replace(s, goal=40, matches=1, players=2))
    ended = the_match(short)
    assert ended in short.account.over
    assert ended not in short.places.pins
    assert kinds(short, ended)[-1] == "attach"


def test_a_match_with_nothing_gained_by_its_pin_is_folded_back_by_itself() -> None:
    """Its home has had the same owner for `pin_idle_ms`."""

    def tune(settings: Settings) -> Settings:
        return replace(settings, options=replace(settings.options, pin_idle_ms=500))

    world = live(pin_then_fold(), tune)
    assert world.trace.counts["pinned"] >= 1
    assert not world.places.pins
    played = kinds(world, the_match(world))
    assert "action" in played[played.index("attach") :]


def test_the_end_of_a_pin_that_lands_late_ends_nothing() -> None:
    """The owner has moved its shard's revision, and the match goes on there."""
    late: list[int] = []

    def script(world: World) -> None:
        def meddle(process: Process, writes: tuple[Write, ...]) -> int | None:
            if late or not ends_a_pin(world, writes):
                return None
            late.append(len(writes))
            return 1_500

        world.coordinator.meddle = meddle
        pin_then_fold(2_500)(world)

    world = live(script)
    match = the_match(world)
    played = kinds(world, match)
    assert late == [3]
    assert match in world.places.pins
    assert played[played.index("attach") + 1] == "detach"
    assert played[-1] == "action"


@pytest.mark.parametrize("lands", [True, False])
def test_an_owner_that_dies_over_it_leaves_the_match_in_one_place(
    lands: bool,
) -> None:
    """Whoever owns the shards next finds it at home, or has it stay where it was."""
    killed: list[str] = []

    def script(world: World) -> None:
        def meddle(process: Process, writes: tuple[Write, ...]) -> int | None:
            if killed or not ends_a_pin(world, writes):
                return None
            killed.append(process.node)
            at(world, 0, lambda: world.kill(process))
            at(world, 1_500, lambda: world.restart(process.node))
            return 1 if lands else 10_000

        world.coordinator.meddle = meddle
        pin_then_fold(2_500)(world)

    world = live(script, lambda s: replace(s, quiet_ms=6_000))
    match = the_match(world)
    played = kinds(world, match)
    assert killed
    assert (match in world.places.pins) != lands
    assert ("detach" in played[played.index("attach") :]) != lands
    assert played[-1] == "action"


def test_no_match_is_held_for_a_coordinator_that_is_away() -> None:
    """It is not begun, and the match goes on."""

    def script(world: World) -> None:
        pin_then_fold(5_200)(world)
        at(world, 1_800, lambda: setattr(world.coordinator, "down", True))

    world = live(script, lambda s: replace(s, faults_ms=6_000))
    assert world.trace.counts["fold_coordinator_away"] == 1
    assert kinds(world, the_match(world)).count("attach") == 0


def test_one_whose_shard_is_elsewhere_is_moved_home_first() -> None:
    """Who asks is told that it is moving; asked again, it is folded back."""

    def script(world: World) -> None:
        pin_then_fold(3_000, 3_600)(world)

        def move() -> None:
            [shard] = world.places.pins.values()
            Pinner(world)._operator.move(shard)

        at(world, 2_200, move)

    world = live(script)
    assert world.trace.counts["fold_moving"] == 1
    assert not world.places.pins


# The parts.

KEYS_SIM = "/hotseat/v1/sim/"


def register() -> tuple[RecordRegister, Effects]:
    effects = Effects()
    me = Me("n1", "n1-1")
    made = RecordRegister(PINNED, me, effects, ReplicationOptions())
    made.observe(5, RECORD)
    return made, effects


def test_a_pinned_shard_without_a_record_is_no_more() -> None:
    """It is not an alarm, as with the others: its match has been folded back."""
    made, effects = register()
    made.observe(9, None)
    assert made.gone
    assert made.stopped is None
    assert not effects.alarms


def test_the_end_of_a_pin_is_outstanding_until_the_revision_moves() -> None:
    """An answer that was lost proves nothing; nor does the old revision."""
    made, effects = register()
    made.delete((Write(KEYS.pin(MATCH), 5, None),))
    [write] = effects.take_writes()
    assert write.deletes
    assert not made.quiet()
    made.answered(write.nonce, CasUnknown("lost"), False, 0)
    made.observe(5, RECORD)
    assert not made.quiet()
    made.observe(6, RECORD)
    assert made.quiet()
    assert not made.gone


def test_a_conflict_over_the_home_ends_the_attempt_alone() -> None:
    """Nothing landed, and the pinned shard's record is as it was."""
    made, effects = register()
    made.delete((Write(KEYS.shard(0), 3, b""),))
    [write] = effects.take_writes()
    made.answered(write.nonce, CasConflict((KEYS.shard(0),)), False, 0)
    assert made.quiet()
    assert made.record == RECORD


def test_both_records_and_the_pin_share_one_transaction() -> None:
    """All of it lands, or nothing."""
    writer = RecordWriter(KEYS)
    home = Write(KEYS.shard(0), 3, b"home")
    pin = Write(KEYS.pin(MATCH), 4, None)
    writer.add([RecordWrite(PINNED, 5, RECORD, (home, pin), deletes=True)])
    [request] = writer.take_requests()
    assert request.writes == (Write(KEYS.shard(PINNED), 5, None), home, pin)
    [answer] = writer.answered(request.id, CasOk(8))
    assert answer.outcome == CasOk(8)


def test_what_came_is_the_match_only_when_its_pin_is_known_to_be_gone() -> None:
    """Not before the pin was read at all, and not while it is there."""
    board = PinBoard(PinTable(2))
    readings = Readings(KEYS, 2, board)
    guest = Guest(PINNED, 7, revision=9, whole=True)
    assert not board.is_home(MATCH, guest)
    pin = encode_record(PinRecord(match=MATCH, shard=PINNED, n=1))
    list(readings.listing(Listing((Entry(KEYS.pin(MATCH), pin, 9),), 9)))
    assert not board.is_home(MATCH, guest)
    list(readings.changed([Change(KEYS.pin(MATCH), None, 12)]))
    assert board.is_home(MATCH, guest)
    assert not board.is_home(MATCH, Guest(PINNED, 7, revision=9))


def test_older_news_of_a_shard_that_is_gone_are_older() -> None:
    """It does not come back by a listing that was on its way."""
    board = PinBoard(PinTable(2))
    readings = Readings(KEYS, 2, board)
    key, value = KEYS.shard(PINNED), encode_record(RECORD)
    assert len(list(readings.changed([Change(key, value, 5)]))) == 1
    assert len(list(readings.changed([Change(key, None, 8)]))) == 1
    readings.forget(PINNED)
    assert PINNED not in readings.records
    news = list(readings.listing(Listing((Entry(key, value, 5),), 7)))
    assert all(reading.shard != PINNED for reading in news)


def test_what_is_worth_nothing_is_not_waited_for() -> None:
    """An owner that lacks a copy cannot tell so in its log: a learner that it sends
    states to would be that copy. What comes later is waited for again."""
    board = PinBoard(PinTable(1))
    guest = Guest(PINNED, 3, 20, whole=True)
    board.came(0, MATCH, guest)
    assert board.waits_for_guests(0)
    board.worthless[0, MATCH] = guest
    assert not board.waits_for_guests(0)
    board.came(0, MATCH, replace(guest, index=5))
    assert board.waits_for_guests(0)
    board.came(0, MATCH, guest)
    assert board.waits_for_guests(0)
    board.came(0, MATCH, None)
    assert not board.waits_for_guests(0)
    assert not board.worthless


def test_a_board_knows_which_matches_are_to_go_home() -> None:
    """Only those whose last record says so."""
    board = PinBoard()
    board.place(PINNED, Placed(MATCH, 7, False))
    assert list(board.returning) == [PINNED]
    board.place(PINNED, Placed(MATCH, -1, True))
    assert not board.returning
    board.place(PINNED, None)
    assert not board.placed


@pytest.mark.parametrize("sent", [Parcel(PINNED, 9, True, 0, 3, b"abc"), Kept(PINNED)])
def test_pieces_are_told_from_records(sent: Parcel | Kept) -> None:
    """And come back as they were sent; a record never reads as one."""
    packed = pack_parcel(sent)
    assert is_parcel(packed)
    assert read_parcel(packed) == sent
    record = Raw(b"\xc6\x00\x00\x00\x01x")
    assert not is_parcel(record)
    assert read_parcel(record) is None


def test_a_pinned_shard_has_its_dead_nodes_replaced_like_any() -> None:
    """Its record's `want` is its own, and is repaired as the others are."""
    options = ReplicationOptions(placer_grace_ms=5_000)
    placer = Placer("n1", "n1-1", 2, options)
    readings = Readings(KEYS, 1, PinBoard(PinTable(1)))
    record = structs.replace(RECORD, want=("n1", "n9"))
    change = Change(KEYS.shard(PINNED), encode_record(record), 5)
    list(readings.changed([change]))
    placer.registered(Fleet(frozenset({"n1", "n2"})), 0)
    assert not placer.writes(readings, (), (), {}, 0)
    [write] = placer.writes(readings, (), (), {}, 6_000)
    assert (write.shard, write.expected) == (PINNED, 5)
    assert write.record.want == ("n1", "n2")
