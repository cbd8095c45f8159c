"""Scenarios of matches at a node that hosts them: what is left of them in memory, and
how they come back. The real supervisor, actors and states, driven step by step; the
shard's log is the test's, and the disk is in memory."""

from __future__ import annotations

import gc
from types import FunctionType, ModuleType
from typing import Any

from hotseat.engine.playback import replay_log
from hotseat.runtime.frame import Accepted, FetchLog, LogPage, Sync, ViewUpdate
from hotseat.runtime.journal import Checkpointed

from ..runtime.hosting import ALICE, BOB
from ..runtime.replicated.stage import ReplicaNode
from ..runtime.sample_games import TURN_MS, clock, race

DAY_MS = 24 * 60 * 60 * 1_000
_tickets = iter(range(1, 1 << 30))


def pass_time(node: ReplicaNode, ms: int, turns: int = 40) -> None:
    """Time passes, and whatever a node does now and then is done."""
    for _ in range(turns):
        node.clock.ms += ms // turns
        node.supervisor.tick(node.clock.ms)
        node.states.sweep(node.clock.ms)
        while ops := node.states.checkpoint(node.clock.ms, 1 << 20):
            ticket = next(_tickets)
            # The stage keeps no log on its disk, so nothing is cut off it.
            kept = [op for op in ops if not isinstance(op, Checkpointed)]
            node.disk.begin(ticket, kept)
            node.disk.sync_upto(ticket)
            node.states.written(kept)


def reachable(*roots: Any, without: Any) -> int:
    """How many objects hang on these."""
    seen = {id(one) for one in without}
    waiting = list(roots)
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, (type, ModuleType, FunctionType)):
            continue
        seen.add(id(value))
        waiting += gc.get_referents(value)
    return len(seen)


def test_b77_of_matches_that_are_over_nothing_is_left_but_their_archive() -> None:
    """B77: matches are played, watched, and end; after their time no actor, timer,
    watcher or state is there, and their logs can be read."""
    game = race(goal=2)
    node = ReplicaNode(game)
    node.serve(1)

    def play(first: int, count: int) -> list[str]:
        played = []
        for number in range(first, first + count):
            match = node.seated("race", f"key {number}")
            played.append(match)
            node.tell((BOB, Sync(8, match, 1)))
            [answer, *_] = node.act(match, "0", 1, "add", 2)
            assert isinstance(answer, Accepted | ViewUpdate)
        node.supervisor.peer_gone(BOB.peer)
        pass_time(node, 60 * 60 * 1_000)
        return played

    def left() -> int:
        node.outlet.take()
        return reachable(
            node.supervisor, node.states, node.committer, without=[node.disk, node]
        )

    play(0, 50)
    before = left()
    played = play(50, 500)
    assert left() - before < 200  # an actor alone is more than 50
    statistics = node.supervisor.statistics()
    assert (statistics.running, statistics.resident, statistics.deadlines) == (0, 0, 0)
    assert (statistics.watchers, statistics.quarantined) == (0, 0)
    assert node.states.statistics().matches == 0
    for match in (played[0], played[-1]):
        [page] = node.tell((ALICE, FetchLog(4, match, 1)))
        assert isinstance(page, LogPage)
        log = node.supervisor.committed_log(match)
        assert log is not None
        assert replay_log(game, log.records.read(0, 1 << 20)).result == {"winner": "0"}


def test_b78_a_correspondence_match_is_woken_by_a_move_after_days() -> None:
    """B78: nobody is connected for 8 days; it is on disk only, and at the same revision
    when somebody comes back."""
    node = ReplicaNode(race())
    node.serve(1)
    match = node.seated("race")
    node.act(match, "0", 1, "add", 1)
    revision = node.view(match).revision
    node.supervisor.peer_gone(ALICE.peer)
    node.supervisor.peer_gone(BOB.peer)
    pass_time(node, 8 * DAY_MS)
    assert node.supervisor.actor(match) is None
    assert node.states.statistics().hot == 0
    shown = node.view(match)
    assert isinstance(shown, ViewUpdate)
    assert shown.revision == revision == 1
    node.take_seats(match)
    [answer] = node.act(match, "1", 1, "add", 1)
    assert isinstance(answer, Accepted)
    assert answer.revision == 2


def test_b60_a_deadline_wakes_a_match_that_sleeps() -> None:
    """B60: it fires though the match is on disk only, and the match goes on behind
    it."""
    node = ReplicaNode(clock(deadline=lambda ctx: ctx.now + DAY_MS))
    node.serve(1)
    match = node.seated("clock")
    node.act(match, "0", 1, "move")
    pass_time(node, DAY_MS - TURN_MS)
    assert node.states.statistics().hot == 0
    pass_time(node, 2 * TURN_MS)
    shown = node.view(match)
    assert isinstance(shown, ViewUpdate)
    assert shown.revision == 2
    node.take_seats(match)
    [answer] = node.act(match, "0", 2, "move")
    assert isinstance(answer, Accepted)
    log = node.supervisor.committed_log(match)
    assert log is not None
    kinds = [record.kind.value for record in log.records.read(0, 1 << 20)]
    assert kinds == ["create", "seat", "seat", "action", "timeout", "action"]
