"""A match whose game holds the loop: refusals, views, deadlines, quarantine.

The games here are interrupted at once, by themselves: which thread or signal does it in
a node is not the actor's business.
"""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from hotseat.engine.definition import Game, define_game, state, transition, views
from hotseat.runtime.budget import BudgetExceeded, OverrunTally
from hotseat.runtime.command import FireDeadline
from hotseat.runtime.errors import MatchRunaway
from hotseat.runtime.frame import Accepted, Refused, Sync, TakeSeat, ViewUpdate
from hotseat.runtime.lifecycle import ActorState, StopReason
from hotseat.runtime.match import replay_match
from hotseat.runtime.options import MatchOptions
from hotseat.runtime.route import Route

from .hosting import ALICE, TOKEN_A, WATCHER, HeldCommitter, codes, dispatch, kept
from .sample_games import TURN_MS, clock
from .test_actor import Stage


def stops(ctx: Any, *seat: Any) -> Any:
    """A game's function, at the moment when a guard interrupts it."""
    raise BudgetExceeded(0.1)


def goes_on(ctx: Any) -> Any:
    """One that caught what interrupted it, twice."""
    stop = BudgetExceeded(0.1)
    stop.strikes = 3
    raise stop


def set_flag(name: str) -> Any:
    return lambda ctx: {"G": {**ctx.G, name: True}}


def stopping() -> Game:
    """`step` adds one, `spin` and `goes_on` are interrupted. After `blind` the public
    view is, and `late` leads to a label that is."""
    functions = {
        "step": lambda ctx: {"G": {**ctx.G, "n": ctx.G["n"] + 1}},
        "spin": stops,
        "goes_on": goes_on,
        "blind": set_flag("blind"),
        "late": set_flag("late"),
    }
    return define_game(
        name="stopping",
        max_players=2,
        events=list(functions),
        initial="play",
        setup=lambda ctx: {"n": 0},
        states={
            "play": state(
                active_players=["0", "1"],
                label=lambda ctx: stops(ctx) if "late" in ctx.G else "play",
            )
        },
        transitions=[
            transition(name, "play", "play", function)
            for name, function in functions.items()
        ],
        views=views(
            public=lambda ctx: stops(ctx) if "blind" in ctx.G else ctx.G,
            player=lambda ctx, seat: stops(ctx) if seat == "1" else ctx.G,
        ),
    )


def held(game: Game) -> tuple[Stage, HeldCommitter]:
    """A match with Alice at seat 0, whose commits wait for the test."""
    committer = HeldCommitter()
    stage = Stage(game, committer=committer, seats=False)
    stage.tell((ALICE, TakeSeat(1, "m", 1, "0", TOKEN_A)))
    committer.commit()
    stage.outlet.take()
    return stage, committer


def play(stage: Stage, *events: str, first: int = 1) -> list[Any]:
    """Alice's events, one after the other; what is answered to each."""
    stage.outlet.take()
    for number, event in enumerate(events, first):
        stage.tell((ALICE, dispatch(number, "m", "0", number, event)))
    return [f for _, f in stage.outlet.take() if not isinstance(f, ViewUpdate)]


def test_an_action_over_its_budget_is_refused_and_changes_nothing() -> None:
    """The match stays open; the log line names event, branch and line."""
    stage = Stage(stopping())
    with capture_logs() as logs:
        first, loop, after = play(stage, "step", "spin", "step")
    assert isinstance(first, Accepted)
    assert isinstance(loop, Refused)
    assert (loop.code, loop.revision) == ("resolver_timeout", 1)
    assert isinstance(after, Accepted)
    assert after.revision == 2
    assert stage.actor.ledger.state.snapshot.G == {"n": 2}
    [line] = logs
    assert line["event"] == "budget_exceeded"
    assert (line["match"], line["game_event"]) == ("m", "spin")
    assert line["label"]
    assert stage.actor.faults == 1
    replayed = replay_match(stage.machine, kept(stage.actor.ledger.records))
    assert replayed == stage.actor.ledger.state


def test_a_derivation_over_its_budget_refuses_the_action() -> None:
    """The step that led there is not taken."""
    stage = Stage(stopping())
    with capture_logs() as logs:
        late, after = play(stage, "late", "step")
    assert isinstance(late, Refused)
    assert late.code == "resolver_timeout"
    assert isinstance(after, Accepted)
    assert logs[0]["label"] == "label of state play"
    assert logs[0]["game_event"] == "late"


def test_a_key_that_was_refused_may_be_used_again() -> None:
    """Nothing of it is remembered."""
    stage = Stage(stopping())
    stage.tell((ALICE, dispatch(1, "m", "0", 1, "spin")))
    assert codes(stage.outlet) == ["resolver_timeout"]
    [again] = play(stage, "step")
    assert isinstance(again, Accepted)


def test_a_view_over_its_budget_costs_its_own_seat_alone() -> None:
    """`view_error` to all who look with it, for one overrun; the others get theirs."""
    stage = Stage(stopping())
    watchers = [Route("w1"), Route("w2"), Route("w3"), Route("w4")]
    stage.tell(
        *[(watcher, Sync(1, "m", 1)) for watcher in watchers],
        (ALICE, Sync(3, "m", 1, "0", 1)),
    )
    stage.outlet.take()
    with capture_logs() as logs:
        stage.tell((ALICE, dispatch(9, "m", "0", 1, "blind")))
    told = {
        route: frame.code if isinstance(frame, Refused) else type(frame)
        for route, frame in stage.outlet.sent
    }
    assert told == dict.fromkeys(watchers, "view_error") | {ALICE: ViewUpdate}
    assert [line["event"] for line in logs] == ["budget_exceeded"]
    assert (logs[0]["label"], logs[0]["seat"]) == ("public view", "")


def test_a_deadline_over_its_budget_does_not_fire_and_is_not_armed_again() -> None:
    """As with any failure of a timeout: logged, and no other action is hindered."""

    def deadline(ctx: Any) -> Any:
        return stops(ctx) if ctx.now >= TURN_MS else ctx.now + TURN_MS

    stage = Stage(clock(deadline=deadline))
    stage.clock.ms = TURN_MS
    with capture_logs() as logs:
        stage.actor.mailbox.put_own(FireDeadline(0))
        stage.actor.work()
    events = [line["event"] for line in logs]
    assert events == ["budget_exceeded", "timeout_not_fired"]
    assert logs[1]["code"] == "resolver_timeout"
    assert stage.actor.ledger.state.revision == 0


def test_a_match_that_does_it_again_and_again_is_to_be_quarantined() -> None:
    """What was judged before is committed and answered; what waits is refused."""
    stage, committer = held(stopping())
    events = ["step", "spin", "step", "spin", "spin", "step", "step"]
    stage.put(
        *[
            (ALICE, dispatch(number, "m", "0", number, event))
            for number, event in enumerate(events, start=1)
        ]
    )
    with capture_logs(), pytest.raises(MatchRunaway):
        stage.actor.work()
    stage.actor.quarantine(StopReason.RUNAWAY, MatchRunaway.code)
    assert stage.actor.status is ActorState.QUARANTINED
    assert stage.actor.stop_reason is StopReason.RUNAWAY
    committer.commit()
    answers = {
        frame.request: frame.code if isinstance(frame, Refused) else "accepted"
        for _, frame in stage.outlet.take()
    }
    assert answers == {
        1: "accepted",
        2: "resolver_timeout",
        3: "accepted",
        4: "resolver_timeout",
        5: "resolver_timeout",
        6: "quarantined",
        7: "quarantined",
    }
    assert stage.actor.ledger.state.revision == 2


def test_overruns_are_forgotten_after_a_while() -> None:
    """A slow moment of the machine now and then costs no match."""
    stage = Stage(stopping(), options=MatchOptions(resolver_timeouts_s=60))
    with capture_logs():
        for turn in range(10):
            stage.clock.ms = turn * 30_001
            [loop] = play(stage, "spin", first=turn + 1)
            assert isinstance(loop, Refused)
    assert stage.actor.status is ActorState.RUNNING


def test_code_that_goes_on_regardless_counts_for_each_budget_it_takes() -> None:
    """One action that is struck three times is one too many."""
    stage = Stage(stopping())
    with capture_logs(), pytest.raises(MatchRunaway):
        stage.tell((ALICE, dispatch(1, "m", "0", 1, "goes_on")))
    assert codes(stage.outlet) == ["resolver_timeout"]


def test_views_that_take_too_long_end_a_match_as_well() -> None:
    """Also when a commit draws them: the actor ends when it works next."""
    stage, committer = held(stopping())
    stage.tell((WATCHER, Sync(2, "m", 1)))
    with capture_logs():
        for number, event in enumerate(["blind", "step", "step"], start=1):
            stage.tell((ALICE, dispatch(9, "m", "0", number, event)))
            committer.commit()
        stage.outlet.take()
        with pytest.raises(MatchRunaway):
            stage.actor.work()


@pytest.mark.parametrize(
    ("at", "full"),
    [([0, 1, 2], True), ([0, 5, 10], False), ([0, 9, 9.5], True), ([0, 1], False)],
)
def test_a_tally_is_full_when_all_lie_within_its_window(
    at: list[float], full: bool
) -> None:
    """Three within ten seconds."""
    tally = OverrunTally(3, 10.0)
    assert [tally.add(moment) for moment in at][-1] is full
    assert not tally.is_full(at[-1] + 10.0)
