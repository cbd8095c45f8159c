"""Any mixture of players, retries and clocks: the promises of a match hold.

A machine sends what good and bad clients send, in any order, and keeps its own
account of what was acknowledged.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hotseat.engine.digest import state_digest
from hotseat.engine.machine import compile_game
from hotseat.engine.record import Record, RecordKind
from hotseat.runtime.command import Act, Answer, Applied, FireDeadline, TakeSeat
from hotseat.runtime.dedupe import REMEMBERED_KEYS_MAX
from hotseat.runtime.match import create_match, decide, replay_match

from .sample_games import PLAYERS, clock, race

TOKENS = {"0": "token-of-seat-0-----", "1": "token-of-seat-1-----"}
Key = tuple[str, int, int]

seats = st.sampled_from(["0", "1"])
sessions = st.integers(0, 6)
actions = st.integers(-1, 50)
revisions = st.none() | st.integers(-1, 60)
payloads = st.sampled_from([None, 0, 1, 2, "x", {"a": 1.5}])
times = st.integers(0, 10_000)


class MatchMachine(RuleBasedStateMachine):
    """One match, its log, and what its players were told."""

    game = race()

    def __init__(self) -> None:
        super().__init__()
        self.machine = compile_game(self.game)
        change = create_match(
            self.machine,
            match="m",
            epoch=1,
            creation="c",
            match_input=PLAYERS,
            seed="seed",
            now_ms=0,
        )
        self.state = change.state
        self.records: list[Record] = [change.record]
        self.acknowledged: dict[Key, tuple[Act, Applied]] = {}
        self.sent: list[Act] = []

    def decide(self, command: Any, now_ms: int) -> Answer:
        before = self.state
        digest = state_digest(before.snapshot)
        decision = decide(before, command, now_ms)
        if decision.change is None:
            # A refusal or a repeat: the very same state, down to rng and deadline.
            assert decision.state is before
            assert state_digest(before.snapshot) == digest
        else:
            assert decision.change.record.index == len(self.records)
            self.records.append(decision.change.record)
        self.state = decision.state
        return decision.answer

    def act(self, act: Act, now_ms: int) -> None:
        logged = len(self.records)
        answer = self.decide(act, now_ms)
        if not isinstance(answer, Applied):
            return
        key = (act.seat, act.session, act.action)
        if key in self.acknowledged:
            first, told = self.acknowledged[key]
            assert (answer, act.event, act.payload) == (
                told,
                first.event,
                first.payload,
            )
            assert len(self.records) == logged
        else:
            assert len(self.records) == logged + 1
            self.acknowledged[key] = (act, answer)

    @rule(seat=seats, right=st.booleans(), fresh=st.booleans(), now_ms=times)
    def take(self, seat: str, right: bool, fresh: bool, now_ms: int) -> None:
        offered = TOKENS[seat] if right else "somebody-elses-token"
        if not self.state.seats[seat].token_hash:
            offered = TOKENS[seat]
        self.decide(TakeSeat(seat, "d" * 32, offered, fresh), now_ms)

    @rule(
        seat=seats,
        session=sessions,
        action=actions,
        event=st.sampled_from(["add", "keep", "chain", "move", "wait", "fail", "no"]),
        payload=payloads,
        base=revisions,
        now_ms=times,
    )
    def act_somehow(
        self,
        seat: str,
        session: int,
        action: int,
        event: str,
        payload: Any,
        base: int | None,
        now_ms: int,
    ) -> None:
        act = Act(seat, session, action, event, payload, base)
        self.sent.append(act)
        self.act(act, now_ms)

    @rule(seat=seats, event=st.sampled_from(["keep", "add", "move"]), now_ms=times)
    def act_well(self, seat: str, event: str, now_ms: int) -> None:
        window = self.state.seats[seat].window
        if window.sessions:
            newest = window.sessions[-1]
            act = Act(seat, newest.number, newest.highest + 1, event, 1)
            self.sent.append(act)
            self.act(act, now_ms)

    @rule(back=st.integers(1, 40), now_ms=times)
    def send_again(self, back: int, now_ms: int) -> None:
        if len(self.sent) >= back:
            self.act(self.sent[-back], now_ms)

    @rule(revision=st.integers(0, 60) | st.none(), now_ms=times)
    def fire(self, revision: int | None, now_ms: int) -> None:
        now = self.state.revision if revision is None else revision
        self.decide(FireDeadline(now), now_ms)

    @invariant()
    def each_acknowledged_action_is_in_the_log_once(self) -> None:
        logged = [
            (r.input["seat"], r.input["session"], r.input["action"])
            for r in self.records
            if r.kind is RecordKind.ACTION and "operator" not in r.input
        ]
        assert len(logged) == len(set(logged))
        assert set(logged) == set(self.acknowledged)
        for key, (act, answer) in self.acknowledged.items():
            record = self.records[answer.index]
            assert record.revision_after == answer.revision
            assert (key[0], act.event) == (record.input["seat"], record.input["event"])

    @invariant()
    def the_state_is_consistent(self) -> None:
        state, last = self.state, self.records[-1]
        assert (state.index, state.digest) == (last.index, last.digest)
        assert state.revision == last.revision_after
        assert state.time_ms == last.time_ms
        times = [r.time_ms for r in self.records]
        assert times == sorted(times)
        for seat in state.seats.values():
            assert len(seat.window.keys) <= REMEMBERED_KEYS_MAX
            assert seat.touched_revision <= state.revision
        assert state.position_revision <= state.revision

    def teardown(self) -> None:
        assert replay_match(self.machine, self.records) == self.state


class ClockMachine(MatchMachine):
    """The same, of a game with deadlines."""

    game = clock()


MatchMachine.TestCase.settings = ClockMachine.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestRace = MatchMachine.TestCase
TestClock = ClockMachine.TestCase
