"""What a page has missed is told step by step also by a node that did not do it."""

from __future__ import annotations

from typing import Any

from hotseat.runtime.codec import unpack
from hotseat.runtime.frame import Sync, ViewUpdate
from hotseat.runtime.journal import Checkpointed
from hotseat.runtime.route import Route

from ..sample_games import race
from .stage import ReplicaNode, fail_over, pair


def shown(node: ReplicaNode, match: str, since: int, **more: Any) -> ViewUpdate:
    watcher = Route("gateway")
    [frame] = node.tell((watcher, Sync(9, match, 1, since=since, whole=True, **more)))
    assert isinstance(frame, ViewUpdate), frame
    return frame


def steps(node: ReplicaNode, match: str, since: int) -> list[Any]:
    return list(unpack(shown(node, match, since).steps))


def moves(node: ReplicaNode, match: str, first: int, count: int) -> None:
    """Actions from the one with the number `first` on, by both seats in turn."""
    for number in range(first, first + count):
        node.act(match, str(number % 2), number // 2 + 1, "add", 1)


def save(node: ReplicaNode) -> None:
    """The states as they are now are written, and nothing else of them is kept."""
    node.clock.ms += 60_000
    node.states.sweep(node.clock.ms)
    given = node.states.checkpoint(node.clock.ms, 1 << 20)
    # The stage keeps no log on its disk, so nothing is cut off it.
    ops = [op for op in given if not isinstance(op, Checkpointed)]
    node.disk.begin(1, ops)
    node.disk.sync_upto(1)
    node.states.written(ops)


def test_a_new_owner_tells_the_steps_that_were_missed() -> None:
    """They are those that the former one would have told, to the last word; and they
    go on with what the new one does itself."""
    owner, follower = pair(race(goal=1_000))
    match = owner.seated("race")
    moves(owner, match, 0, 6)
    told = steps(owner, match, 2)
    assert [step["revision"] for step in told] == [3, 4, 5, 6]
    fail_over(owner, follower)
    assert steps(follower, match, 2) == told
    follower.take_seats(match)
    moves(follower, match, 6, 1)
    assert [step["revision"] for step in steps(follower, match, 1)] == [*range(2, 8)]
    assert steps(follower, match, 7) == []


def test_what_was_not_missed_is_not_played_again() -> None:
    """A page that has seen all costs the new owner nothing, nor does a client that asks
    for no pages; and what could not be told once is not tried again."""
    owner, follower = pair(race(goal=1_000))
    match = owner.seated("race")
    moves(owner, match, 0, 6)
    fail_over(owner, follower)
    asked: list[int] = []
    batches = follower.states.batches

    def counted(match: str, since: int, records_max: int) -> Any:
        asked.append(since)
        return batches(match, since, records_max)

    follower.states.batches = counted  # type: ignore[method-assign]
    shown(follower, match, 6)
    shown(follower, match, -1)
    follower.tell((Route("player"), Sync(9, match, 1, since=3)))
    assert asked == []
    for _ in range(3):
        steps(follower, match, 3)
    assert asked == [3]


def test_a_state_that_was_saved_later_leads_to_the_view_alone() -> None:
    """What happened before the newest saved state is played again only if the match is
    short; else the page is shown how matters stand, as it is after too many steps."""
    owner, follower = pair(race(goal=10_000))
    match = owner.seated("race")
    moves(owner, match, 0, 70)
    save(follower)
    moves(owner, match, 70, 5)
    fail_over(owner, follower)
    assert steps(follower, match, 68) == []
    assert [step["revision"] for step in steps(follower, match, 71)] == [72, 73, 74, 75]
    assert steps(follower, match, 1) == []
    assert shown(follower, match, 1).revision == 75


def test_a_short_match_is_told_from_its_beginning() -> None:
    """There the records from the first on are few enough."""
    owner, follower = pair(race(goal=1_000))
    match = owner.seated("race")
    moves(owner, match, 0, 10)
    save(follower)
    fail_over(owner, follower)
    assert [step["revision"] for step in steps(follower, match, 0)] == [*range(1, 11)]
