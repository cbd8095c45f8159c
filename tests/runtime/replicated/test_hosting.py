"""Replicated matches at owner and follower: what players are told, and when."""

from __future__ import annotations

import pytest

from hotseat.runtime.errors import ProposalsFull, TooFewCopies
from hotseat.runtime.frame import (
    Accepted,
    Created,
    FetchLog,
    LogPage,
    Refused,
    Seated,
    Sync,
    TakeSeat,
    ViewUpdate,
)
from hotseat.runtime.match_state import MatchState
from hotseat.runtime.options import SupervisorOptions
from hotseat.runtime.replication.output import Committed

from ..hosting import ALICE, BOB, TOKEN_A, dispatch
from ..node_stage import create_frame
from ..sample_games import TURN_MS, clock, race
from .stage import SHARD, ReplicaNode, fail_over, pair


def test_an_action_is_answered_when_it_is_committed() -> None:
    """Neither its sender nor a watcher learns of it before."""
    owner, _ = pair(race())
    match = owner.seated("race")
    owner.tell((BOB, Sync(8, match, 1)))
    owner.replicas.automatic = False
    assert owner.act(match, "0", 1, "keep") == []
    owner.replicas.commit()
    kinds = [type(frame) for _, frame in owner.outlet.take()]
    assert kinds == [Accepted, ViewUpdate]


def test_a_wake_up_is_one_proposal() -> None:
    """What the matches of one drain caused goes to the replicas together."""
    owner, _ = pair(race())
    one, two = owner.seated("race", "one"), owner.seated("race", "two")
    before = owner.replicas.proposals
    owner.tell(
        (ALICE, dispatch(1, one, "0", 1, "keep")),
        (ALICE, dispatch(2, two, "0", 1, "keep")),
        (ALICE, dispatch(3, one, "0", 2, "keep")),
    )
    assert owner.replicas.proposals == before + 1


def test_a_refusal_waits_for_its_confirmation() -> None:
    """A deposed owner must not say no by what it remembers."""
    owner, _ = pair(race())
    match = owner.seated("race")
    owner.replicas.automatic = False
    assert owner.act(match, "1", 1, "keep") == []
    owner.replicas.confirm_all()
    [(_, frame)] = owner.outlet.take()
    assert isinstance(frame, Refused)
    assert frame.code == "inactive_player"


def test_one_confirmation_serves_a_whole_wake_up() -> None:
    """However many refusals there are, of however many matches."""
    owner, _ = pair(race())
    one, two = owner.seated("race", "one"), owner.seated("race", "two")
    before = owner.replicas.token
    owner.tell(
        (BOB, dispatch(1, one, "1", 1, "keep")),
        (BOB, dispatch(2, one, "1", 2, "keep")),
        (BOB, dispatch(3, two, "1", 1, "keep")),
    )
    assert owner.replicas.token == before + 1


def test_confirmations_do_not_pile_up() -> None:
    """While the followers are silent few rounds are under way; all are answered."""
    owner, _ = pair(race())
    match = owner.seated("race")
    owner.replicas.automatic = False
    before = owner.replicas.token
    for action in range(1, 41):
        owner.tell((BOB, dispatch(action, match, "1", action, "keep")))
    assert owner.replicas.token - before <= 8
    owner.replicas.confirm_all()
    owner.replicas.confirm_all()
    told = [frame.request for _, frame in owner.outlet.take() if frame.request]
    assert told == list(range(1, 41))


def test_a_match_that_is_not_here_is_confirmed_too() -> None:
    """`unknown_match` from a deposed owner would deny what the new one created."""
    owner, _ = pair(race())
    owner.replicas.automatic = False
    unknown = "a" * 26
    assert owner.tell((ALICE, Sync(3, unknown, 1))) == []
    owner.demote()
    [(_, frame)] = owner.outlet.take()
    assert isinstance(frame, Refused)
    assert frame.code == "retry"


def test_a_deposed_owner_tells_what_may_have_happened() -> None:
    """`retry` for what others have seen, `not_committed` for what nobody has."""
    owner, _ = pair(race())
    match = owner.seated("race")
    owner.replicas.automatic = False
    owner.act(match, "0", 1, "keep")
    sent = owner.replicas.seq
    owner.act(match, "0", 2, "keep")
    owner.demote(unsent_from=sent + 1)
    codes = [frame.code for _, frame in owner.outlet.take() if type(frame) is Refused]
    assert codes == ["retry", "not_committed"]
    [moved] = owner.act(match, "0", 3, "keep")
    assert type(moved).__name__ == "Moved"


def test_a_repeat_is_told_what_is_known_of_the_first() -> None:
    """It tells of the same record: `not_committed` would deny what others have seen."""
    owner, _ = pair(race())
    match = owner.seated("race")
    owner.replicas.automatic = False
    owner.act(match, "0", 1, "keep")
    sent = owner.replicas.seq
    owner.act(match, "0", 2, "keep")
    owner.act(match, "0", 1, "keep")  # again
    owner.act(match, "1", 1, "keep")  # refused, by what may never be
    owner.demote(unsent_from=sent + 1)
    codes = [frame.code for _, frame in owner.outlet.take() if type(frame) is Refused]
    assert codes == ["retry", "not_committed", "retry", "retry"]


def test_a_follower_goes_on_where_the_owner_was() -> None:
    """Same revision, same sessions; a repeated action gets its first answer."""
    owner, follower = pair(race())
    match = owner.seated("race")
    [first] = owner.act(match, "0", 1, "keep")
    fail_over(owner, follower)
    assert follower.refusal(follower.act(match, "0", 1, "keep")) == "resume_seat"
    [seated] = follower.tell((ALICE, TakeSeat(2, match, 1, "0", TOKEN_A, session=1)))
    assert isinstance(seated, Seated)
    assert (seated.session, seated.next_action) == (1, 2)
    assert follower.act(match, "0", 1, "keep") == [first]
    [second] = follower.act(match, "0", 2, "keep")
    assert isinstance(second, Accepted)
    assert isinstance(first, Accepted)
    assert second.revision == first.revision + 1


def test_what_was_not_committed_may_yet_be_by_the_next_owner() -> None:
    """It is applied where no actor knows it, and dedupe answers its repeat."""
    owner, follower = pair(race())
    match = owner.seated("race")
    owner.replicas.automatic = False
    owner.act(match, "0", 1, "keep")
    owner.followers.clear()
    tail = owner.replicas.commit()
    follower.replicas.seq = owner.replicas.seq
    follower.host.committed(Committed(SHARD, tail))
    follower.serve(2)
    follower.take_seats(match)
    [answer] = follower.act(match, "0", 1, "keep")
    assert isinstance(answer, Accepted)
    found = follower.states.get(match)
    assert isinstance(found, MatchState)
    assert found.revision == answer.revision == 1


def test_a_view_is_never_older_than_what_was_seen() -> None:
    """An owner that is behind says `retry` instead."""
    owner, follower = pair(race())
    match = owner.seated("race")
    owner.act(match, "0", 1, "keep")
    fail_over(owner, follower)
    view = follower.view(match, seen=1)
    assert isinstance(view, ViewUpdate)
    assert view.revision == 1
    ahead = follower.view(match, seen=2)
    assert isinstance(ahead, Refused)
    assert ahead.code == "retry"


def test_creation_is_idempotent_across_a_failover() -> None:
    """The new owner gives the first answer; with other content `key_reused`."""
    owner, follower = pair(race(), clock())
    match = owner.create("race")
    fail_over(owner, follower)
    [again] = follower.tell((ALICE, create_frame("race")))
    assert isinstance(again, Created)
    assert (again.match, again.epoch) == (match, 1)
    assert follower.refusal(follower.tell((ALICE, create_frame("clock")))) == (
        "key_reused"
    )
    assert follower.supervisor.statistics().activated == 0


def test_a_deadline_fires_once_at_the_new_owner() -> None:
    """Overdue, it fires at the first tick, stamped with its own time."""
    owner, follower = pair(clock())
    match = owner.seated("clock")
    fail_over(owner, follower)
    follower.clock.ms = 10 * TURN_MS
    follower.supervisor.tick(follower.clock.ms)
    found = follower.states.get(match)
    assert isinstance(found, MatchState)
    assert (found.revision, found.time_ms) == (1, TURN_MS)
    # The next one is due from then on, by the game's own reckoning: it fires too.
    revisions = []
    for _ in range(3):
        follower.supervisor.tick(follower.clock.ms)
        state = follower.states.get(match)
        assert isinstance(state, MatchState)
        revisions.append((state.revision, state.time_ms))
    assert revisions == sorted(set(revisions))


def test_a_move_that_comes_first_voids_the_deadline() -> None:
    """One that was armed from a line alone knows no revision; it is given one."""
    owner, follower = pair(clock())
    match = owner.seated("clock")
    fail_over(owner, follower)
    assert follower.supervisor.next_due_ms() == TURN_MS
    follower.take_seats(match)
    follower.clock.ms = TURN_MS - 1
    follower.act(match, "0", 1, "move")
    follower.clock.ms = TURN_MS
    follower.supervisor.tick(TURN_MS)
    found = follower.states.get(match)
    assert isinstance(found, MatchState)
    assert found.snapshot.G == {"lapses": 0, "moves": 1}


def test_idle_matches_give_up_their_actor_and_come_back() -> None:
    """First the task, then the actor; a message brings the match up again."""
    options = SupervisorOptions(rest_after_s=10, put_away_after_s=20)
    node = ReplicaNode(race(), options=options)
    node.serve(1)
    match = node.seated("race")
    node.clock.ms = 10_000
    node.supervisor.tick(node.clock.ms)
    statistics = node.supervisor.statistics()
    assert (statistics.running, statistics.resident) == (0, 1)
    node.clock.ms = 30_000
    node.supervisor.tick(node.clock.ms)
    assert node.supervisor.actor(match) is None
    assert node.supervisor.statistics().put_away == 1
    node.take_seats(match)
    [answer] = node.act(match, "0", 1, "keep")
    assert isinstance(answer, Accepted)
    assert node.supervisor.statistics().running == 1


def test_matches_are_counted_whether_they_have_an_actor_or_not() -> None:
    """What goes on, and what ended and is still in memory."""
    owner, follower = pair(race(goal=1))
    over = owner.seated("race", "over")
    owner.seated("race", "other")
    owner.act(over, "0", 1, "add", 1)
    assert owner.states.counts([SHARD]) == (1, 1)
    assert follower.states.counts([SHARD]) == (1, 1)
    assert owner.states.counts([]) == (0, 0)


def test_a_watched_match_keeps_its_actor() -> None:
    """Else its watcher would miss what comes."""
    options = SupervisorOptions(rest_after_s=1, put_away_after_s=1)
    node = ReplicaNode(race(), options=options)
    node.serve(1)
    match = node.seated("race")
    node.tell((BOB, Sync(8, match, 1)))
    for second in range(1, 10):
        node.clock.ms = second * 1_000
        node.supervisor.tick(node.clock.ms)
    assert node.supervisor.actor(match) is not None
    node.act(match, "0", 1, "keep")
    frames = node.act(match, "0", 2, "keep")
    assert any(isinstance(frame, ViewUpdate) for frame in frames)


def test_actors_give_way_to_one_another() -> None:
    """With as many as there may be, the one used longest ago is put away."""
    options = SupervisorOptions(matches_max=2, ended_kept_max=2)
    node = ReplicaNode(race(), options=options)
    node.serve(1)
    matches = [node.seated("race", f"key {number}") for number in range(4)]
    statistics = node.supervisor.statistics()
    assert statistics.running + statistics.resident == 2
    for match in matches:
        view = node.view(match)
        assert isinstance(view, ViewUpdate)


def test_the_log_of_a_match_without_an_actor_is_read() -> None:
    """It comes from the store, though another node made it."""
    owner, follower = pair(race(goal=1))
    match = owner.seated("race")
    owner.act(match, "0", 1, "add", 1)
    fail_over(owner, follower)
    log = follower.supervisor.committed_log(match)
    assert log is not None
    assert log.ended
    assert log.status.value == "asleep"
    [page] = follower.tell((ALICE, FetchLog(4, match, 1)))
    assert isinstance(page, LogPage)
    assert page.next is None
    assert len(log.records) == 4


def test_a_match_that_is_set_apart_answers_its_code() -> None:
    """With an actor or without; creating it again too."""
    owner, _ = pair(race())
    match = owner.seated("race")
    owner.supervisor.set_apart(match, "divergent")
    assert owner.refusal(owner.act(match, "0", 1, "keep")) == "divergent"
    owner.demote()
    owner.serve(2)
    assert owner.refusal(owner.act(match, "0", 1, "keep")) == "divergent"
    assert owner.refusal(owner.tell((ALICE, create_frame("race")))) == "divergent"


@pytest.mark.parametrize(
    ("why", "code"),
    [(ProposalsFull("full"), "busy"), (TooFewCopies("one"), "degraded")],
)
def test_what_cannot_be_proposed_keeps_its_place(
    why: ProposalsFull | TooFewCopies, code: str
) -> None:
    """What was judged waits and is committed in its order; what comes is refused."""
    owner, _ = pair(race())
    match = owner.seated("race")
    owner.replicas.refusing = why
    assert owner.act(match, "0", 1, "keep") == []
    assert owner.refusal(owner.act(match, "0", 2, "keep")) == code
    owner.replicas.refusing = None
    owner.supervisor.tick(0)
    [answer] = [frame for _, frame in owner.outlet.take()]
    assert isinstance(answer, Accepted)
    [later] = owner.act(match, "0", 2, "keep")
    assert isinstance(later, Accepted)


@pytest.mark.parametrize("room", [1, 3, 7])
def test_more_than_may_ever_wait_goes_in_parts(room: int) -> None:
    """A queue longer than the room for it does not stand still for ever."""
    owner, _ = pair(race())
    match = owner.seated("race")
    owner.replicas.refusing = ProposalsFull("full")
    asked = [(ALICE, dispatch(n, match, "0", n, "keep")) for n in range(1, 21)]
    assert owner.tell(*asked) == []
    owner.replicas.refusing = None
    owner.replicas.room = room
    for _ in range(30):
        owner.supervisor.tick(0)
    answers = [frame for _, frame in owner.outlet.take()]
    assert [type(answer) for answer in answers] == [Accepted] * 20
    assert owner.replicas.proposals > 20 // room


def test_statistics_tell_what_waits() -> None:
    """Records on their way, and confirmations."""
    owner, _ = pair(race())
    match = owner.seated("race")
    owner.replicas.automatic = False
    owner.act(match, "0", 1, "keep")
    owner.tell((BOB, dispatch(3, match, "1", 1, "keep")))
    statistics = owner.committer.statistics()
    assert (statistics.proposed, statistics.queued, statistics.asked) == (1, 0, 1)
    owner.replicas.commit()
    owner.replicas.confirm_all()
    statistics = owner.committer.statistics()
    assert (statistics.proposed, statistics.asked, statistics.confirmed) == (0, 0, 1)
