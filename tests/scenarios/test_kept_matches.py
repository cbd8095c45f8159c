"""Scenarios of what a node holds of its matches: restarts, outages, tiers, copies that
differ. On the real hosting and codecs, a disk in memory, and no process."""

from __future__ import annotations

from typing import Any

from hotseat.engine.definition import (
    Game,
    define_game,
    event,
    state,
    transition,
    views,
)
from hotseat.engine.playback import replay_log, verify_records
from hotseat.engine.record import Record, RecordKind
from hotseat.runtime.command import Act, Applied, Credited, CreditOutage, FireDeadline
from hotseat.runtime.frame import Sync, ViewUpdate
from hotseat.runtime.hosting.options import HostingOptions
from hotseat.runtime.match import decide
from hotseat.runtime.options import MatchOptions
from hotseat.runtime.route import Route
from hotseat.runtime.subscribers import Subscribers
from hotseat.runtime.testing.memory_journal import MemoryDisk

from ..runtime.sample_games import TURN_MS, clock, race
from ..runtime.states.stage import EPOCH, SHARD, Log, Node, digests, same
from ..runtime.states.test_apply import counting, played
from ..runtime.test_credit import timed

DAY_S = 24 * 60 * 60


def move(log: Log, match: str, seat: str, action: int) -> None:
    """A move in the game of clocks."""
    log.decide(match, Act(seat, 1, action, "move"))


def all_records(node: Node, match: str) -> list[Record]:
    """The archive of a match."""
    records: list[Record] = []
    while page := node.states.records(match, len(records), 64 * 1024):
        records += page
    return records


def test_b60_a_timeout_is_in_the_log_like_a_move() -> None:
    """B60: after a restart revision 5 has the timeout's effect, and the match goes on;
    a replay of its log says the same."""
    for saved in (False, True):
        log = Log(clock())
        log.create("a")
        for action in range(1, 5):
            log.now_ms += 100
            move(log, "a", "0", action)
        log.now_ms += TURN_MS
        log.decide("a", FireDeadline(4))
        node = Node(clock())
        node.follow(log)
        if saved:
            node.checkpoint()
        node.restart()
        kept = node.state("a")
        assert (kept.revision, kept.snapshot.G["lapses"]) == (5, 1)
        asked = Act("1", 1, 1, "move", base_revision=5)
        assert isinstance(decide(kept, asked, log.now_ms).answer, Applied)
        assert decide(kept, FireDeadline(4), log.now_ms).change is None
        records = all_records(node, "a")
        assert records[-1].kind is RecordKind.TIMEOUT
        frames = list(verify_records(log.machine, records))
        assert frames[-1].snapshot == kept.snapshot
        assert replay_log(log.machine.game, records).revision == 5


def test_b61_an_outage_is_not_charged_to_the_clock_of_whoever_must_move() -> None:
    """B61: 12 s without a server in A's move: the next owner credits them, once, in
    the log; both seats are told the new deadline, and a replay agrees."""
    log = Log(timed())
    log.create("a")
    log.now_ms += 4_000
    move(log, "a", "0", 1)
    deadline_ms = log.states["a"].armed_ms
    assert deadline_ms is not None
    node = Node(timed())
    node.follow(log)
    node.restart()
    log.now_ms += 12_000  # of which nobody saw anything
    kept = node.state("a")
    watching = Subscribers(EPOCH, MatchOptions())
    for number, seat in enumerate(("0", "1")):
        watching.add(Route(seat), Sync(number + 1, "a", EPOCH, seat, 1))
    watching.flush(kept)
    decision = decide(kept, CreditOutage(12_000), log.now_ms)
    assert decision.answer == Credited(12_000)
    log.decide("a", CreditOutage(12_000))
    node.follow(log)
    told = [frame for _, frame in watching.flush(node.state("a"))]
    assert [f.deadline_ms for f in told if isinstance(f, ViewUpdate)] == [
        deadline_ms + 12_000
    ] * 2
    assert decide(node.state("a"), FireDeadline(1), log.now_ms).state.armed_ms
    log.now_ms += 3_000
    move(log, "a", "1", 1)
    node.follow(log)
    node.restart()
    assert same(node.state("a"), log.states["a"])
    assert node.state("a").snapshot.G["at"] == log.now_ms - 12_000
    assert replay_log(log.machine.game, all_records(node, "a")).revision == 2


class FaultyDisk(MemoryDisk):
    """A disk on which one match's state cannot be read: not corrupt, it just fails."""

    failing_match = ""

    def state(self, match: str) -> bytes | None:
        if match == self.failing_match:
            raise OSError("the sector does not answer")
        return super().state(match)


def test_b71_a_match_that_cannot_be_recovered_costs_no_other() -> None:
    """B71: it backs off, is set apart, and shown; the others start; nothing of it is
    lost, so that it lives again when it can be read."""
    disk = FaultyDisk()
    log = played(Log(), "a", "b", "c")
    node = Node(disk=disk, options=HostingOptions(wake_attempts=3))
    node.follow(log)
    node.checkpoint()
    disk.failing_match = "a"
    log.act("a")
    node.follow(log)
    node.restart()
    for _ in range(20):
        node.pass_time(60)
    lines = {line.match: line.quarantined for line in node.states.lines(SHARD)}
    assert lines == {"a": "recovery_failed", "b": "", "c": ""}
    statistics = node.states.statistics()
    assert (statistics.quarantined, statistics.wake_failures) == (1, 3)
    for match in "bc":
        assert same(node.state(match), log.states[match])
    node.checkpoint()
    disk.failing_match = ""
    node.restart()
    assert same(node.state("a"), log.states["a"])
    assert node.digests("a") == digests(log, "a")


def test_b71_a_game_that_was_deployed_broken_costs_its_own_matches_alone() -> None:
    """B71: what raises in each replay of them sets them apart; mended, they live."""

    def broken(ctx: Any) -> Any:
        raise RuntimeError("deployed on a Friday")

    log = played(Log(counting()), "a")
    others = played(Log(race(), shard=SHARD + 1), "b")
    node = Node(counting(), race())
    node.follow(log)
    node.applied = 0
    node.follow(others)
    mended = counting().transitions[0].resolve
    node.restart(_with_resolver(broken), race())
    node.states.get("a")
    assert node.line("a").quarantined == "divergent"
    assert same(node.state("b"), others.states["b"])
    node.restart(_with_resolver(mended), race())
    assert same(node.state("a"), log.states["a"])


def _with_resolver(resolve: Any) -> Game:
    return define_game(
        name="counting",
        version="1",
        max_players=2,
        events={"add": event()},
        initial="play",
        setup=lambda ctx: {"total": 0},
        states={"play": state(active_players=["0"])},
        transitions=[transition("add", "play", "play", resolve)],
        views=views(public=lambda ctx: ctx.G),
    )


def test_b77_two_thousand_matches_come_and_go() -> None:
    """B77: after their time nothing of them is in memory, and the archive is there."""
    node = Node(race(goal=2))
    log = Log(race(goal=2))
    for number in range(2_000):
        log.create(f"m{number:04}")
        log.act(f"m{number:04}", 2)
        if number % 100 == 99:
            node.follow(log)
    assert node.states.statistics().hot == 2_000
    node.checkpoint()
    node.pass_time(10 * 60)
    statistics = node.states.statistics()
    assert (statistics.matches, statistics.hot, statistics.tail_bytes) == (0, 0, 0)
    assert (statistics.dirty, statistics.put_away) == (0, 2_000)
    for match in ("m0000", "m0777", "m1999"):
        records = all_records(node, match)
        assert replay_log(log.machine.game, records).result == {"winner": "0"}
    assert node.states.statistics().matches == 0


def test_b78_a_correspondence_match_sleeps_and_wakes() -> None:
    """B78: 8 days without anybody: on disk only, through a restart too; then a move, at
    the revision where it was."""
    log = played(Log(), "a")
    node = Node()
    node.follow(log)
    node.checkpoint()
    node.pass_time(DAY_S)
    assert node.states.statistics().hot == 0
    node.restart()
    node.pass_time(7 * DAY_S)
    assert node.states.statistics().hot == 0
    assert node.states.statistics().matches == 1
    kept = node.state("a")
    assert kept.revision == log.states["a"].revision == 3
    log.now_ms = node.now_ms
    log.act("a")
    node.follow(log)
    assert node.state("a").revision == 4
    assert same(node.state("a"), log.states["a"])


def test_b84_a_standby_that_differs_is_told_and_rebuilt() -> None:
    """B84: an impure rule: the alarm names the record; the match is not served from
    that copy, is rebuilt from the owner's, and the others are."""
    log = played(Log(counting()), "a", "b", actions=0)
    owner, standby = Node(counting()), Node(counting(step=2))
    for _ in range(3):
        log.act("a")
    owner.own(log)
    standby.follow(log)
    [alarm] = standby.states.take_alarms()
    assert (alarm.shard, alarm.code) == (SHARD, "divergent")
    assert "match a: record 3" in alarm.message
    assert standby.line("a").quarantined == "divergent"
    assert same(standby.state("b"), log.states["b"])
    assert standby.states.take_wanted() == [(SHARD, "a")]
    for piece in owner.states.state_pieces("a"):
        standby.states.copied(SHARD, piece)
    assert same(standby.state("a"), log.states["a"])
    assert standby.digests("a") == owner.digests("a") == digests(log, "a")
