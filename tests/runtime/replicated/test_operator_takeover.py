"""Operators' commands around a change of owner: done once, or not at all."""

from __future__ import annotations

import pytest

from hotseat.runtime.command import (
    Answer,
    Applied,
    Denied,
    Edit,
    Intervention,
    ResignSeat,
    Terminate,
    Upgrade,
)
from hotseat.runtime.match import replay_match
from hotseat.runtime.match_state import MatchState
from hotseat.runtime.options import MatchOptions, SupervisorOptions

from ..hosting import ALICE
from ..node_stage import create_frame
from ..vault import FIRST, SECOND, find
from .stage import ReplicaNode, fail_over

COMMANDS = [
    Terminate("1", "ann", ""),
    Edit("1", "ann", "", [{"op": "replace", "path": "/total", "value": 40}]),
    Upgrade("1", "ann", "", "2"),
    ResignSeat("1", "ann", "", "0"),
]


def two() -> tuple[ReplicaNode, ReplicaNode, str]:
    """An owner, its follower, and a match of the first version with both seated."""
    allowed = SupervisorOptions(match=MatchOptions(allow_edits=True))
    owner, follower = (ReplicaNode(FIRST, SECOND, options=allowed) for _ in range(2))
    owner.followers.append(follower)
    owner.serve(1)
    frame = create_frame("vault", version="1")
    [created] = owner.tell((ALICE, frame))
    match = created.match  # type: ignore[union-attr]
    owner.take_seats(match)
    return owner, follower, match


def ask(node: ReplicaNode, match: str, asked: Intervention) -> list[Answer]:
    """What is told by the time that nothing is left to do."""
    answers: list[Answer] = []
    node.supervisor.ask(match, asked, answers.append)
    node.supervisor.work()
    return answers


def state_at(node: ReplicaNode, match: str) -> MatchState:
    found = node.states.get(match)
    assert isinstance(found, MatchState)
    return found


@pytest.mark.parametrize("asked", COMMANDS, ids=lambda asked: type(asked).__name__)
def test_a_command_whose_answer_was_lost_is_done_once(asked: Intervention) -> None:
    """The next owner gives the first answer, and all that came of it is there."""
    owner, follower, match = two()
    [first] = ask(owner, match, asked)
    assert isinstance(first, Applied)
    there = state_at(owner, match)
    fail_over(owner, follower)
    assert ask(follower, match, asked) == [first]
    assert state_at(follower, match) == there
    records = follower.states.records(match, 0, 1 << 20)
    machine = find(FIRST, SECOND)("vault", "1")
    assert machine is not None
    assert replay_match(machine, records, find(FIRST, SECOND)) == there


@pytest.mark.parametrize("asked", COMMANDS, ids=lambda asked: type(asked).__name__)
def test_a_command_that_nobody_has_seen_is_done_by_the_next_owner(
    asked: Intervention,
) -> None:
    """The old owner says that it did not happen, and the new one does it."""
    owner, follower, match = two()
    owner.replicas.automatic = False
    answers: list[Answer] = []
    unsent_from = owner.replicas.seq + 1
    owner.supervisor.ask(match, asked, answers.append)
    owner.supervisor.work()
    assert answers == []
    owner.demote(unsent_from=unsent_from)
    [lost] = answers
    assert isinstance(lost, Denied)
    assert lost.refusal.code == "not_committed"
    before = state_at(follower, match)
    fail_over(owner, follower)
    [done] = ask(follower, match, asked)
    assert done == Applied(before.revision + 1, before.index + 1)


def test_the_end_of_a_terminated_match_is_told_to_its_sinks_like_any_other() -> None:
    """It owes its result, at the next owner too, until its log says that it has it."""
    owner, follower, match = two()
    ask(owner, match, COMMANDS[0])
    fail_over(owner, follower)
    ended = state_at(follower, match)
    [line] = [line for line in follower.states.lines(0) if line.match == match]
    assert (line.ended, line.reported, line.armed_ms) == (True, False, None)
    assert follower.supervisor.note_delivered(match, ended.index)
    follower.supervisor.work()
    assert state_at(follower, match).reported
