"""Pinned matches: alone in a shard of their own, with one owner at each time."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from hotseat.nodes.node.router import Keep, Router
from hotseat.runtime.control_plane import (
    SHARDS_MAX,
    Keys,
    PinRecord,
    ShardRecord,
    encode_record,
)
from hotseat.runtime.coordinator import (
    ABSENT,
    CasConflict,
    CasOk,
    Change,
    Entry,
    Listing,
    Write,
)
from hotseat.runtime.errors import PinRefused
from hotseat.runtime.frame import Dispatch, PinEntry, ShardEntry
from hotseat.runtime.match_id import pinned_shard
from hotseat.runtime.pin_table import PinTable
from hotseat.runtime.replication.effects import RecordWrite
from hotseat.runtime.replication.pin_board import PinBoard
from hotseat.runtime.replication.readings import Readings
from hotseat.runtime.replication.record_writer import RecordWriter
from hotseat.runtime.shard_table import ShardTable

from ...simulator.hosting import hosting_of
from ...simulator.operators import Operator
from ...simulator.pins import Pinner
from ...simulator.scheduler import MS
from ...simulator.settings import Settings, draw_settings, without_faults
from ...simulator.world import World

KEYS = Keys("test")
MATCH = "m" * 26
PINNED = SHARDS_MAX + 7


def live(
    script: Callable[[World], None], tune: Callable[[Settings], Settings] = lambda s: s
) -> World:
    """A small cluster without faults lives through the script; every check holds."""
    drawn = replace(
        without_faults(draw_settings(1)),
        nodes=3,
        shards=1,
        copies=2,
        min_isr=1,
        durability="disk",
        players=4,
        matches=2,
        goal=400,
        deadline_ms=0,
        think_ms=60,
        faults_ms=4_000,
        quiet_ms=4_500,
        missing_version=False,
        impure=False,
        kept_transactions=1_000,
    )
    world = World(tune(drawn), hosting_of("matches"))
    world.run(script)
    world.scheduler.clear()
    return world


def at(world: World, ms: int, step: Callable[[], None]) -> None:
    world.scheduler.after(ms * MS, step)


def kinds(world: World, match: str) -> list[str]:
    return [record.kind for record in world.history.matches[match].records]


# Whole clusters.


def test_a_pinned_match_goes_on_alone_and_nothing_is_shipped() -> None:
    """Owner and follower make the new shard of their own copies of the match."""
    world = live(lambda w: at(w, 1_500, Pinner(w).pin))
    [(match, shard)] = world.places.pins.items()
    record = world.checks.record(shard)
    home = world.checks.record(0)
    assert record is not None
    assert home is not None
    assert (record.owner, record.isr) == (home.owner, home.isr)
    assert world.trace.counts["splits"] == 2
    assert world.trace.counts["install_pages"] == 0
    played = kinds(world, match)
    assert played[played.index("detach") + 1 :].count("action") > 5
    assert len(world.history.logs[shard]) > 5


def test_a_pinned_shard_moves_like_any_shard() -> None:
    """Only the one match has another owner afterwards."""

    def script(world: World) -> None:
        operator = Operator(world, random.Random(1))
        at(world, 1_500, Pinner(world).pin)
        at(world, 2_500, lambda: operator.move(next(iter(world.places.pins.values()))))

    world = live(script)
    [(match, shard)] = world.places.pins.items()
    record, home = world.checks.record(shard), world.checks.record(0)
    assert record is not None
    assert home is not None
    assert record.epoch == 2
    assert record.owner != home.owner
    played = kinds(world, match)
    assert "action" in played[played.index("detach") :]


def test_a_pin_whose_outcome_is_unknown_is_not_taken_for_one_that_failed() -> None:
    """It lands late: then it stands, or the match has gone on at home. Never both."""
    seen: list[int] = []

    def script(world: World) -> None:
        def meddle(process: object, writes: tuple[Write, ...]) -> int | None:
            if not any(write.key.startswith(world.keys.pins) for write in writes):
                return None
            seen.append(len(writes))
            return 1_200 if len(seen) == 1 else None

        world.coordinator.meddle = meddle
        at(world, 1_500, Pinner(world).pin)

    world = live(script)
    assert seen[0] == 3
    match = next(m for m in world.history.matches if "detach" in kinds(world, m))
    assert match in world.places.pins or "attach" in kinds(world, match)


def test_a_match_that_cannot_be_pinned_goes_on_at_home() -> None:
    """The coordinator is away: held for a while, then it is at home again."""

    def script(world: World) -> None:
        def away(down: bool) -> Callable[[], None]:
            return lambda: setattr(world.coordinator, "down", down)

        at(world, 1_400, away(True))
        at(world, 1_500, Pinner(world).pin)
        at(world, 3_000, away(False))

    world = live(script)
    assert not world.places.pins
    match = next(m for m in world.history.matches if "detach" in kinds(world, m))
    played = kinds(world, match)
    assert played[played.index("detach") + 1] == "attach"
    assert played[-1] == "action"


def test_no_more_matches_are_pinned_than_may_be() -> None:
    """The cap counts those of the whole cluster."""

    def script(world: World) -> None:
        for number in range(6):
            at(world, 1_500 + 200 * number, Pinner(world).pin)

    def tune(settings: Settings) -> Settings:
        return replace(settings, options=replace(settings.options, pins_max=1))

    world = live(script, tune)
    assert len(world.places.pins) == 1
    assert world.trace.counts["pin_pins_full"] > 0


# The parts.


def test_each_pin_has_a_number_of_its_own() -> None:
    """Nothing that an earlier one left is taken for this one's."""
    numbers = [pinned_shard(MATCH, n, SHARDS_MAX) for n in range(1, 50)]
    assert len(set(numbers)) == 49
    assert all(SHARDS_MAX <= number < 2**53 for number in numbers)
    with pytest.raises(ValueError, match="number"):
        PinRecord(match=MATCH, shard=SHARDS_MAX - 1, n=1)


def test_a_pin_shares_its_transaction_with_its_shard_only() -> None:
    """It lands with the shard's record, or not at all; others are not held up."""
    record = ShardRecord(owner="n1", epoch=1, isr=(("n1", "i"),), want=(), claim="c.1")
    pin = Write(KEYS.pin(MATCH), ABSENT, b"pin")
    writer = RecordWriter(KEYS)
    writer.add([RecordWrite(0, 5, record, (pin,)), RecordWrite(1, 5, record)])
    first, second = writer.take_requests()
    assert [write.key for write in first.writes] == [KEYS.shard(0), pin.key]
    assert first.writes[0].expected == 5
    assert [write.key for write in second.writes] == [KEYS.shard(1)]
    [answer] = writer.answered(first.id, CasConflict((pin.key,)))
    assert not answer.moved  # the shard's record was not what had moved
    [answer] = writer.answered(second.id, CasOk(6))
    assert answer.outcome == CasOk(6)


def test_an_older_listing_ends_no_pin() -> None:
    """What was read last is what the newest revision says."""
    board = PinBoard(PinTable(2))
    readings = Readings(KEYS, 2, board)
    pin = encode_record(PinRecord(match=MATCH, shard=PINNED, n=1))
    list(readings.changed([Change(KEYS.pin(MATCH), pin, 9)]))
    list(readings.listing(Listing((), 8)))
    assert board.table.shard_of(MATCH) == PINNED
    assert board.complete == 8
    list(readings.listing(Listing((Entry(KEYS.pin(MATCH), pin, 9),), 12)))
    assert board.table.match_of(PINNED) == MATCH
    list(readings.listing(Listing((), 13)))
    assert board.table.pin_of(MATCH) == 0


def test_a_pin_that_cannot_be_read_is_one_all_the_same() -> None:
    """Its match is not taken for one that is at home."""
    board = PinBoard(PinTable(2))
    readings = Readings(KEYS, 2, board)
    list(readings.changed([Change(KEYS.pin(MATCH), b"{", 3)]))
    assert board.is_pinned(MATCH)
    assert [alarm.code for alarm in readings.alarms] == ["control_record_invalid"]
    with pytest.raises(PinRefused):
        board.check_free(MATCH)


def test_the_table_tells_clients_of_pins() -> None:
    """A client that got it asks the owner of the match's own shard."""
    pins = PinTable(2)
    table = ShardTable(2, pins)
    pins.pin(MATCH, PINNED)
    table.apply([ShardEntry(PINNED, "n2", 3)], revision=4)
    frame = table.snapshot(1)
    assert frame.pins == (PinEntry(MATCH, PINNED, "n2", 3),)
    copy = ShardTable.from_snapshot(frame)
    assert copy.owner(copy.shard_of(MATCH)) == "n2"
    copy.merge(msgspec.structs.replace(frame, revision=5, pins=()))
    assert copy.shard_of(MATCH) < 2


def test_a_router_looks_at_the_pins_first() -> None:
    """Whoever serves the pinned shard keeps what is for its match."""
    pins = PinTable(2)
    router = Router("n1", 2, pins)
    router.owned[PINNED] = 1
    frame = Dispatch(1, MATCH, 1, "0", 1, 1, "go", msgspec.Raw(b"\xc0"))
    pins.pin(MATCH, PINNED)
    assert router.route(frame, "p", forwarded=False) == Keep(PINNED)
