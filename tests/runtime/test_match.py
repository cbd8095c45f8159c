"""The match state machine: what becomes of each command."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hotseat.engine.definition import Game
from hotseat.engine.errors import DigestMismatchError, InvalidMatchError, ReplayError
from hotseat.engine.limits import NESTING_MAX
from hotseat.engine.machine import compile_game
from hotseat.engine.record import (
    Record,
    RecordKind,
    record_from_json,
    record_to_json,
)
from hotseat.runtime.codec import pack, unpack
from hotseat.runtime.command import (
    Act,
    Answer,
    Applied,
    Denied,
    FireDeadline,
    NotFired,
    SeatHeld,
    TakeSeat,
)
from hotseat.runtime.match import Decision, create_match, decide, replay_match
from hotseat.runtime.match_state import MatchState

from .sample_games import PLAYERS, TURN_MS, auction, clock, race, sealed_bid

TOKEN = "token-of-the-first-player"
OTHER_TOKEN = "token-of-somebody-else---"
FULL_HASH = 32


class Table:
    """A match, its log, and a clock that the test holds."""

    def __init__(self, game: Game, *, seats: bool = True) -> None:
        self.machine = compile_game(game)
        change = create_match(
            self.machine,
            match="m",
            epoch=3,
            creation="created",
            match_input=PLAYERS,
            seed="seed",
            now_ms=0,
        )
        self.state: MatchState = change.state
        self.records: list[Record] = [change.record]
        self.now_ms = 0
        if seats:
            self.take("0", TOKEN)
            self.take("1", OTHER_TOKEN)

    def decide(self, command: Any) -> Decision:
        """Judge, and keep what comes of it."""
        decision = decide(self.state, command, self.now_ms)
        if decision.change is None:
            assert decision.state is self.state
        else:
            self.records.append(decision.change.record)
        self.state = decision.state
        return decision

    def take(self, seat: str, offered: str = "", *, fresh: bool = False) -> Answer:
        return self.decide(
            TakeSeat(seat, drawn="d" * 32, offered=offered, fresh=fresh)
        ).answer

    def act(
        self,
        seat: str,
        action: int,
        event: str = "add",
        payload: Any = 1,
        *,
        base: int | None = None,
        session: int = 1,
    ) -> Answer:
        act = Act(seat, session, action, event, payload, base)
        return self.decide(act).answer

    def replayed(self) -> MatchState:
        return replay_match(self.machine, self.records)


def code(answer: Answer) -> str:
    """The code of a refusal."""
    assert isinstance(answer, Denied), answer
    return answer.refusal.code


def test_a_free_seat_is_taken_once() -> None:
    """The second to come is told that somebody sits there."""
    table = Table(race(), seats=False)
    assert table.take("0") == SeatHeld("0", 1, "d" * 32, 1)
    assert code(table.take("0")) == "seat_taken"
    assert code(table.take("0", "guess" * 8)) == "seat_taken"
    assert [r.kind for r in table.records] == [RecordKind.CREATE, RecordKind.SEAT]


def test_only_a_hash_of_the_token_is_in_the_log() -> None:
    """Who reads a log cannot take a seat with it."""
    table = Table(race())
    assert TOKEN not in repr(table.records)
    assert len(table.records[1].input["token"]) == FULL_HASH


def test_the_token_resumes_the_same_session() -> None:
    """A resumed session goes on counting, and nothing is logged for it."""
    table = Table(race())
    assert isinstance(table.act("0", 4), Applied)
    logged = len(table.records)
    assert table.take("0", TOKEN) == SeatHeld("0", 1, TOKEN, 5)
    assert len(table.records) == logged


def test_a_lost_answer_does_not_lose_the_seat() -> None:
    """A client that drew the token itself asks again and is seated once."""
    table = Table(race(), seats=False)
    assert table.take("0", TOKEN) == table.take("0", TOKEN)
    assert len(table.records) == 2


def test_a_fresh_session_counts_from_one() -> None:
    """The key holds the session, so a restarted counter repeats nothing."""
    table = Table(race())
    table.act("0", 1)
    assert table.take("0", TOKEN, fresh=True) == SeatHeld("0", 2, TOKEN, 1)
    table.act("1", 1)
    assert isinstance(table.act("0", 1, session=2), Applied)
    assert table.state.snapshot.G["total"] == 3


def test_a_replaced_session_cannot_act() -> None:
    """The fifth session replaces the first."""
    table = Table(race())
    for _ in range(4):
        table.take("0", TOKEN, fresh=True)
    assert code(table.act("0", 1)) == "expired_key"
    assert isinstance(table.act("0", 1, session=5), Applied)


@pytest.mark.parametrize("token", ["short", "x" * 129, "é" * 20])
def test_a_token_has_a_sensible_form(token: str) -> None:
    """Guessable or huge tokens are refused before they become a seat's."""
    assert code(Table(race(), seats=False).take("0", token)) == "malformed_request"


def test_seats_are_those_of_the_match() -> None:
    """A name that the match does not have is said to be unknown."""
    table = Table(race())
    assert code(table.take("2")) == "unknown_seat"
    assert code(table.act("2", 1)) == "unknown_seat"


def test_a_repeat_gets_the_first_answer_and_changes_nothing() -> None:
    """The revision moves by one however often an action is sent."""
    table = Table(race())
    first = table.act("0", 1, base=0)
    assert first == Applied(revision=1, index=3)
    table.act("1", 1)
    assert table.act("0", 1, base=0) == first
    assert table.state.revision == 2


def test_a_key_is_not_used_for_two_things() -> None:
    """Other content under a known key is refused."""
    table = Table(race())
    table.act("0", 1, payload=1)
    assert code(table.act("0", 1, payload=2)) == "key_reused"
    assert code(table.act("0", 1, event="keep")) == "key_reused"


def test_a_refused_action_takes_no_place() -> None:
    """It is judged afresh when it comes again, with other content if need be."""
    table = Table(race())
    assert code(table.act("1", 1)) == "inactive_player"
    table.act("0", 1)
    assert table.act("1", 1, payload=5) == Applied(2, 4)


def test_the_order_of_checks() -> None:
    """Shape before key, key before base revision, base revision before the rules."""
    table = Table(race())
    table.act("0", 1)
    assert code(table.act("0", 1, payload={1, 2})) == "non_serializable_args"
    assert code(table.act("0", 0)) == "malformed_request"
    assert code(table.act("0", 1, payload=2, base=0)) == "key_reused"
    assert code(table.act("0", 2, base=0)) == "stale_revision"
    assert code(table.act("0", 2, base=1)) == "inactive_player"


def test_the_same_payload_in_another_order_of_keys_is_the_same() -> None:
    """Content is compared by value, not by how a client wrote it."""
    table = Table(sealed_bid())
    first = table.act("0", 1, "bid", {"a": 1, "b": 2.0})
    assert table.act("0", 1, "bid", {"b": 2, "a": 1}) == first


def test_simultaneous_moves_do_not_refuse_each_other() -> None:
    """A step that only another seat made does not make a view stale."""
    table = Table(sealed_bid())
    assert isinstance(table.act("0", 1, "bid", 5, base=0), Applied)
    assert isinstance(table.act("1", 1, "bid", 7, base=0), Applied)


def test_a_double_click_is_refused() -> None:
    """One's own action makes one's older view stale, even in the same position."""
    table = Table(race())
    assert isinstance(table.act("0", 1, "keep", base=0), Applied)
    second = table.act("0", 2, "keep", base=0)
    assert code(second) == "stale_revision"
    assert isinstance(second, Denied)
    assert second.revision == 1
    assert isinstance(table.act("0", 2, "keep", base=1), Applied)


def test_a_change_of_position_makes_every_view_stale() -> None:
    """Whoever looked at the old position looks again."""
    table = Table(auction())
    table.act("0", 1, "raise", None, base=0)
    assert code(table.act("1", 1, "raise", None, base=0)) == "stale_revision"
    assert isinstance(table.act("1", 1, "raise", None, base=1), Applied)


def test_who_became_active_looks_again() -> None:
    """A change of one's own part in the position makes one's older view stale."""
    table = Table(race())
    table.act("0", 1, "give", None)
    assert table.state.position_revision == 0
    assert code(table.act("1", 1, base=0)) == "stale_revision"
    assert isinstance(table.act("1", 1, base=1), Applied)


def test_a_strict_state_takes_only_the_newest_revision() -> None:
    """`strict_revision` makes any newer step count."""
    table = Table(auction(strict=True))
    table.act("0", 1, "raise", None, base=0)
    assert code(table.act("1", 1, "raise", None, base=0)) == "stale_revision"


def test_a_revision_from_the_future_is_stale() -> None:
    """A view of another history is no view of this match."""
    table = Table(race())
    assert code(table.act("0", 1, base=9)) == "stale_revision"
    assert code(table.act("0", 1, base=-1)) == "malformed_request"


def test_without_a_base_revision_only_the_rules_judge() -> None:
    """A client that does not say what it saw is not judged by it."""
    table = Table(race())
    table.act("0", 1, "keep")
    assert isinstance(table.act("0", 2, "keep"), Applied)


def test_every_step_of_a_batch_counts() -> None:
    """An action with two internal events is three revisions and one record."""
    table = Table(race())
    assert table.act("0", 1, "chain", None) == Applied(revision=3, index=3)
    assert code(table.act("0", 2, "keep", base=0)) == "stale_revision"
    assert isinstance(table.act("0", 2, "keep", base=3), Applied)


def test_a_record_is_never_before_the_last() -> None:
    """A clock that steps back does not take the match's time with it."""
    table = Table(race())
    table.now_ms = 5_000
    table.act("0", 1)
    table.now_ms = 10
    table.act("1", 1)
    assert [r.time_ms for r in table.records[-2:]] == [5_000, 5_000]
    assert table.state.snapshot.meta.now == 5_000


def test_a_deadline_fires_once_with_its_own_time() -> None:
    """However late the node is, the log says when the deadline was."""
    table = Table(clock())
    table.now_ms = 99_000
    assert table.decide(FireDeadline(0)).answer == Applied(revision=1, index=3)
    assert table.records[-1].time_ms == TURN_MS
    assert table.decide(FireDeadline(0)).answer == NotFired()
    assert table.state.armed_ms == 2 * TURN_MS


def test_a_move_voids_the_deadline_of_the_revision_before_it() -> None:
    """Which came first is decided by the log."""
    table = Table(clock())
    table.now_ms = TURN_MS
    table.act("0", 1, "move", None)
    assert table.decide(FireDeadline(0)).answer == NotFired()
    assert table.state.snapshot.G == {"lapses": 0, "moves": 1}


def test_a_move_after_the_deadline_has_fired_is_judged_by_the_new_state() -> None:
    """The other order: both are in the log, the deadline first."""
    table = Table(clock())
    table.now_ms = TURN_MS
    table.decide(FireDeadline(0))
    table.act("0", 1, "move", None)
    assert table.state.snapshot.G == {"lapses": 1, "moves": 1}
    assert table.replayed() == table.state


def test_a_timeout_that_leaves_its_deadline_past_is_not_armed_again() -> None:
    """A constant deadline fires once, and not for ever."""
    table = Table(clock(deadline=TURN_MS))
    assert isinstance(table.decide(FireDeadline(0)).answer, Applied)
    assert table.state.armed_ms is None
    assert table.state.stuck
    assert table.decide(FireDeadline(1)).answer == NotFired()


def test_a_step_that_sets_a_past_deadline_is_stuck() -> None:
    """A deadline before its own step never fires."""
    table = Table(clock(deadline=lambda ctx: ctx.now - 1 if ctx.G["moves"] else None))
    table.now_ms = 50
    table.act("0", 1, "move", None)
    assert (table.state.armed_ms, table.state.stuck) == (None, True)


def test_an_action_does_not_stop_a_deadline_that_waits_to_fire() -> None:
    """A move just ahead of the timer leaves the same, overdue deadline armed."""
    table = Table(clock(deadline=TURN_MS))
    table.now_ms = TURN_MS + 5
    table.act("0", 1, "wait", None)
    assert table.state.armed_ms == TURN_MS
    assert isinstance(table.decide(FireDeadline(1)).answer, Applied)
    assert table.records[-1].time_ms == TURN_MS + 5


def test_a_timeout_that_fails_changes_nothing() -> None:
    """It is told to the operator and leaves no record."""
    table = Table(clock(breaks=True))
    answer = table.decide(FireDeadline(0)).answer
    assert isinstance(answer, NotFired)
    assert answer.refusal is not None
    assert answer.refusal.code == "resolver_error"
    assert answer.refusal.fault is not None


def test_nothing_is_accepted_after_the_end() -> None:
    """`game_over`, and the first answer to a repeat of the last action."""
    table = Table(race(goal=3))
    last = table.act("0", 1, payload=3)
    assert table.state.ended
    assert code(table.act("1", 1)) == "game_over"
    assert table.act("0", 1, payload=3) == last


def test_nobody_sits_down_after_the_end() -> None:
    """A match that is over grows no more; who sat there may still resume."""
    table = Table(race(goal=1), seats=False)
    table.take("0", TOKEN)
    table.act("0", 1)
    assert code(table.take("1")) == "game_over"
    assert isinstance(table.take("0", TOKEN), SeatHeld)


def test_a_wrong_match_input_is_an_error() -> None:
    """A match is not created with players that the game does not have."""
    with pytest.raises(InvalidMatchError):
        create_match(
            compile_game(race()),
            match="m",
            epoch=1,
            creation="c",
            match_input={"players": ["0", "7"]},
            seed="s",
            now_ms=0,
        )


def test_a_replay_is_the_live_state() -> None:
    """All of it: seats, windows, deadlines, digests."""
    table = Table(race(goal=9))
    table.act("0", 1)
    table.act("1", 1, payload=2)
    table.take("0", TOKEN, fresh=True)
    table.act("0", 1, session=2, payload=6)
    assert table.replayed() == table.state
    assert table.state.ended


@pytest.mark.parametrize(
    ("index", "change", "field"),
    [
        (3, {"time_ms": 77}, "digest"),
        (3, {"revision_after": 9}, "revision_after"),
        (4, {"digest": bytes(16)}, "digest"),
        (4, {"prev_digest": bytes(16)}, "prev_digest"),
    ],
)
def test_a_replay_names_the_first_record_that_differs(
    index: int, change: dict[str, Any], field: str
) -> None:
    """A log that was touched is found out, at the place."""
    table = Table(race())
    table.act("0", 1)
    table.act("1", 1)
    table.records[index] = msgspec.structs.replace(table.records[index], **change)
    with pytest.raises(DigestMismatchError) as caught:
        table.replayed()
    assert (caught.value.index, caught.value.field) == (index, field)


def test_a_replay_refuses_what_cannot_have_been() -> None:
    """A gap, a key that stands there twice, a kind that is not known."""
    table = Table(race())
    table.act("0", 1, "keep")
    records = table.records
    again = msgspec.structs.replace(records[-1], index=len(records))
    unknown = msgspec.structs.replace(again, kind=RecordKind.TERMINATE)
    for log in (records[1:], [*records, again], [*records, unknown], []):
        with pytest.raises(ReplayError):
            replay_match(table.machine, log)


def test_a_payload_at_the_limit_of_nesting_is_recorded() -> None:
    """The record puts levels of its own around it, and still replays."""
    payload: Any = 1
    for _ in range(NESTING_MAX):
        payload = [payload]
    table = Table(race())
    assert isinstance(table.act("0", 1, "keep", payload), Applied)
    assert code(table.act("0", 2, "keep", [payload])) == "too_deep"
    sent = unpack(pack([record_to_json(record) for record in table.records]))
    log = [record_from_json(record) for record in sent]
    assert replay_match(table.machine, log) == table.state
