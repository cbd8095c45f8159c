"""What is written of the matches, what a start finds, and what leaves the memory."""

from __future__ import annotations

import gc
from random import Random
from types import FunctionType, ModuleType
from typing import Any

import pytest

from hotseat.engine.replay.log_file import read_snapshot
from hotseat.runtime.command import Detach, NoteDelivered
from hotseat.runtime.control_plane import SHARDS_MAX
from hotseat.runtime.errors import JournalCorrupt, JournalFailed
from hotseat.runtime.hosting.hot_match import HotMatch
from hotseat.runtime.hosting.options import HostingOptions
from hotseat.runtime.hosting.replica_states import ReplicaStates
from hotseat.runtime.journal import Buried, Checkpointed, SavedState
from hotseat.runtime.match_state import MatchState
from hotseat.runtime.replica_runner import Leaving
from hotseat.runtime.replication.output import Appended, Commit
from hotseat.runtime.testing.memory_journal import MemoryDisk

from ..sample_games import race
from .stage import EPOCH, SHARD, Log, Node, digests, find, same
from .test_apply import counting, played

DAY_S = 24 * 60 * 60


def test_a_start_finds_what_a_checkpoint_saved() -> None:
    """States and history are there, and the log behind them is played on."""
    log = played(Log(), "a", "b")
    node = Node()
    node.follow(log)
    node.checkpoint()
    log.act("a")
    node.follow(log)
    node.restart()
    assert node.disk.recover().shards[SHARD].base_seq == len(log.entries) - 1
    for match in ("a", "b"):
        assert same(node.state(match), log.states[match])
        assert node.digests(match) == digests(log, match)
    assert node.codes() == []


def test_a_start_without_a_checkpoint_plays_the_log() -> None:
    """All that is committed is applied; what is not stays for the core to decide."""
    log = played(Log(), "a")
    node = Node()
    node.write((Appended(SHARD, tuple(log.entries)), Commit(SHARD, 4)))
    node.restart()
    assert node.state("a").index == 3
    for entry in log.entries:
        node.states.apply(SHARD, entry)
    assert same(node.state("a"), log.states["a"])


def test_a_checkpoint_is_made_in_slices_while_matches_go_on() -> None:
    """A state may be newer than the checkpoint; nothing is lost, nothing twice."""
    log = played(Log(), *"abcdef")
    node = Node()
    node.follow(log)
    node.now_ms += 60_000
    slices = 0
    done: list[Checkpointed] = []
    while ops := node.states.checkpoint(node.now_ms, 1):
        assert sum(isinstance(op, SavedState) for op in ops) <= 1
        done += [op for op in ops if isinstance(op, Checkpointed)]
        node.write(ops)
        slices += 1
        if slices <= 6:
            log.act("f")
            node.follow(log)
    assert slices >= 6
    assert done == [Checkpointed(SHARD, 36, EPOCH)]
    node.restart()
    for match in "abcdef":
        assert same(node.state(match), log.states[match])
        assert node.digests(match) == digests(log, match)


@pytest.mark.parametrize(
    "options",
    [
        HostingOptions(checkpoint_entries=12),
        HostingOptions(checkpoint_bytes=1_000),
        HostingOptions(checkpoint_age_s=2),
    ],
)
def test_a_checkpoint_is_due_by_entries_bytes_or_age(options: HostingOptions) -> None:
    """And not before: then there is nothing to write."""
    log = Log()
    log.create("a")
    node = Node(options=options)
    node.follow(log)
    assert node.states.checkpoint(node.now_ms + 1_000, 1 << 20) == ()
    for _ in range(9):
        log.act("a")
    node.follow(log)
    assert node.states.checkpoint(node.now_ms + 2_001, 1 << 20)


def test_everything_can_be_saved_at_once() -> None:
    """Before a stop: the next start plays nothing."""
    log = played(Log(), *"abc")
    node = Node()
    node.follow(log)
    while ops := node.states.checkpoint(node.now_ms, 1, everything=True):
        node.write(ops)
    assert node.disk.recover().shards[SHARD].entries == ()
    node.restart()
    for match in "abc":
        assert same(node.state(match), log.states[match])


def test_what_could_not_be_written_is_written_later() -> None:
    """A disk that fails loses nothing, not even what was given out before."""
    log = played(Log(), *"abc")
    node = Node()
    node.follow(log)
    node.now_ms += 60_000
    first = node.states.checkpoint(node.now_ms, 1)
    second = node.states.checkpoint(node.now_ms, 1)
    node.disk.failing = "disk_full"
    with pytest.raises(JournalFailed):
        node.write(first)
    node.states.failed(first)
    node.states.failed(second)
    log.act("b")
    node.follow(log, persist=False)
    node.disk.failing = ""
    node.disk.reopen()
    node.write((Appended(SHARD, (log.entries[-1],)), Commit(SHARD, len(log.entries))))
    node.checkpoint()
    assert node.states.statistics().tail_bytes == 0
    assert node.disk.recover().shards[SHARD].base_seq == len(log.entries)
    node.restart()
    for match in "abc":
        assert same(node.state(match), log.states[match])
        assert node.digests(match) == digests(log, match)


def test_records_are_read_across_what_is_stored_and_what_is_not() -> None:
    """Without a gap, from anywhere, one at least."""
    log = played(Log(), "a")
    node = Node()
    node.follow(log)
    node.checkpoint()
    log.act("a")
    log.act("a")
    node.follow(log)
    wanted = digests(log, "a")
    for first in range(len(wanted)):
        got = node.states.records("a", first, 1 << 20)
        assert [record.digest for record in got] == wanted[first:]
        assert len(node.states.records("a", first, 1)) == 1
    assert node.states.records("a", len(wanted), 1 << 20) == ()
    assert node.states.records("nobody", 0, 1 << 20) == ()


def test_a_long_match_is_marked_for_readers_at_owner_and_follower() -> None:
    """Every 256 records, from memory and from the store; each is the state of then."""
    log = Log(race(goal=10_000))
    log.create("m")
    owner, follower = Node(race(goal=10_000)), Node(race(goal=10_000))
    for number in range(600):
        log.act("m")
        if number == 300:
            owner.own(log)
            owner.checkpoint()
            follower.follow(log)
    owner.own(log)
    follower.follow(log)
    follower.checkpoint()
    follower.restart()
    for node in (owner, follower):
        found = dict(node.states.marks("m", 0, 10_000, 1 << 20))
        assert list(found) == [256, 512]
        for index, packed in found.items():
            then = log.changes[index].state.snapshot
            assert read_snapshot(packed) == then
    assert len(owner.states.marks("m", 257, 600, 1 << 20)) == 1
    assert owner.states.marks("n", 0, 10_000, 1 << 20) == ()


def test_an_idle_match_is_put_away_and_wakes_as_it_was() -> None:
    """The deadline of who waits for it can still be told; nothing is deleted."""
    log = played(Log(), "a")
    node = Node()
    node.follow(log)
    node.pass_time(120)
    assert node.states.statistics().hot == 1  # it is not saved yet
    node.checkpoint()
    node.pass_time(600)
    assert node.states.statistics().hot == 0
    [line] = node.states.lines(SHARD)
    assert (line.match, line.digest) == ("a", log.states["a"].digest)
    node.pass_time(8 * 60)
    assert same(node.state("a"), log.states["a"])
    node.checkpoint()
    node.pass_time(600)
    log.act("a")
    node.follow(log)
    assert same(node.state("a"), log.states["a"])
    assert node.digests("a") == digests(log, "a")


def test_what_a_start_played_stays_in_memory_for_its_time() -> None:
    """The matches that went on last are those that will be wanted."""
    log = played(Log(), "a", "b")
    node = Node()
    node.follow(log)
    node.now_ms = 1_000 * DAY_S
    node.states = ReplicaStates(find(race()), node.disk)
    node.states.recover(node.disk.recover())
    node.checkpoint()
    node.pass_time(60)
    assert node.states.statistics().hot == 2
    node.pass_time(600)
    assert node.states.statistics().hot == 0


def test_too_many_states_in_memory_make_room() -> None:
    """Those that were used longest ago go first."""
    log = played(Log(), *"abcd")
    node = Node(options=HostingOptions(hot_max=2))
    node.follow(log)
    node.checkpoint()
    node.states.get("a")
    node.pass_time(1)
    assert node.states.statistics().hot == 2
    assert [m for m in "abcd" if node.states._roster.matches[m].state] == ["a", "d"]


def test_memory_is_back_after_many_matches_came_and_went() -> None:
    """Ended matches leave no trace in memory, and are readable all the same."""
    node = Node(race(goal=2))
    log = Log(race(goal=2))

    def rounds(first: int, count: int) -> None:
        for number in range(first, first + count):
            log.create(f"m{number:05}")
            log.act(f"m{number:05}", 2)
        node.follow(log)
        node.checkpoint()
        node.pass_time(120)

    rounds(0, 50)
    before = _reachable(node)
    rounds(50, 400)
    assert _reachable(node) - before < 100  # of 400 matches
    statistics = node.states.statistics()
    assert (statistics.matches, statistics.hot, statistics.put_away) == (0, 0, 450)
    assert same(node.state("m00007"), log.states["m00007"])
    assert node.digests("m00300") == digests(log, "m00300")


def _reachable(node: Node) -> int:
    """How many objects hang on the node's states; those of its disk do not count."""
    seen = {id(node.disk)}
    waiting: list[Any] = [node.states]
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, (type, ModuleType, FunctionType)):
            continue
        seen.add(id(value))
        waiting += gc.get_referents(value)
    return len(seen)


def test_an_ended_match_is_found_after_a_start_and_is_not_begun_again() -> None:
    """Its creation comes again in the log behind the checkpoint: it is known."""
    log = played(Log(race(goal=1)), "a", actions=1)
    node = Node(race(goal=1))
    node.follow(log)
    node.checkpoint()
    node.restart()
    assert node.states.statistics().matches == 0
    node.states.apply(SHARD, log.entries[0])
    assert same(node.state("a"), log.states["a"])
    assert [line.match for line in node.states.lines(SHARD, ended=True)] == ["a"]


def test_a_state_that_cannot_be_read_is_played_again_from_its_history() -> None:
    """A corrupt state costs nothing while its history is there."""
    log = played(Log(), "a")
    node = Node()
    node.follow(log)
    node.checkpoint()
    node.disk.spoil("a")
    node.restart()
    assert same(node.state("a"), log.states["a"])


def test_a_match_that_cannot_be_got_back_is_set_apart_alone() -> None:
    """It is visible, keeps its history, and is never begun from nothing."""
    log = played(Log(), "a", "b")
    node = Node(options=HostingOptions(replay_records_max=3))
    node.follow(log)
    node.checkpoint()
    node.disk.spoil("a")
    node.restart()
    assert node.line("a").quarantined == "state_corrupt"
    assert node.codes() == ["state_corrupt"]
    log.act("a")
    node.follow(log)
    assert node.line("a").quarantined == "state_corrupt"
    assert same(node.state("b"), log.states["b"])
    assert node.digests("a") == digests(log, "a")
    node.checkpoint()
    node.restart()
    log.act("a")
    node.follow(log)
    assert node.digests("a") == digests(log, "a")


def test_a_manifest_that_cannot_be_read_is_told() -> None:
    """The shard must not be taken for whole; the node starts."""
    log = played(Log(), "a")
    node = Node()
    node.follow(log)
    node.checkpoint()

    def unreadable(shard: int, after: str = "") -> Any:
        raise JournalCorrupt("a page of the manifest is torn")

    node.disk.manifest = unreadable  # type: ignore[method-assign]
    node.start()
    assert node.unreadable == (SHARD,)
    assert node.codes() == ["manifest_corrupt"]


def test_a_match_whose_waking_fails_backs_off_and_is_set_apart() -> None:
    """It is tried again after longer and longer pauses, and not for ever; the others
    wake."""
    log = played(Log(), "a", "b")
    node = Node()
    node.follow(log)
    node.checkpoint()
    node.restart()

    def failing(match: HotMatch, upto: int) -> Any:
        if match.match == "a":
            tries.append(1)
            raise KeyError("the game cannot be loaded")
        return restore(match, upto)

    tries: list[int] = []
    restorer = node.states._roster.restorer
    restore = restorer.restore
    restorer.restore = failing  # type: ignore[method-assign]
    for _ in range(10):
        assert node.line("a").quarantined == "recovery_failed"
    assert len(tries) == 1
    node.pass_time(1)
    assert len(tries) == 2
    node.pass_time(1)
    assert len(tries) == 2
    for _ in range(10):
        node.pass_time(60)
    assert len(tries) == 3
    assert node.line("a").quarantined == "recovery_failed"
    assert node.codes() == ["match_not_woken", "match_not_woken", "recovery_failed"]
    assert same(node.state("b"), log.states["b"])


def test_a_retention_rule_drops_what_ended_long_ago_but_not_its_name() -> None:
    """A buried match answers with its line; its creation does not begin it anew."""
    options = HostingOptions(ended_retention_s=DAY_S)
    log = played(Log(race(goal=1)), "a", actions=1)
    log.create("b")
    node = Node(race(goal=1), options=options)
    node.follow(log)
    node.checkpoint()
    node.pass_time(3_600)
    node.checkpoint(after_s=0)
    assert same(node.state("a"), log.states["a"])
    node.pass_time(DAY_S)
    ops = node.states.checkpoint(node.now_ms, 1 << 20)
    assert [type(op) for op in ops] == [Buried]
    assert node.line("a").buried  # even before that is durable
    node.write(ops)
    line = node.line("a")
    assert (line.buried, line.creation) == (True, "created a")
    assert node.disk.state("a") is None
    node.restart()
    node.states.apply(SHARD, log.entries[0])
    assert node.line("a").buried
    assert same(node.state("b"), log.states["b"])


def test_a_result_that_nobody_was_told_is_kept() -> None:
    """A retention rule does not drop what still has to reach a sink."""
    options = HostingOptions(ended_retention_s=60)
    log = played(Log(race(goal=1)), "a", actions=1)
    node = Node(race(goal=1), options=options)
    node.states = ReplicaStates(
        find(race(goal=1)), node.disk, options, keep_unreported=True
    )
    node.follow(log)
    node.checkpoint()
    node.pass_time(DAY_S)
    node.checkpoint()
    assert same(node.state("a"), log.states["a"])
    log.decide("a", NoteDelivered(log.states["a"].index))
    node.follow(log)
    node.checkpoint()
    node.pass_time(DAY_S)
    node.checkpoint()
    assert node.line("a").buried


def test_the_games_of_a_shard_are_those_that_go_on() -> None:
    """Loaded or not, and though the game is not here."""
    log = played(Log(counting()), "a")
    node = Node(race())
    node.follow(log)
    assert node.states.games() == {SHARD: {("counting", "1")}}
    node.checkpoint()
    node.restart(counting())
    assert node.states.games() == {SHARD: {("counting", "1")}}


def test_without_a_rule_nothing_is_dropped() -> None:
    """A year after its end a match is still there."""
    log = played(Log(race(goal=1)), "a", actions=1)
    node = Node(race(goal=1))
    node.follow(log)
    node.checkpoint()
    node.now_ms += 365 * DAY_S * 1_000
    node.pass_time(120)
    node.checkpoint()
    assert same(node.state("a"), log.states["a"])


@pytest.mark.parametrize("seed", range(30))
def test_whatever_happens_to_a_node_it_has_what_was_committed(seed: int) -> None:
    """Checkpoints in slices, crashes, failing disks, idle times: after any of them each
    match is where the log is, and its history is whole."""
    rng = Random(seed)
    log = Log(race(goal=60))
    options = HostingOptions(
        checkpoint_entries=rng.randint(1, 40), hot_max=rng.randint(1, 6)
    )
    node = Node(race(goal=60), options=options)
    for _ in range(150):
        kind = rng.random()
        live = [m for m, s in log.states.items() if not s.ended]
        if kind < 0.1 or not live:
            log.create(f"m{len(log.states)}")
        elif kind < 0.6:
            log.act(rng.choice(live), rng.randint(1, 9))
        elif kind < 0.75:
            node.follow(log)
        elif kind < 0.85:
            node.now_ms += rng.randint(0, 40_000)
            ops = node.states.checkpoint(node.now_ms, rng.choice([1, 1_000, 10**6]))
            if rng.random() < 0.2:
                node.states.failed(ops)
            else:
                node.write(ops)
        elif kind < 0.92:
            node.pass_time(rng.choice([1, 100, 1_000]))
        elif kind < 0.96:
            match = rng.choice(list(log.states))
            node.states.get(match)
        else:
            node.restart()
            assert node.unreadable == ()
    node.follow(log)
    for match, theirs in log.states.items():
        assert same(node.state(match), theirs)
        assert node.digests(match) == digests(log, match)
    assert node.codes() == []


class FaultyDisk(MemoryDisk):
    """A disk on which some states cannot be read for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.unreadable: set[str] = set()

    def state(self, match: str) -> bytes | None:
        if match in self.unreadable:
            raise OSError("the sector does not answer")
        return super().state(match)


@pytest.mark.parametrize("seed", range(40))
def test_what_a_node_could_not_carry_on_is_whole_when_it_can_again(seed: int) -> None:
    """States that cannot be read, games that are missing, in memory or at a start,
    with checkpoints in between: nothing is served that is older than the log, and
    nothing is lost."""
    rng = Random(seed)
    game, options = race(goal=90), HostingOptions(hot_max=2, checkpoint_entries=9)
    log, disk = Log(game), FaultyDisk()
    node = Node(game, options=options, disk=disk)
    for _ in range(120):
        kind = rng.random()
        live = [m for m, s in log.states.items() if not s.ended]
        if kind < 0.1 or not live:
            log.create(f"m{len(log.states)}")
        elif kind < 0.5:
            log.act(rng.choice(live), rng.randint(1, 9))
        elif kind < 0.7:
            node.follow(log)
        elif kind < 0.8:
            node.checkpoint(after_s=rng.randint(0, 40), bytes_max=rng.choice([1, 9999]))
        elif kind < 0.87:
            node.pass_time(rng.choice([1, 100, 1_000]))
        elif kind < 0.91:
            disk.unreadable.symmetric_difference_update({rng.choice(list(log.states))})
        else:
            node.restart(*rng.choice([(game,), (counting(),)]))
        if node.applied == len(log.entries):
            for match in log.states:
                found = node.states.get(match)
                if isinstance(found, MatchState):
                    assert same(found, log.states[match])
                assert node.digests(match) == digests(log, match)
    node.follow(log)
    disk.unreadable.clear()
    node.checkpoint()
    node.restart(game)
    for match, theirs in log.states.items():
        assert same(node.state(match), theirs)
        assert node.digests(match) == digests(log, match)


def test_whether_a_match_leaves_is_found_though_it_cannot_be_played() -> None:
    """Its state stands still; the record that says so is in its history alone."""
    log = played(Log(), "a")
    node = Node()
    node.follow(log)
    node.checkpoint()
    node.restart(counting())
    node.applied = len(log.entries)
    log.decide("a", Detach(SHARDS_MAX + 5))
    target = log.states["a"].pinned
    node.follow(log)
    assert node.line("a").quarantined == "missing_game"
    leaving = Leaving(SHARD, "a", target, 1)
    assert node.states.take_leaving() == [leaving]
    node.checkpoint()
    for games in ((), (race(),)):
        node.restart(*games)
        node.pass_time(1)
        assert node.states.take_leaving() == [leaving]
        assert [line.pinned for line in node.states.lines(SHARD)] == [target]
    assert same(node.state("a"), log.states["a"])
