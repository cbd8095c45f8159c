"""Whatever is sent, and whenever it commits: nothing uncommitted leaves an actor.

A machine drives an actor whose committer answers late or never, and checks only what
comes out.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hotseat.runtime.frame import Accepted, Dispatch, Sync, TakeSeat, ViewUpdate
from hotseat.runtime.lifecycle import ActorState
from hotseat.runtime.match import replay_match
from hotseat.runtime.options import MatchOptions
from hotseat.runtime.route import Route

from .hosting import (
    ALICE,
    BOB,
    TOKEN_A,
    TOKEN_B,
    HeldCommitter,
    dispatch,
    kept,
    view_of,
)
from .sample_games import race
from .test_actor import Stage

SEATS = {"0": (ALICE, TOKEN_A), "1": (BOB, TOKEN_B)}


class ActorMachine(RuleBasedStateMachine):
    """One actor, two players, a committer that is slow."""

    def __init__(self) -> None:
        super().__init__()
        self.committer = HeldCommitter()
        options = MatchOptions(uncommitted_max=12, mailbox_messages_max=500)
        self.stage = Stage(
            race(goal=30), committer=self.committer, options=options, seats=False
        )
        self.asked: Counter[tuple[str, int]] = Counter()
        self.answered: Counter[tuple[str, int]] = Counter()
        self.keys: dict[tuple[str, int], tuple[int, int]] = {}
        self.dispatched: dict[tuple[str, int], Dispatch] = {}
        self.seen: dict[tuple[str, str], int] = {}
        self.requests = 0

    @property
    def running(self) -> bool:
        return self.stage.actor.status in (ActorState.RUNNING, ActorState.RESIDENT)

    def put(self, route: Route, frame: Any) -> None:
        self.asked[route.peer, frame.request] += 1
        self.stage.put((route, frame))

    def number(self) -> int:
        self.requests += 1
        return self.requests

    @precondition(lambda self: self.running)
    @rule(seat=st.sampled_from(["0", "1"]), fresh=st.booleans())
    def sit(self, seat: str, fresh: bool) -> None:
        route, token = SEATS[seat]
        self.put(route, TakeSeat(self.number(), "m", 1, seat, token, fresh))

    @precondition(lambda self: self.running)
    @rule(
        seat=st.sampled_from(["0", "1"]),
        action=st.integers(1, 12),
        session=st.integers(1, 2),
        event=st.sampled_from(["add", "keep", "chain", "nothing"]),
    )
    def act(self, seat: str, action: int, session: int, event: str) -> None:
        route, _ = SEATS[seat]
        number = self.number()
        frame = dispatch(number, "m", seat, action, event, 1, session=session)
        self.dispatched[route.peer, number] = frame
        self.put(route, frame)

    @precondition(lambda self: self.running)
    @rule(seat=st.sampled_from(["0", "1", ""]))
    def watch(self, seat: str) -> None:
        route = SEATS[seat][0] if seat else BOB
        self.put(route, Sync(self.number(), "m", 1, seat, 1 if seat else 0))

    @rule()
    def work(self) -> None:
        self.stage.actor.work()

    @precondition(lambda self: self.committer.submitted)
    @rule()
    def commit(self) -> None:
        self.committer.commit()

    @precondition(lambda self: self.committer.submitted)
    @rule(sure=st.integers(0, 30))
    def abandon(self, sure: int) -> None:
        if sure == 0:
            self.committer.abandon()

    @invariant()
    def only_what_is_committed_leaves(self) -> None:
        committed = self.stage.actor.ledger.committed
        for route, frame in self.stage.outlet.take():
            if isinstance(frame, ViewUpdate):
                assert committed is not None
                assert frame.revision <= committed.revision
                before = self.seen.get((route.peer, frame.seat), -1)
                assert frame.revision >= before
                self.seen[route.peer, frame.seat] = frame.revision
                if frame.revision == committed.revision:
                    assert view_of(frame) == {"total": committed.snapshot.G["total"]}
            if isinstance(frame, Accepted):
                assert committed is not None
                assert frame.index <= committed.index
                self.check_accepted(route, frame)
            if frame.request:
                self.answered[route.peer, frame.request] += 1

    def check_accepted(self, route: Route, frame: Accepted) -> None:
        record = kept(self.stage.actor.ledger.records)[frame.index]
        sent = self.dispatched[route.peer, frame.request]
        logged = record.input
        assert (sent.seat, sent.session, sent.action, sent.event) == (
            logged["seat"],
            logged["session"],
            logged["action"],
            logged["event"],
        )
        assert record.revision_after == frame.revision

    @invariant()
    def nobody_is_answered_twice(self) -> None:
        assert self.answered <= self.asked

    def teardown(self) -> None:
        for _ in range(len(self.asked) + 2):
            self.stage.actor.work()
            while self.committer.submitted:
                self.committer.commit()
        self.only_what_is_committed_leaves()
        assert self.answered == self.asked
        ledger = self.stage.actor.ledger
        if self.running:
            assert ledger.committed == ledger.state
            assert ledger.settled
        if ledger.records:
            replayed = replay_match(self.stage.machine, kept(ledger.records))
            assert replayed == ledger.committed


ActorMachine.TestCase.settings = settings(
    max_examples=80, stateful_step_count=60, deadline=None
)
TestActor = ActorMachine.TestCase
