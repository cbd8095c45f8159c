"""Takebacks in a hosted match: exactly once, never stale, deadlines as they were."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule
from msgspec.structs import replace

from hotseat.engine.definition import Game
from hotseat.engine.machine import compile_game
from hotseat.engine.record import Record, RecordKind
from hotseat.engine.snapshot import Snapshot
from hotseat.engine.takeback import UndoVerb
from hotseat.engine.undo import undo
from hotseat.runtime.command import (
    Act,
    Answer,
    Applied,
    Denied,
    FireDeadline,
    NotFired,
    TakeBack,
    TakeSeat,
)
from hotseat.runtime.match import create_match, decide, replay_match
from hotseat.runtime.match_state import MatchState

from .sample_games import PLAYERS, TURN_MS, clock, race
from .test_match_machine import (
    TOKENS,
    Key,
    MatchMachine,
    actions,
    revisions,
    seats,
    sessions,
    times,
)


class Table:
    """A hosted match with both seats taken, and its log."""

    def __init__(self, game: Game) -> None:
        self.machine = compile_game(game)
        change = create_match(
            self.machine,
            match="m",
            epoch=1,
            creation="c",
            match_input=PLAYERS,
            seed="s",
            now_ms=0,
        )
        self.state: MatchState = change.state
        self.records: list[Record] = [change.record]
        self.last: dict[str, int] = {"0": 0, "1": 0}
        for seat, token in TOKENS.items():
            self.do(TakeSeat(seat, token))

    def do(self, command: Any, now_ms: int = 0) -> Answer:
        decision = decide(self.state, command, now_ms)
        if decision.change is not None:
            self.records.append(decision.change.record)
        self.state = decision.state
        return decision.answer

    def act(self, seat: str, event: str, base: int | None = None, **at: int) -> Answer:
        return self.do(Act(seat, 1, self._next(seat), event, 1, base), **at)

    def ask(
        self, seat: str, to: int | None = None, base: int | None = None, **at: int
    ) -> Answer:
        asked = TakeBack(seat, 1, self._next(seat), "ask", to, base)
        return self.do(asked, **at)

    def answer(self, seat: str, verb: UndoVerb, **at: int) -> Answer:
        request = self.state.undo.request
        revision = None if request is None else request.revision
        return self.do(TakeBack(seat, 1, self._next(seat), verb, revision), **at)

    def _next(self, seat: str) -> int:
        self.last[seat] += 1
        return self.last[seat]


def code(answer: Answer) -> str:
    assert isinstance(answer, Denied), answer
    return answer.refusal.code


def test_a_request_from_an_older_view_is_refused_as_stale() -> None:
    """Who asks for their last move does not undo the reply that they had not seen."""
    table = Table(race(undo=undo(back=4, past_random=True)))
    table.act("0", "keep")
    seen = table.state.revision
    table.act("0", "give")
    table.act("1", "keep")
    before = table.state
    assert code(table.ask("0", base=seen)) == "stale_revision"
    assert table.state is before
    assert isinstance(table.ask("0", base=before.revision), Applied)


def test_an_answer_meets_only_the_request_it_was_meant_for() -> None:
    """A late yes to a request that was withdrawn agrees to no later one."""
    table = Table(clock(undo=undo(back=4)))
    table.act("0", "move")
    table.act("1", "move")
    table.ask("0")
    first = table.state.undo.request
    assert first is not None
    table.answer("0", "decline")
    table.act("0", "move")
    table.ask("0")
    late = TakeBack("1", 1, 99, "agree", first.revision)
    assert code(table.do(late)) == "no_undo_request"
    assert table.state.undo.request is not None


def test_a_takeback_is_done_once_however_often_it_is_sent() -> None:
    """The first answer comes again; other content under its key is refused."""
    table = Table(clock(undo=undo(agree="nobody", back=4)))
    table.act("0", "move")
    table.act("0", "move")
    asked = TakeBack("0", 1, 3, "ask")
    first = table.do(asked)
    after = table.state
    assert isinstance(first, Applied)
    assert table.do(asked) == first
    assert table.state is after
    assert code(table.do(replace(asked, revision=0))) == "key_reused"
    assert code(table.do(Act("0", 1, 3, "move"))) == "key_reused"
    assert table.state.snapshot.G["moves"] == 1


def test_a_request_makes_no_action_stale_but_a_takeback_does() -> None:
    """While one asks, others may act on the view that they have; not afterwards."""
    table = Table(clock(undo=undo(back=4)))
    table.act("0", "move")
    seen = table.state.revision
    table.ask("0")
    assert isinstance(table.act("1", "wait", base=seen), Applied)
    table.ask("0")
    seen = table.state.revision
    assert isinstance(table.answer("1", "agree"), Applied)
    assert code(table.act("1", "wait", base=seen)) == "stale_revision"


def test_the_deadline_of_the_revision_is_armed_again_as_it_was() -> None:
    """The same instant, at the new revision; the one that was armed is void."""
    table = Table(clock(undo=undo(agree="nobody", back=4)))
    table.act("0", "move", now_ms=100)
    table.act("1", "move", now_ms=400)
    old = table.state.revision
    assert table.state.armed_ms == 400 + TURN_MS
    table.ask("1", now_ms=500)
    assert table.state.armed_ms == 100 + TURN_MS
    assert table.do(FireDeadline(old), 2 * TURN_MS) == NotFired()
    fired = table.do(FireDeadline(table.state.revision), 2 * TURN_MS)
    assert isinstance(fired, Applied)
    assert table.records[-1].time_ms == 100 + TURN_MS
    assert replay_match(table.machine, table.records) == table.state


def test_asking_neither_stops_nor_moves_a_deadline() -> None:
    """It stays armed, even overdue, and voids the request when it fires."""
    table = Table(clock(undo=undo(back=4)))
    table.act("0", "move", now_ms=100)
    table.act("1", "wait", now_ms=150)
    armed = table.state.armed_ms
    assert code(table.ask("1", now_ms=3 * TURN_MS)) == "undo_past_deadline"
    table.ask("1", now_ms=200)
    assert table.state.armed_ms == armed
    assert isinstance(table.answer("0", "decline", now_ms=3 * TURN_MS), Applied)
    assert table.state.armed_ms == armed
    table.ask("0", now_ms=3 * TURN_MS)
    assert isinstance(table.do(FireDeadline(table.state.revision)), Applied)
    assert table.state.undo.request is None


class UndoMachine(MatchMachine):
    """Requests and answers of any sort among everything else."""

    game = race(undo=undo(back=5, reveals=["keep"], past_random=True))

    def __init__(self) -> None:
        super().__init__()
        self.at: dict[int, Snapshot] = {}
        self.told: dict[Key, tuple[TakeBack, Applied]] = {}
        for seat, token in TOKENS.items():
            self.decide(TakeSeat(seat, token), 0)

    def decide(self, command: Any, now_ms: int) -> Answer:
        self.at[self.state.revision] = self.state.snapshot
        answer = super().decide(command, now_ms)
        self.at[self.state.revision] = self.state.snapshot
        return answer

    def take_back(self, asked: TakeBack, now_ms: int) -> None:
        before = self.state
        answer = self.decide(asked, now_ms)
        key = (asked.seat, asked.session, asked.action)
        if not isinstance(answer, Applied):
            return
        if key in self.told:
            first, told = self.told[key]
            assert (answer, asked.verb, asked.revision) == (
                told,
                first.verb,
                first.revision,
            )
            assert self.state is before
            return
        self.told[key] = (asked, answer)
        assert answer.revision == before.revision + 1
        given = self.records[-1].input
        same = given["to"] if given["phase"] == "done" else before.revision
        assert replace(self.state.snapshot, revision=same) == self.at[same]

    @rule(
        seat=seats,
        session=sessions,
        action=actions,
        verb=st.sampled_from(["ask", "agree", "decline"]),
        revision=revisions,
        base=revisions,
        now_ms=times,
    )
    def take_back_somehow(
        self,
        seat: str,
        session: int,
        action: int,
        verb: UndoVerb,
        revision: int | None,
        base: int | None,
        now_ms: int,
    ) -> None:
        self.take_back(TakeBack(seat, session, action, verb, revision, base), now_ms)

    @rule(seat=seats, verb=st.sampled_from(["ask", "agree", "decline"]), now_ms=times)
    def take_back_well(self, seat: str, verb: UndoVerb, now_ms: int) -> None:
        window = self.state.seats[seat].window
        request = self.state.undo.request
        revision = None if verb == "ask" or request is None else request.revision
        if window.sessions:
            newest = window.sessions[-1]
            key = newest.number, newest.highest + 1
            self.take_back(TakeBack(seat, *key, verb, revision), now_ms)

    @rule(seat=seats, moves=st.integers(0, 3), now_ms=times)
    def go_back(self, seat: str, moves: int, now_ms: int) -> None:
        for _ in range(moves):
            for each in TOKENS:
                self.act_well(each, "move", now_ms)
                self.act_well(each, "add", now_ms)
        self.take_back_well(seat, "ask", now_ms)
        self.take_back_well("1" if seat == "0" else "0", "agree", now_ms)

    @rule(back=st.integers(1, 10), now_ms=times)
    def ask_again(self, back: int, now_ms: int) -> None:
        known = list(self.told.values())
        if len(known) >= back:
            self.take_back(known[-back][0], now_ms)

    @invariant()
    def what_is_remembered_is_bounded_and_of_the_line_that_stands(self) -> None:
        undo = self.state.undo
        assert len(undo.past) <= 5
        assert len(undo.declined) <= len(TOKENS)
        found = [entry.snapshot.revision for entry in undo.past]
        assert found == sorted(found)
        for entry in undo.past:
            assert entry.snapshot == self.at[entry.snapshot.revision]
        takebacks = [r for r in self.records if r.kind is RecordKind.TAKEBACK]
        assert len(takebacks) == len(self.told)


class UndoClockMachine(UndoMachine):
    """The same, of a game with deadlines, where nobody must agree."""

    game = clock(undo=undo(ask="anyone", agree="nobody", back=5))


UndoMachine.TestCase.settings = UndoClockMachine.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestUndo = UndoMachine.TestCase
TestUndoClock = UndoClockMachine.TestCase
# What is imported to be extended is run by its own file.
del MatchMachine
