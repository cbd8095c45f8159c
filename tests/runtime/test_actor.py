"""The match actor: what leaves it, when, and to whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import msgspec
import pytest
from structlog.testing import capture_logs

from hotseat.engine.definition import Game
from hotseat.engine.machine import compile_game
from hotseat.engine.record import record_from_json
from hotseat.runtime.actor import MatchActor
from hotseat.runtime.actor_context import ActorContext, CreateAgain
from hotseat.runtime.codec import unpack
from hotseat.runtime.command import FireDeadline
from hotseat.runtime.committer import Committer, LocalCommitter
from hotseat.runtime.deadline import Deadlines
from hotseat.runtime.errors import MailboxFull
from hotseat.runtime.fault_log import FAULTS_LOGGED_MAX
from hotseat.runtime.frame import (
    Accepted,
    Created,
    FetchLog,
    LogPage,
    Refused,
    Seated,
    Sync,
    TakeSeat,
    Unwatch,
    ViewUpdate,
)
from hotseat.runtime.lifecycle import ActorState, StopReason
from hotseat.runtime.match import create_match, replay_match
from hotseat.runtime.options import MatchOptions
from hotseat.runtime.route import Route
from hotseat.runtime.traces import Traces

from .hosting import (
    ALICE,
    BOB,
    TOKEN_A,
    TOKEN_B,
    WATCHER,
    HeldClock,
    HeldCommitter,
    KeptOutlet,
    codes,
    dispatch,
    view_of,
)
from .sample_games import PLAYERS, TURN_MS, blind, clock, race, sealed_bid


class Stage:
    """An actor without a task: the test lets it work."""

    def __init__(
        self,
        game: Game,
        *,
        committer: Committer | None = None,
        options: MatchOptions | None = None,
        seats: bool = True,
        history: int = 0,
        traces: Traces | None = None,
    ) -> None:
        self.outlet = KeptOutlet()
        self.clock = HeldClock()
        self.deadlines = Deadlines()
        self.machine = compile_game(game)
        self.context = ActorContext(
            outlet=self.outlet,
            committer=committer or LocalCommitter(),
            alarm=self.deadlines,
            clock=self.clock,
            draw_token=lambda: "d" * 32,
            options=options or MatchOptions(),
            history=history,
            traces=traces,
        )
        created = create_match(
            self.machine,
            match="m",
            epoch=1,
            creation="created",
            match_input=PLAYERS,
            seed="seed",
            now_ms=0,
        )
        self.actor = MatchActor(created, self.context)
        if seats:
            self.tell((ALICE, TakeSeat(1, "m", 1, "0", TOKEN_A)))
            self.tell((BOB, TakeSeat(1, "m", 1, "1", TOKEN_B)))
            self.outlet.take()

    def put(self, *messages: Any) -> None:
        for message in messages:
            self.actor.mailbox.put_nowait(message, 1)

    def tell(self, *messages: Any) -> None:
        """Put messages into the mailbox and let the actor work once."""
        self.put(*messages)
        self.actor.work()


def test_creation_is_answered_once_it_is_committed() -> None:
    """The creator is told when the match is sure to exist, and not before."""
    committer = HeldCommitter()
    stage = Stage(race(), committer=committer, seats=False)
    stage.tell((ALICE, CreateAgain(7, "created")))
    assert stage.outlet.take() == []
    committer.commit()
    assert stage.outlet.only(Created) == Created(7, "m", 1, "race", "1", ("0", "1"))


def test_creating_again_with_other_content_is_refused() -> None:
    """A key names one match."""
    stage = Stage(race(), seats=False)
    stage.tell((BOB, CreateAgain(8, "other")))
    assert stage.outlet.only(Refused).code == "key_reused"


def test_a_batch_is_run_in_order_and_gives_one_view_to_each() -> None:
    """One wake-up: every action answered, one update per subscriber, all its steps."""
    stage = Stage(race())
    stage.tell((ALICE, Sync(2, "m", 1, "0", 1)), (WATCHER, Sync(2, "m", 1)))
    assert [f.request for f in stage.outlet.frames(ViewUpdate)] == [2, 2]
    stage.outlet.take()
    stage.tell(
        (ALICE, dispatch(3, "m", "0", 1, "keep")),
        (ALICE, dispatch(4, "m", "0", 2, "add", 1)),
        (BOB, dispatch(3, "m", "1", 1, "add", 5)),
    )
    answers = stage.outlet.frames(Accepted)
    assert [(a.request, a.revision) for a in answers] == [(3, 1), (4, 2), (3, 3)]
    updates = stage.outlet.frames(ViewUpdate)
    assert [(u.seat, u.revision, view_of(u)) for u in updates] == [
        ("0", 3, {"total": 7}),
        ("", 3, {"total": 7}),
    ]
    assert [step["revision"] for step in unpack(updates[0].steps)] == [1, 2, 3]


def test_answers_and_views_wait_for_the_commit() -> None:
    """Nothing that may be lost is told, though the next action is judged on it."""
    committer = HeldCommitter()
    stage = Stage(race(), committer=committer, seats=False)
    stage.tell(
        (ALICE, TakeSeat(1, "m", 1, "0", TOKEN_A)),
        (ALICE, Sync(2, "m", 1, "0", 1)),
    )
    committer.commit()
    assert len(stage.outlet.take()) == 2
    stage.tell((ALICE, dispatch(3, "m", "0", 1, "keep")))
    stage.tell((ALICE, dispatch(4, "m", "0", 2, "keep")))
    assert stage.outlet.take() == []
    assert stage.actor.ledger.state.revision == 2
    committer.commit()
    assert [type(f) for _, f in stage.outlet.sent] == [Accepted, ViewUpdate]
    assert stage.outlet.frames(ViewUpdate)[0].revision == 1
    stage.outlet.take()
    committer.commit()
    assert stage.outlet.frames(Accepted)[0].request == 4


def test_a_refusal_waits_for_the_state_it_was_judged_on() -> None:
    """`inactive_player` tells of an action that may never be committed."""
    committer = HeldCommitter()
    stage = Stage(race(), committer=committer, seats=False)
    stage.tell((ALICE, TakeSeat(1, "m", 1, "0", TOKEN_A)))
    committer.commit()
    stage.outlet.take()
    stage.tell((ALICE, dispatch(2, "m", "0", 1, "add", 1)))
    stage.tell((ALICE, dispatch(3, "m", "0", 2, "add", 1)))
    assert stage.outlet.take() == []
    committer.commit()
    assert [type(f) for _, f in stage.outlet.take()] == [Accepted, Refused]


def test_a_repeat_waits_for_the_commit_of_its_first() -> None:
    """A retry is no faster than what it repeats."""
    committer = HeldCommitter()
    stage = Stage(race(), committer=committer, seats=False)
    stage.tell((ALICE, TakeSeat(1, "m", 1, "0", TOKEN_A)))
    committer.commit()
    stage.outlet.take()
    stage.tell((ALICE, dispatch(2, "m", "0", 1, "keep")))
    stage.tell((ALICE, dispatch(3, "m", "0", 1, "keep")))
    assert stage.outlet.take() == []
    committer.commit()
    first, second = stage.outlet.frames(Accepted)
    assert (first.revision, first.index) == (second.revision, second.index)


def test_a_deposed_actor_throws_away_what_was_not_committed() -> None:
    """Whoever waits is told to ask again; nothing of it was ever seen."""
    committer = HeldCommitter()
    stage = Stage(race(), committer=committer, seats=False)
    stage.tell((ALICE, TakeSeat(1, "m", 1, "0", TOKEN_A)))
    committer.commit()
    stage.outlet.take()
    stage.tell((ALICE, dispatch(2, "m", "0", 1, "keep")))
    stage.put((ALICE, dispatch(3, "m", "0", 2, "keep")))
    committer.abandon()
    assert codes(stage.outlet) == ["retry", "no_owner"]
    assert stage.actor.status is ActorState.STOPPED
    assert stage.actor.stop_reason is StopReason.DEPOSED
    assert stage.actor.ledger.state.revision == 0


def test_too_many_waiting_for_a_commit_fill_the_mailbox() -> None:
    """A committer that stalls is felt as `busy`, not as memory."""
    committer = HeldCommitter()
    options = MatchOptions(uncommitted_max=2, mailbox_messages_max=3)
    stage = Stage(race(), committer=committer, options=options, seats=False)
    stage.tell((ALICE, TakeSeat(1, "m", 1, "0", TOKEN_A)))
    stage.tell((ALICE, dispatch(2, "m", "0", 1, "keep")))
    for action in (2, 3, 4):
        stage.tell((ALICE, dispatch(action + 1, "m", "0", action, "keep")))
    assert stage.actor.ledger.state.revision == 1
    with pytest.raises(MailboxFull):
        stage.put((ALICE, dispatch(9, "m", "0", 9, "keep")))
    committer.commit()
    committer.commit()
    stage.actor.work()
    assert stage.actor.ledger.state.revision == 4


def test_only_who_took_the_seat_may_speak_for_it() -> None:
    """The acting seat comes from the connection, not from what is claimed."""
    stage = Stage(race())
    stage.tell(
        (BOB, dispatch(2, "m", "0", 1, "keep")),
        (WATCHER, dispatch(2, "m", "0", 1, "keep")),
        (BOB, Sync(3, "m", 1, "0", 1)),
        (BOB, Sync(3, "m", 1, "7", 1)),
    )
    assert codes(stage.outlet) == [
        "not_seated",
        "not_seated",
        "not_seated",
        "unknown_seat",
    ]
    assert stage.outlet.frames(ViewUpdate) == []


def test_a_client_is_the_same_behind_another_router() -> None:
    """Who asks counts, not the way there; the newest way gets the views."""
    stage = Stage(race(), seats=False)
    direct, routed = Route("alice"), Route("n2", "alice")
    stage.tell((direct, TakeSeat(1, "m", 1, "0", TOKEN_A)))
    stage.tell((direct, Sync(2, "m", 1, "0", 1)))
    stage.outlet.take()
    stage.tell((routed, Sync(3, "m", 1, "0", 1)))
    stage.tell((routed, dispatch(4, "m", "0", 1, "keep")))
    assert {route for route, _ in stage.outlet.take()} == {routed}


def test_the_newest_connection_wins_the_session() -> None:
    """After a resume from elsewhere the older connection neither acts nor sees."""
    stage = Stage(race())
    stage.tell((ALICE, Sync(2, "m", 1, "0", 1)))
    phone = Route("alices-phone")
    stage.tell((phone, TakeSeat(1, "m", 1, "0", TOKEN_A)))
    assert stage.outlet.frames(Seated)[0].session == 1
    stage.outlet.take()
    stage.tell((ALICE, dispatch(3, "m", "0", 1, "keep")))
    assert stage.outlet.only(Refused).code == "not_seated"
    stage.tell((phone, dispatch(3, "m", "0", 1, "keep")))
    assert [route for route, _ in stage.outlet.take()] == [phone]


def test_a_replaced_session_is_told_so() -> None:
    """The fifth session of a seat replaces the first."""
    stage = Stage(race())
    stage.tell((ALICE, Sync(2, "m", 1, "0", 1)))
    for _ in range(4):
        stage.tell((ALICE, TakeSeat(3, "m", 1, "0", TOKEN_A, True)))
    stage.outlet.take()
    stage.tell((ALICE, dispatch(4, "m", "0", 1, "keep")))
    assert stage.outlet.only(Refused).code == "expired_key"
    stage.tell((ALICE, dispatch(4, "m", "0", 1, "keep", session=5)))
    assert [type(f) for _, f in stage.outlet.take()] == [Accepted]


def test_a_seat_sees_its_own_view_and_its_own_payloads() -> None:
    """What another seat sent is hidden from everybody else."""
    stage = Stage(sealed_bid())
    stage.tell(
        (ALICE, Sync(2, "m", 1, "0", 1)),
        (BOB, Sync(2, "m", 1, "1", 1)),
        (WATCHER, Sync(2, "m", 1)),
    )
    stage.outlet.take()
    stage.tell((ALICE, dispatch(3, "m", "0", 1, "bid", 77_777)))
    updates = {u.seat: u for u in stage.outlet.frames(ViewUpdate)}
    assert view_of(updates["0"]) == {"mine": 77_777}
    assert unpack(updates["0"].steps)[0]["event"]["payload"] == 77_777
    for seat in ("1", ""):
        assert b"\xce\x00\x01\x2f\xd1" not in msgspec.msgpack.encode(updates[seat])
        assert "payload" not in unpack(updates[seat].steps)[0]["event"]


def test_a_view_that_fails_is_an_error_for_that_seat_alone() -> None:
    """The others see on, the match goes on, and the operator is told once."""
    with capture_logs() as logs:
        stage = Stage(blind())
        stage.tell((ALICE, Sync(2, "m", 1, "0", 1)), (BOB, Sync(2, "m", 1, "1", 1)))
        stage.tell((ALICE, dispatch(3, "m", "0", 1, "step")))
    assert [view_of(u) for u in stage.outlet.frames(ViewUpdate, ALICE)] == [
        {"n": 0},
        {"n": 1},
    ]
    refused = stage.outlet.frames(Refused, BOB)
    assert [(r.request, r.code) for r in refused] == [
        (2, "view_error"),
        (0, "view_error"),
    ]
    assert stage.outlet.frames(Accepted)[0].revision == 1
    assert [(e["event"], e["seat"]) for e in logs] == [("game_failed", "1")]
    assert "no view for seat 1" in logs[0]["traceback"]
    assert "no view for seat 1" not in repr(refused)


def test_a_subscriber_too_far_behind_gets_the_view_alone() -> None:
    """Steps are kept up to a bound; a view needs none."""
    stage = Stage(race(), options=MatchOptions(steps_kept=2))
    stage.tell((ALICE, Sync(2, "m", 1, "0", 1)))
    stage.outlet.take()
    stage.tell(*[(ALICE, dispatch(2 + i, "m", "0", i, "keep")) for i in (1, 2, 3)])
    update = stage.outlet.frames(ViewUpdate)[0]
    assert (unpack(update.steps), view_of(update)) == ([], {"total": 3})
    stage.outlet.take()
    stage.tell(*[(ALICE, dispatch(9 + i, "m", "0", i, "keep")) for i in (4, 5)])
    steps = unpack(stage.outlet.frames(ViewUpdate)[0].steps)
    assert [step["revision"] for step in steps] == [4, 5]


def test_an_update_fits_into_a_frame() -> None:
    """Steps are left out beside a large view; a view that is too large is an error."""
    options = MatchOptions(view_bytes_max=100)
    stage = Stage(race(), options=options)
    stage.tell((ALICE, Sync(2, "m", 1, "0", 1)))
    stage.tell((ALICE, dispatch(3, "m", "0", 1, "keep")))
    update = stage.outlet.frames(ViewUpdate)[1]
    assert (update.revision, unpack(update.steps)) == (1, [])
    with capture_logs() as logs:
        tiny = Stage(race(), options=MatchOptions(view_bytes_max=5))
        tiny.tell((ALICE, Sync(2, "m", 1, "0", 1)))
    assert tiny.outlet.only(Refused).code == "view_error"
    assert [line["event"] for line in logs] == ["game_failed"]


def test_a_resync_answers_with_the_newest_view() -> None:
    """Also when nothing is new, and to every question by its number."""
    stage = Stage(race())
    stage.tell((ALICE, Sync(2, "m", 1, "0", 1)), (ALICE, Sync(3, "m", 1, "0", 1)))
    assert [u.request for u in stage.outlet.frames(ViewUpdate)] == [2, 3]
    stage.outlet.take()
    stage.tell((ALICE, Sync(4, "m", 1, "0", 1, True)))
    update = stage.outlet.only(ViewUpdate)
    assert (update.request, unpack(update.legal)) == (4, [["add", 1], ["add", 2]])
    assert (update.active_players, update.turn, update.state) == (("0",), 1, "play")


def test_nothing_is_sent_after_unwatch_or_when_the_way_is_gone() -> None:
    """Views go to who asked for them and is still there."""
    stage = Stage(race())
    behind = Route("n2", "carol")
    stage.tell(
        (ALICE, Sync(2, "m", 1)), (BOB, Sync(2, "m", 1)), (behind, Sync(2, "m", 1))
    )
    stage.tell((ALICE, Unwatch(3, "m", 1)))
    stage.actor.subscribers.remove_route("bob", None)
    stage.actor.subscribers.remove_route("n2", "carol")
    stage.outlet.take()
    stage.tell((ALICE, dispatch(4, "m", "0", 1, "keep")))
    assert stage.outlet.only(Accepted).revision == 1


def test_subscribers_are_bounded() -> None:
    """One more spectator is told `busy`."""
    stage = Stage(race(), options=MatchOptions(subscribers_max=1))
    stage.tell(
        (ALICE, Sync(2, "m", 1)), (BOB, Sync(2, "m", 1)), (ALICE, Sync(3, "m", 1))
    )
    assert codes(stage.outlet) == ["busy"]
    assert [u.request for u in stage.outlet.frames(ViewUpdate)] == [2, 3]


def test_a_deadline_is_armed_when_its_revision_is_committed() -> None:
    """A commit arms it, the next voids it, the end takes it away."""
    committer = HeldCommitter()
    stage = Stage(clock(), committer=committer, seats=False)
    stage.actor.work()
    assert stage.deadlines.next_ms() is None
    committer.commit()
    assert stage.deadlines.next_ms() == TURN_MS
    [due] = stage.deadlines.due(TURN_MS)
    stage.actor.mailbox.put_own(FireDeadline(due.revision))
    stage.actor.work()
    committer.commit()
    assert stage.actor.ledger.records.read(0, 1)[-1].time_ms == TURN_MS
    assert stage.deadlines.next_ms() == 2 * TURN_MS


def test_a_refusal_leaves_the_deadline_alone() -> None:
    """The timer neither restarts nor stops for what changed nothing."""
    stage = Stage(clock())
    stage.clock.ms = 500
    stage.tell((ALICE, dispatch(2, "m", "0", 1, "nothing")))
    assert stage.deadlines.next_ms() == TURN_MS


def test_a_timeout_that_fails_is_not_armed_again() -> None:
    """The operator is told; the match can still be played."""
    with capture_logs() as logs:
        stage = Stage(clock(breaks=True))
        [due] = stage.deadlines.due(TURN_MS)
        stage.tell(FireDeadline(due.revision))
    assert [e["event"] for e in logs] == ["timeout_not_fired"]
    told = logs[0]
    assert "the timeout fails" in told["traceback"]
    assert "sample_games.py:" in told["where"]
    assert "the timeout fails" in told["source"]
    assert told["game_event"] == "__timeout"
    assert stage.deadlines.next_ms() is None
    stage.tell((ALICE, dispatch(2, "m", "0", 1, "move")))
    assert stage.deadlines.next_ms() == TURN_MS


def test_a_stuck_deadline_is_an_alarm() -> None:
    """A constant deadline fires once; that it will not again is logged."""
    with capture_logs() as logs:
        stage = Stage(clock(deadline=TURN_MS))
        [due] = stage.deadlines.due(TURN_MS)
        stage.tell(FireDeadline(due.revision))
    assert [e["event"] for e in logs] == ["stuck_deadline"]
    assert stage.deadlines.next_ms() is None


def test_faults_do_not_flood_the_log() -> None:
    """A player can make a faulty game fail for ever; the log stays short."""
    with capture_logs() as logs:
        stage = Stage(race())
        for action in range(1, 50):
            stage.tell((ALICE, dispatch(action, "m", "0", action, "fail")))
    assert set(codes(stage.outlet)) == {"resolver_error"}
    assert len(logs) == FAULTS_LOGGED_MAX


def test_the_log_opens_when_the_match_has_ended() -> None:
    """Page by page, and it replays to the very state, seed included."""
    stage = Stage(race(goal=20), options=MatchOptions(log_page_bytes=600))
    stage.tell((ALICE, FetchLog(2, "m", 1)))
    assert stage.outlet.only(Refused).code == "match_running"
    for i in range(1, 11):
        stage.tell((ALICE, dispatch(9, "m", "0", i, "add", 1)))
        stage.tell((BOB, dispatch(9, "m", "1", i, "add", 1)))
    assert stage.actor.status is ActorState.RESIDENT
    stage.outlet.take()
    records, first, pages = [], 0, 0
    while True:
        stage.tell((WATCHER, FetchLog(3, "m", 1, first)))
        page = stage.outlet.only(LogPage)
        records += [record_from_json(r) for r in unpack(page.records)]
        pages += 1
        if page.next is None:
            break
        first = page.next
    assert pages > 1
    assert replay_match(stage.machine, records) == stage.actor.ledger.committed
    assert records[0].input["seed"] == "seed"
    stage.tell(
        (WATCHER, FetchLog(3, "m", 1, 1_000)), (WATCHER, FetchLog(3, "m", 1, -1))
    )
    assert unpack(stage.outlet.frames(LogPage)[0].records) == []
    assert codes(stage.outlet) == ["malformed_request"]


def test_after_the_end_late_questions_are_answered() -> None:
    """Views, repeats and refusals, without a task."""
    stage = Stage(race(goal=1))
    last = dispatch(2, "m", "0", 1, "add", 1)
    stage.tell((ALICE, last))
    assert stage.actor.status is ActorState.RESIDENT
    assert stage.actor.stop_reason is StopReason.ENDED
    first = stage.outlet.only(Accepted)
    stage.tell(
        (ALICE, last), (BOB, dispatch(2, "m", "1", 1, "add", 1)), (BOB, Sync(3, "m", 1))
    )
    assert stage.outlet.frames(Accepted) == [first]
    assert codes(stage.outlet) == ["game_over"]
    update = stage.outlet.frames(ViewUpdate)[0]
    assert (update.ended, unpack(update.result)) == (True, {"winner": "0"})


def test_a_failed_actor_answers_and_keeps_what_is_committed() -> None:
    """An error in the actor's own code is `internal_error` to all who wait."""
    stage = Stage(race())
    stage.tell((ALICE, dispatch(2, "m", "0", 1, "keep")))
    stage.outlet.take()
    stage.put(*[(ALICE, dispatch(9, "m", "0", i, "keep")) for i in (2, 3, 4)])
    stage.clock.readings_left = 1
    with pytest.raises(OSError, match="broken"):
        stage.actor.work()
    stage.actor.quarantine()
    assert codes(stage.outlet) == ["internal_error"] * 3
    assert stage.actor.ledger.state.revision == 1
    assert stage.actor.status is ActorState.QUARANTINED


def test_what_was_handed_over_may_still_commit_after_a_failure() -> None:
    """Its answer is the truth, not `internal_error`; nothing more is done."""
    committer = HeldCommitter()
    stage = Stage(race(), committer=committer, seats=False)
    stage.tell((ALICE, TakeSeat(1, "m", 1, "0", TOKEN_A)))
    committer.commit()
    stage.outlet.take()
    stage.tell((ALICE, dispatch(2, "m", "0", 1, "keep")))
    stage.put(*[(ALICE, dispatch(i + 1, "m", "0", i, "keep")) for i in (2, 3)])
    stage.clock.readings_left = 1
    with pytest.raises(OSError, match="broken"):
        stage.actor.work()
    stage.actor.quarantine()
    assert [f.request for f in stage.outlet.frames(Refused)] == [3, 4]
    assert stage.outlet.frames(Accepted) == []
    committer.commit()
    assert [f.request for f in stage.outlet.frames(Accepted)] == [2]
    assert committer.submitted == []


async def _one_match_plays(stage: Stage, until: Callable[[], bool]) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.actor.run)
        await anyio.lowlevel.checkpoint()
        for i in range(1, 6):
            stage.put(
                (ALICE, dispatch(9, "m", "0", i, "add", 1)),
                (BOB, dispatch(9, "m", "1", i, "add", 1)),
            )
            stage.actor.wake()
            stage.actor.wake()
            while len(stage.actor.mailbox):
                await anyio.lowlevel.checkpoint()
    assert until()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_task_wakes_works_and_ends_with_the_match(backend: str) -> None:
    """On both event loops: the task is gone when the match is over."""
    stage = Stage(race(goal=10))

    def over() -> bool:
        return stage.actor.status is ActorState.RESIDENT

    anyio.run(_one_match_plays, stage, over, backend=backend)
    assert len(stage.outlet.frames(Accepted)) == 10


@pytest.mark.parametrize(
    ("history", "seen", "shown"),
    [
        ((0, 0), 0, True),
        ((0, 0), 9, False),
        ((40, 40), 9, False),
        ((40, 0), 9, True),  # what was seen was lost
        ((0, 40), 0, False),  # this owner does not know of it yet
    ],
)
def test_a_view_is_never_older_than_what_was_seen_in_that_history(
    history: tuple[int, int], seen: int, shown: bool
) -> None:
    """A match that goes on from an old copy begins another: there it may be."""
    mine, theirs = history
    stage = Stage(race(), history=mine)
    stage.tell((WATCHER, Sync(2, "m", 1, seen=seen, history=theirs)))
    assert codes(stage.outlet) == ([] if shown else ["retry"])
    histories = [update.history for update in stage.outlet.frames(ViewUpdate)]
    assert histories == ([mine] if shown else [])
