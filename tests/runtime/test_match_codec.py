"""Packed states: a match goes on from one as if nothing had been."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant
from msgspec.structs import replace

from hotseat.engine.errors import InvalidGameError
from hotseat.engine.frozen import freeze
from hotseat.engine.machine import Machine, compile_game
from hotseat.engine.undo import undo
from hotseat.runtime.command import Act, FireDeadline, TakeBack, TakeSeat
from hotseat.runtime.errors import ChecksumWrong, CodecError, FormatTooNew
from hotseat.runtime.games import UnknownGame
from hotseat.runtime.match import create_match, decide
from hotseat.runtime.match_codec import STATE_FORMAT, pack_state, unpack_state
from hotseat.runtime.match_state import MatchState
from hotseat.runtime.patch import patch, patched
from hotseat.runtime.sealed import SEAL_BYTES, seal

from ..engine.random_games import Plan, game_of, plans, scripts
from .sample_games import PLAYERS, auction, race
from .test_match_undo import Table, UndoMachine
from .test_record_codec import VALUES


def again(state: MatchState) -> MatchState:
    """The state after a trip through bytes."""
    return unpack_state(pack_state(state), lambda name, version: state.machine)


class PackedMachine(UndoMachine):
    """A match that is packed and read again after everything that happens to it."""

    @invariant()
    def a_trip_through_bytes_changes_nothing(self) -> None:
        self.state, before = again(self.state), self.state
        assert self.state == before
        assert pack_state(self.state) == pack_state(before)


TestPacked = PackedMachine.TestCase
TestPacked.settings = settings(
    max_examples=20,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@settings(max_examples=60, deadline=None)
@given(plans(), scripts())
def test_states_of_random_games_are_read_as_written(
    plan: Plan, script: list[tuple[Any, ...]]
) -> None:
    """G, what derives from it, deadlines and results, at every revision."""
    try:
        state = begun(compile_game(game_of(plan, drafted=False)))
    except InvalidGameError:
        return
    now = 0
    for entry in script:
        now += entry[-1]
        command: Any = FireDeadline(state.revision)
        if len(entry) > 1:
            seat, name, payload, _ = entry
            if seat is None:
                seat = next(iter(state.snapshot.derived.active_players), "0")
            number = now + state.index + 1
            command = Act(seat, 1, number, name, payload)
        state = decide(state, command, now).state
        assert again(state) == state


def begun(machine: Machine) -> MatchState:
    """A match whose seats are taken."""
    state = create_match(
        machine,
        match="m",
        epoch=3,
        creation="c",
        match_input=PLAYERS,
        seed="é",
        now_ms=0,
    ).state
    for seat in ("0", "1"):
        state = decide(state, TakeSeat(seat, seat * 32), 0).state
    return state


def test_what_can_be_taken_back_is_shared() -> None:
    """Sixty past states of a wide G cost what was played, in bytes and in memory."""
    table = Table(race(undo=undo(back=60, past_random=True)))
    wide = freeze({**table.state.snapshot.G, "board": [[n] * 40 for n in range(100)]})
    table.state = replace(table.state, snapshot=replace(table.state.snapshot, G=wide))
    alone = len(pack_state(table.state))
    for _ in range(60):
        table.act(table.state.snapshot.G["to_move"], "add")
    assert len(table.state.undo.past) == 60
    packed = pack_state(table.state)
    assert len(packed) < alone + 60 * 200
    read = again(table.state)
    assert read == table.state
    board = read.snapshot.G["board"]
    assert all(past.snapshot.G["board"] is board for past in read.undo.past)


def test_a_request_to_take_back_waits_on() -> None:
    """Who asked, who agreed and who was declined are part of the state."""
    table = Table(race(undo=undo(back=4, past_random=True)))
    table.act("0", "add")
    table.do(TakeBack("0", 1, 2, "ask"))
    assert table.state.undo.request is not None
    assert again(table.state) == table.state


def test_a_game_that_is_not_here_is_named() -> None:
    """Name and version stand in the error, so that it can be loaded."""
    packed = pack_state(Table(race()).state)
    with pytest.raises(UnknownGame, match="'race' version"):
        unpack_state(packed, lambda name, version: None)


def test_a_state_of_another_game_is_refused() -> None:
    """A position that the machine does not know is no state of it."""
    packed = pack_state(Table(race()).state)
    with pytest.raises(CodecError, match="stands in no state"):
        unpack_state(packed, lambda name, version: compile_game(auction()))


@given(st.data())
def test_every_changed_byte_is_found(data: st.DataObject) -> None:
    """Whichever it is, and wherever the state is cut off."""
    packed = pack_state(BUSY)
    at = data.draw(st.integers(0, len(packed) - 1))
    broken = bytearray(packed)
    broken[at] ^= data.draw(st.integers(1, 255))
    for bad in (bytes(broken), packed[:at]):
        with pytest.raises(ChecksumWrong):
            unpack_state(bad, lambda name, version: BUSY.machine)


@given(st.binary(max_size=64) | VALUES.map(msgpack.packb))
def test_any_bytes_give_a_codec_error(body: bytes) -> None:
    """Bytes that nobody wrote never give another exception, sealed or not."""
    for data in (body, seal(STATE_FORMAT, body)):
        with pytest.raises(CodecError):
            unpack_state(data, lambda name, version: BUSY.machine)


def places(value: Any, place: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """The place of every part of nested lists."""
    found = [place]
    if isinstance(value, list):
        for index, part in enumerate(value):
            found += places(part, (*place, index))
    return found


def put(value: Any, place: tuple[int, ...], part: Any) -> Any:
    """The same with another part at a place."""
    if not place:
        return part
    at, *rest = place
    return [*value[:at], put(value[at], tuple(rest), part), *value[at + 1 :]]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_content_of_another_shape_is_refused(data: st.DataObject) -> None:
    """A part of another kind gives a codec error, or a state that packs again."""
    content = msgpack.unpackb(pack_state(BUSY)[SEAL_BYTES:])
    place = data.draw(st.sampled_from(places(content)))
    value = data.draw(VALUES | st.binary(max_size=16))
    packed = seal(STATE_FORMAT, msgpack.packb(put(content, place, value)))
    try:
        state = unpack_state(packed, lambda name, version: BUSY.machine)
    except CodecError:
        return
    assert again(state) == state


def test_a_newer_format_is_told() -> None:
    """The message says what to do."""
    with pytest.raises(FormatTooNew, match="upgrade this node"):
        unpack_state(seal(STATE_FORMAT + 1, b""), lambda name, version: None)


@given(VALUES, VALUES)
def test_a_patch_gives_the_new_value(old: Any, new: Any) -> None:
    """Whatever the two are: equal, of the same types, in the same order."""
    old, new = freeze(old), freeze(new)
    change = msgpack.unpackb(msgpack.packb(patch(old, new)))
    made = patched(old, change)
    assert repr(made) == repr(new)


def busy() -> MatchState:
    """A state in which every field holds something."""
    table = Table(race(undo=undo(back=4, past_random=True)))
    for _ in range(6):
        table.act(table.state.snapshot.G["to_move"], "add")
    table.do(TakeBack("0", 1, 9, "ask"))
    return replace(table.state, credit_ms=7)


BUSY = busy()
