"""Outages that are credited when another node takes over."""

from __future__ import annotations

import pytest

from hotseat.engine.definition import Game, define_game, state, timeout, views
from hotseat.nodes.supervisor.outages import OUTAGE_MS_MIN
from hotseat.runtime.frame import Sync, ViewUpdate
from hotseat.runtime.hosting.replica_host import ReplicaHost
from hotseat.runtime.match_state import MatchState

from ..hosting import ALICE, BOB
from ..sample_games import TURN_MS
from .stage import ReplicaNode, fail_over, pair


def patient(*, credits: bool = True) -> Game:
    """Each turn has a deadline; an outage is credited, or not."""
    return define_game(
        name="patient",
        max_players=2,
        events=["move"],
        initial="play",
        setup=lambda ctx: {"lapses": 0},
        states={
            "play": state(
                active_players=["0", "1"], deadline=lambda ctx: ctx.now + TURN_MS
            )
        },
        transitions=[
            timeout("play", "play", lambda ctx: {"G": {"lapses": ctx.G["lapses"] + 1}}),
        ],
        views=views(public=lambda ctx: ctx.G),
        credit_outages=credits,
    )


def lapses(node: ReplicaNode, match: str) -> int:
    found = node.states.get(match)
    assert isinstance(found, MatchState)
    lapses: int = found.snapshot.G["lapses"]
    return lapses


def test_nobody_loses_the_time_of_an_outage() -> None:
    """The deadline moves by its length, and both seats see where to."""
    owner, follower = pair(patient())
    match = owner.seated("patient")
    owner.clock.ms = 400
    follower.clock.ms = 400 + 12_000
    fail_over(owner, follower, last_heard_ms=400)
    follower.take_seats(match)
    frames = follower.tell((ALICE, Sync(3, match, 1, "0", 1)))
    frames += follower.tell((BOB, Sync(4, match, 1, "1", 1)))
    deadlines = {f.deadline_ms for f in frames if isinstance(f, ViewUpdate)}
    assert deadlines == {TURN_MS + 12_000}
    follower.supervisor.tick(follower.clock.ms)
    assert lapses(follower, match) == 0
    follower.clock.ms = TURN_MS + 12_000
    follower.supervisor.tick(follower.clock.ms)
    assert lapses(follower, match) == 1
    assert follower.supervisor.statistics().outages_credited == 1


@pytest.mark.parametrize(
    ("game", "outage_ms"),
    [(patient(credits=False), 12_000), (patient(), OUTAGE_MS_MIN - 1)],
)
def test_a_failover_is_no_outage_nor_does_every_game_care(
    game: Game, outage_ms: int
) -> None:
    """The deadline stays: overdue, it fires at once."""
    owner, follower = pair(game)
    match = owner.seated("patient")
    follower.clock.ms = TURN_MS + outage_ms
    fail_over(owner, follower, last_heard_ms=TURN_MS)
    follower.supervisor.tick(follower.clock.ms)
    assert lapses(follower, match) >= 1
    assert follower.supervisor.statistics().outages_credited == 0


def test_an_overdue_deadline_waits_for_the_credit() -> None:
    """Both are due at the takeover: the credit comes first, and voids the deadline."""
    owner, follower = pair(patient())
    match = owner.seated("patient")
    follower.clock.ms = 60_000
    fail_over(owner, follower, last_heard_ms=500)
    follower.supervisor.tick(60_000)
    assert lapses(follower, match) == 0
    assert follower.supervisor.next_due_ms() == TURN_MS + 59_500
    assert follower.supervisor.statistics().outages_owed == 0


def test_after_a_stop_of_everything_the_time_since_the_last_mark_counts() -> None:
    """Nobody was heard: the earlier process of this node was the last to serve."""
    owner, follower = pair(patient())
    match = owner.seated("patient")
    follower.host = ReplicaHost(
        follower.states,
        follower.committer,
        follower.supervisor,
        follower.clock,
        ask_state=lambda shard, match, now_ms: None,
        alarm=follower.alarms.append,
        now_ms=follower.clock.now_ms,
        alive_ms=700,
    )
    follower.clock.ms = 30_700
    fail_over(owner, follower)
    found = follower.states.get(match)
    assert isinstance(found, MatchState)
    assert found.armed_ms == TURN_MS + 30_000


def test_very_many_matches_are_credited_some_at_a_time() -> None:
    """The node's loop is not held; each is credited before its deadline can fire."""
    owner, follower = pair(patient())
    matches = [owner.create("patient", f"key {number}") for number in range(600)]
    follower.clock.ms = 60_000
    fail_over(owner, follower, last_heard_ms=0 + 1)
    assert 0 < follower.supervisor.statistics().outages_owed < 600
    for _ in range(3):
        follower.supervisor.tick(60_000)
    assert follower.supervisor.statistics().outages_owed == 0
    assert {lapses(follower, match) for match in matches} == {0}
    assert follower.supervisor.statistics().outages_credited == 600


def test_time_does_not_go_back_with_a_slower_clock() -> None:
    """The former owner's clock was 5 s ahead: the shard goes on by its time."""
    owner, follower = pair(patient())
    owner.clock.ms = 100_000
    match = owner.seated("patient")  # its deadline: TURN_MS later, by that clock
    owner.clock.ms += 200
    follower.clock.ms = 95_200
    fail_over(owner, follower, last_heard_ms=100_200)
    assert follower.supervisor.next_due_ms() == 95_000 + TURN_MS
    follower.take_seats(match)
    created = follower.create("patient", "another")
    found = follower.states.get(created)
    assert isinstance(found, MatchState)
    assert found.time_ms == 100_200
    follower.clock.ms = 95_000 + TURN_MS - 1
    follower.supervisor.tick(follower.clock.ms)
    assert lapses(follower, match) == 0
    follower.clock.ms += 1
    follower.supervisor.tick(follower.clock.ms)
    assert lapses(follower, match) == 1
    found = follower.states.get(match)
    assert isinstance(found, MatchState)
    assert found.time_ms == 100_000 + TURN_MS
    assert follower.supervisor.statistics().outages_credited == 0
