"""Scenarios of acknowledgement, time and seats around a change of owner."""

from __future__ import annotations

import itertools

import pytest

from hotseat.engine.definition import (
    Game,
    define_game,
    state,
    timeout,
    transition,
    views,
)
from hotseat.runtime.frame import (
    Accepted,
    Refused,
    Response,
    Seated,
    Sync,
    TakeSeat,
    ViewUpdate,
)
from hotseat.runtime.match import replay_match
from hotseat.runtime.match_state import MatchState
from hotseat.runtime.replication.output import Committed

from ..runtime.hosting import ALICE, BOB, TOKEN_A, TOKEN_B, dispatch
from ..runtime.replicated.stage import SHARD, ReplicaNode, fail_over, pair
from ..runtime.sample_games import TURN_MS, clock, race


def state_at(node: ReplicaNode, match: str) -> MatchState:
    """What is committed there."""
    found = node.states.get(match)
    assert isinstance(found, MatchState)
    return found


def outcomes(frames: list[Response]) -> list[str]:
    """The answers, in short; views aside."""
    told: list[str] = []
    for frame in frames:
        if isinstance(frame, Accepted):
            told.append("accepted")
        elif isinstance(frame, Refused):
            told.append(frame.code)
    return told


@pytest.mark.parametrize("takeover", [False, True])
def test_b01_an_action_whose_answer_was_lost_is_applied_once(takeover: bool) -> None:
    """Sent again with its key it gets the first answer, at the next owner too."""
    owner, follower = pair(race())
    match = owner.seated("race")
    [first] = owner.act(match, "0", 1, "keep")
    node = owner
    if takeover:
        fail_over(owner, follower)
        node = follower
        node.take_seats(match)
    before = state_at(node, match)
    assert node.act(match, "0", 1, "keep") == [first]
    assert isinstance(first, Accepted)
    assert state_at(node, match) is before
    assert before.revision == first.revision == 1


def test_b02_a_client_that_restarts_its_counter_is_not_mistaken() -> None:
    """A new session's action 1 is new, though another session's was accepted."""
    owner, follower = pair(race())
    match = owner.seated("race")
    for action in range(1, 6):
        owner.act(match, "0", action, "keep")
    fail_over(owner, follower)
    [seated] = follower.tell((ALICE, TakeSeat(3, match, 1, "0", TOKEN_A, fresh=True)))
    assert isinstance(seated, Seated)
    assert (seated.session, seated.next_action) == (2, 1)
    again = dispatch(4, match, "0", 1, "keep", session=2)
    [answer] = follower.tell((ALICE, again))
    assert isinstance(answer, Accepted)
    assert answer.revision == 6
    assert follower.tell((ALICE, again)) == [answer]


def duel() -> Game:
    """Who moves first wins; who moves at all must do so in time."""
    return define_game(
        name="duel",
        max_players=2,
        events=["win"],
        initial="aim",
        setup=lambda ctx: {"lapses": 0},
        states={
            "aim": state(
                active_players=["0", "1"], deadline=lambda ctx: ctx.now + TURN_MS
            )
        },
        transitions=[
            transition(
                "win", "aim", "aim", lambda ctx: {"result": {"winner": ctx.player_id}}
            ),
            timeout("aim", "aim", lambda ctx: {"G": {"lapses": ctx.G["lapses"] + 1}}),
        ],
        views=views(public=lambda ctx: ctx.G),
    )


@pytest.mark.parametrize("takeover", [False, True])
def test_b57_a_deadline_does_nothing_after_the_end(takeover: bool) -> None:
    """The winning move comes at half time; when the deadline passes, nothing comes."""
    owner, follower = pair(duel())
    match = owner.seated("duel")
    assert state_at(owner, match).armed_ms == TURN_MS
    owner.clock.ms = TURN_MS // 2
    owner.act(match, "0", 1, "win")
    node = owner
    if takeover:
        fail_over(owner, follower)
        node = follower
    ended = state_at(node, match)
    assert ended.ended
    assert node.supervisor.next_due_ms() is None
    for later in range(1, 5):
        node.clock.ms = later * TURN_MS
        node.supervisor.tick(node.clock.ms)
    assert state_at(node, match) is ended
    assert ended.snapshot.G == {"lapses": 0}


@pytest.mark.parametrize("move_first", [False, True])
def test_b58_log_order_decides_between_a_move_and_its_deadline(
    move_first: bool,
) -> None:
    """In one tick one of them comes first and the other is judged after it; both
    replicas, and a replay, agree."""
    owner, follower = pair(clock())
    match = owner.seated("clock")
    owner.clock.ms = TURN_MS
    move = (ALICE, dispatch(7, match, "0", 1, "move", base=0))
    owner.replicas.automatic = False
    if move_first:
        owner.supervisor.handle_batch([move])
        owner.supervisor.tick(TURN_MS)
    else:
        owner.supervisor.tick(TURN_MS)
        owner.supervisor.handle_batch([move])
    owner.replicas.automatic = True
    owner.replicas.settle()
    told = outcomes([frame for _, frame in owner.outlet.take()])
    state = state_at(owner, match)
    if move_first:
        assert told == ["accepted"]
        assert state.snapshot.G == {"lapses": 0, "moves": 1}
    else:
        # A lapse changes neither the position nor who may act: the move still stands.
        assert told == ["accepted"]
        assert state.snapshot.G == {"lapses": 1, "moves": 1}
    assert state_at(follower, match) == state
    records = owner.states.records(match, 0, 1 << 20)
    assert replay_match(state.machine, records) == state


def test_b64_what_the_standby_refuses_is_seen_by_nobody() -> None:
    """The mover is told `not_committed`, no view leaves, and memory equals the log."""
    owner, follower = pair(race())
    match = owner.seated("race")
    owner.tell((BOB, Sync(8, match, 1)))
    owner.replicas.automatic = False
    committed, seq = state_at(owner, match), owner.replicas.seq
    owner.act(match, "0", 1, "keep")
    assert owner.outlet.take() == []
    owner.demote(unsent_from=seq + 1)  # the write failed here, and was sent to nobody
    [(_, told), *rest] = owner.outlet.take()
    assert isinstance(told, Refused)
    assert told.code == "not_committed"
    assert not any(isinstance(frame, ViewUpdate) for _, frame in rest)
    assert state_at(owner, match) is committed
    owner.replicas.automatic = True
    owner.serve(3, seq=seq)
    owner.take_seats(match)
    [answer] = owner.act(match, "0", 1, "keep")
    assert isinstance(answer, Accepted)
    assert answer.revision == 1
    assert state_at(owner, match) == state_at(follower, match)
    records = owner.states.records(match, 0, 1 << 20)
    assert [record.index for record in records] == [0, 1, 2, 3]
    assert replay_match(committed.machine, records) == state_at(owner, match)


@pytest.mark.parametrize("survives", [False, True])
def test_b82_a_seat_is_free_or_held_never_half(survives: bool) -> None:
    """The owner dies while the seat's record is on its way: it is there, or it is not,
    and who asks again with the same token sits down either way."""
    owner, follower = pair(race())
    match = owner.create("race")
    owner.replicas.automatic = False
    assert owner.tell((ALICE, TakeSeat(3, match, 1, "0", TOKEN_A))) == []
    owner.followers.clear()
    tail = tuple(owner.replicas.appended)
    if survives:
        follower.host.committed(Committed(SHARD, tail))
        follower.replicas.seq = owner.replicas.seq
    follower.serve(2)
    seat = state_at(follower, match).seats["0"]
    assert bool(seat.token_hash) is survives
    assert bool(seat.window.sessions) is survives
    refused = outcomes(follower.tell((ALICE, dispatch(4, match, "0", 1, "keep"))))
    assert refused == ["resume_seat" if survives else "not_seated"]
    other = follower.tell((BOB, TakeSeat(5, match, 1, "0", TOKEN_B)))
    if survives:
        assert outcomes(other) == ["seat_taken"]
        [seated] = follower.tell((ALICE, TakeSeat(6, match, 1, "0", TOKEN_A)))
        assert isinstance(seated, Seated)
        assert seated.session == 1
    else:
        assert isinstance(other[0], Seated)  # it was free, and is Bob's now
        again = follower.tell((ALICE, TakeSeat(6, match, 1, "0", TOKEN_A)))
        assert outcomes(again) == ["seat_taken"]


def test_a_storm_of_repeats_over_takeovers_applies_each_action_once() -> None:
    """Two nodes pass the match back and forth; every action is sent again and again."""
    nodes = list(pair(race()))
    match = nodes[0].seated("race")
    epochs = itertools.count(2)
    for action in range(1, 12):
        owner, follower = nodes
        asked = dispatch(5, match, "0", action, "keep")
        answers = [owner.tell((ALICE, asked)) for _ in range(3)]
        owner.demote()
        owner.followers.clear()
        follower.followers.append(owner)
        follower.serve(next(epochs), seq=owner.replicas.seq)
        follower.take_seats(match)
        answers += [follower.tell((ALICE, asked)) for _ in range(3)]
        assert len({str(answer) for answer in answers}) == 1
        nodes.reverse()
    assert state_at(nodes[0], match).revision == 11
    assert state_at(nodes[0], match) == state_at(nodes[1], match)
