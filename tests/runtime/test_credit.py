"""Outages are credited to the clocks of games that ask for it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hotseat.engine.definition import (
    Game,
    define_game,
    event,
    state,
    timeout,
    transition,
    views,
)
from hotseat.engine.errors import ReplayError
from hotseat.engine.machine import compile_game
from hotseat.engine.playback import replay_log
from hotseat.engine.record import RecordKind
from hotseat.engine.replay.log_file import read_log_file, write_log_file
from hotseat.engine.replay.save import save_log
from hotseat.engine.replay.timeline import materialize, open_timeline
from hotseat.engine.undo import UndoRule, undo
from hotseat.runtime import command
from hotseat.runtime.command import Credited, CreditOutage, FireDeadline
from hotseat.runtime.frame import Sync, ViewUpdate
from hotseat.runtime.match import redo
from hotseat.runtime.match_codec import pack_state, unpack_state
from hotseat.runtime.options import MatchOptions
from hotseat.runtime.route import Route
from hotseat.runtime.subscribers import Subscribers

from .test_match import Table

TURN_MS = 10_000


def timed(*, credit: bool = True, rule: UndoRule | None = None) -> Game:
    """Each move has `TURN_MS`; G keeps when the last one came, and what lapsed."""

    def move(ctx: Any) -> Any:
        return {"G": {**ctx.G, "at": ctx.now}, "turn": "increment"}

    def lapse(ctx: Any) -> Any:
        return {"G": {"at": ctx.now, "lapses": ctx.G["lapses"] + 1}}

    return define_game(
        name="timed",
        max_players=2,
        events={"move": event()},
        initial="play",
        setup=lambda ctx: {"at": ctx.now, "lapses": 0},
        states={
            "play": state(
                active_players=["0", "1"],
                deadline=lambda ctx: ctx.G["at"] + TURN_MS,
            )
        },
        transitions=[
            transition("move", "play", "play", move),
            timeout("play", "play", lapse),
        ],
        views=views(public=lambda ctx: ctx.G),
        credit_outages=credit,
        undo=rule,
    )


def credited(table: Table, ms: int, after_ms: int) -> int:
    """An outage of `ms` that ends `after_ms` from now: what was credited."""
    table.now_ms += after_ms
    answer = table.decide(CreditOutage(ms)).answer
    assert isinstance(answer, Credited)
    return answer.ms


def test_the_clock_of_a_match_stands_still_during_an_outage() -> None:
    """The deadline comes later by the outage; the game is told its own time."""
    table = Table(timed())
    table.now_ms = 4_000
    table.act("0", 1, "move", None)
    assert table.state.armed_ms == 14_000
    assert credited(table, 12_000, after_ms=13_000) == 12_000
    assert table.state.armed_ms == table.state.deadline_ms == 26_000
    assert table.state.revision == 1
    table.now_ms = 20_000
    table.act("1", 1, "move", None)
    assert table.state.snapshot.G["at"] == 8_000
    assert table.state.armed_ms == 30_000
    assert table.records[-1].time_ms == 20_000
    assert table.replayed() == table.state


def test_a_deadline_fires_when_the_credited_time_is_over() -> None:
    """It is stamped with the wall clock's time, and the game is told its own."""
    table = Table(timed())
    assert credited(table, 12_000, after_ms=12_000) == 12_000
    assert table.state.armed_ms == 22_000
    table.now_ms = 23_000
    table.decide(FireDeadline(0))
    assert table.records[-1].kind is RecordKind.TIMEOUT
    assert table.records[-1].time_ms == 22_000
    assert table.state.snapshot.G == {"at": 10_000, "lapses": 1}
    assert table.state.armed_ms == 32_000
    assert table.replayed() == table.state


@pytest.mark.parametrize(
    ("game", "ms", "after_ms"),
    [(timed(credit=False), 5_000, 5_000), (timed(), 999, 5_000), (timed(), 5_000, 999)],
)
def test_what_is_not_credited(game: Game, ms: int, after_ms: int) -> None:
    """A game that does not ask for it; a blink; a time before the last record."""
    table = Table(game)
    logged = len(table.records)
    assert credited(table, ms, after_ms) == 0
    assert len(table.records) == logged


def test_no_more_is_credited_than_passed_since_the_last_record() -> None:
    """The match's own clock never goes back."""
    table = Table(timed())
    table.now_ms = 5_000
    table.act("0", 1, "move", None)
    assert credited(table, 60_000, after_ms=3_000) == 3_000
    assert table.state.clock_ms(table.now_ms) == 5_000


def test_a_match_without_a_deadline_is_not_credited() -> None:
    """Nor is one that is over: nothing runs."""
    table = Table(timed())
    table.state = msgspec.structs.replace(table.state, armed_ms=None)
    assert credited(table, 5_000, after_ms=5_000) == 0


def test_a_takeback_is_judged_by_the_matchs_own_clock() -> None:
    """An outage does not make a position's deadline pass."""
    table = Table(timed(rule=undo(back=2, agree="nobody")))
    table.now_ms = 1_000
    table.act("0", 1, "move", None)
    assert credited(table, 50_000, after_ms=51_000) == 50_000
    asked = command.TakeBack("0", 1, 2, "ask")
    answer = table.decide(asked).answer
    assert isinstance(answer, command.Applied), answer
    assert table.state.armed_ms == 60_000
    assert table.replayed() == table.state


def test_both_seats_are_told_the_new_deadline() -> None:
    """At once, though no step was taken."""
    table = Table(timed())
    watching = Subscribers(3, MatchOptions())
    for number, seat in enumerate(("0", "1")):
        assert watching.add(Route(seat), Sync(number + 1, "m", 3, seat, 1))
    told = [frame for _, frame in watching.flush(table.state)]
    assert [f.deadline_ms for f in told if isinstance(f, ViewUpdate)] == [10_000] * 2
    assert watching.flush(table.state) == []
    credited(table, 12_000, after_ms=12_000)
    told = [frame for _, frame in watching.flush(table.state)]
    assert [f.deadline_ms for f in told if isinstance(f, ViewUpdate)] == [22_000] * 2
    assert watching.flush(table.state) == []


def test_a_state_keeps_its_credit_when_it_is_stored() -> None:
    """And goes on by it."""
    table = Table(timed())
    credited(table, 5_000, after_ms=6_000)
    kept = unpack_state(pack_state(table.state), lambda name, version: table.machine)
    assert kept == table.state
    assert kept.credit_ms == 5_000


@pytest.mark.parametrize("ms", [0, -5, 6_001, 1.5, "5000", None])
def test_a_forged_credit_is_refused_by_a_replay(ms: Any) -> None:
    """Only what can have been credited is."""
    table = Table(timed())
    credited(table, 5_000, after_ms=6_000)
    forged = msgspec.structs.replace(table.records[-1], input={"ms": ms})
    state = None
    for record in table.records[:-1]:
        state = redo(table.machine, state, record).state
    with pytest.raises(ReplayError):
        redo(table.machine, state, forged)


def _long_table(count: int = 150) -> Table:
    """A match with outages here and there."""
    table = Table(timed())
    for number in range(1, count + 1):
        table.now_ms += 2_000
        if number % 40 == 0:
            credited(table, 7_000, after_ms=9_000)
        table.act("0", number, "move", None)
    return table


def test_an_exported_log_is_replayed_with_its_credits() -> None:
    """Played from its beginning, and opened in the middle."""
    table = _long_table(300)
    data = write_log_file(table.records, table.machine)
    timeline = open_timeline(table.machine, read_log_file(data).recording())
    for revision in (299, 300, 70, 260):
        frame = timeline.frame(revision)
        record = frame.record
        assert record is not None
        credit = sum(
            r.input["ms"]
            for r in table.records[: record.index]
            if r.kind is RecordKind.CREDIT_OUTAGE
        )
        assert frame.snapshot.G["at"] == record.time_ms - credit
    assert timeline.frame(300).snapshot == table.state.snapshot
    assert replay_log(table.machine.game, table.records).digest == table.state.digest


def test_a_session_goes_on_from_a_credited_log() -> None:
    """Its times are the wall clock's, its deadlines too."""
    table = _long_table(50)
    session = replay_log(table.machine.game, table.records)
    assert session.next_deadline == table.state.armed_ms
    session.apply("0", "move", None, now=table.now_ms + 500)
    assert session.log[-1].time_ms == table.now_ms + 500
    again = replay_log(table.machine.game, list(session.log))
    assert again.snapshot == session.snapshot


def test_an_envelope_of_a_credited_match_leads_to_the_same() -> None:
    """It holds the times of the match's own clock."""
    table = _long_table(90)
    envelope = save_log(table.machine, table.records)
    timeline = materialize(table.machine, envelope)
    assert timeline.frame(timeline.head).snapshot.G == table.state.snapshot.G


def test_a_game_without_credits_takes_none_from_a_log() -> None:
    """A log with one is not of that game."""
    table = Table(timed())
    credited(table, 5_000, after_ms=6_000)
    with pytest.raises(ReplayError, match="credited"):
        replay_log(timed(credit=False), table.records)
    assert compile_game(timed()).game.credit_outages
