"""Planned work and catching up, with whole nodes."""

from __future__ import annotations

import msgspec
import pytest

from hotseat.runtime.control_plane import Move, encode_record
from hotseat.runtime.coordinator import Write
from hotseat.runtime.errors import TooFewCopies
from hotseat.runtime.replication.options import ReplicationOptions
from hotseat.runtime.testing.replica_cluster import ReplicaCluster


def started(nodes: int, **options: object) -> ReplicaCluster:
    """One shard, everybody in sync, past the time when silence is forgiven."""
    cluster = ReplicaCluster(nodes, shards=1, **options)  # type: ignore[arg-type]
    cluster.start()
    cluster.until(cluster.settled)
    cluster.advance(2500)
    return cluster


def play(cluster: ReplicaCluster, count: int, matches: int = 5) -> None:
    """Records in turn in these many matches."""
    for number in range(count):
        cluster.propose(0, f"m{number % matches}")
        cluster.settle()


def ask_to_move(cluster: ReplicaCluster, to: str) -> None:
    """As an operator does: an edit of the record."""
    key = cluster.keys.shard(0)
    (entry,) = [e for e in cluster.store.list("").entries if e.key == key]
    moving = msgspec.structs.replace(
        cluster.shard(0), move=Move(to, "op-1"), claim="operator"
    )
    cluster.store.apply([Write(key, entry.revision, encode_record(moving))])


def assert_copies_agree(cluster: ReplicaCluster) -> None:
    cluster.advance(500)
    copies = [p.host.matches.get(0) for p in cluster.processes.values()]
    assert all(copy == copies[0] for copy in copies)


def test_a_shard_is_moved_without_a_silence() -> None:
    """The new owner serves at once, in the next epoch; the old one follows it."""
    cluster = started(2, copies=2)
    play(cluster, 10)
    assert cluster.owner(0) == "n1"
    ask_to_move(cluster, "n2")
    took_ms = cluster.until(lambda: cluster.servers(0) == ["n2"])
    assert took_ms <= 50
    record = cluster.shard(0)
    assert (record.owner, record.epoch, record.move) == ("n2", 2, None)
    assert cluster.in_sync(0) == ["n1", "n2"]
    play(cluster, 10)
    assert_copies_agree(cluster)
    assert cluster.processes["n1"].host.retried == []


def test_a_shard_is_moved_to_a_node_that_did_not_hold_it() -> None:
    """It is fed first; then it is wanted there, and the surplus copy goes."""
    cluster = started(3, copies=2)
    play(cluster, 10)
    (to,) = {"n1", "n2", "n3"} - set(cluster.in_sync(0))
    ask_to_move(cluster, to)
    cluster.until(lambda: cluster.servers(0) == [to])
    cluster.until(lambda: len(cluster.in_sync(0)) == 2, within_ms=5000)
    assert to in cluster.shard(0).want
    play(cluster, 10)


def test_a_shard_that_was_moved_to_a_dead_node_is_taken_back() -> None:
    """Nobody knew; all that was acknowledged is still where it came from."""
    cluster = started(2, copies=2)
    play(cluster, 5)
    cluster.crash("n2", refused=False)
    ask_to_move(cluster, "n2")
    cluster.settle()
    assert cluster.shard(0).owner == "n2"
    cluster.until(lambda: cluster.servers(0) == ["n1"], within_ms=2500)
    cluster.until(lambda: cluster.in_sync(0) == ["n1"])
    play(cluster, 5)
    assert [
        len(records) for records in cluster.processes["n1"].host.matches[0].values()
    ] == [2] * 5


def test_a_move_to_a_node_that_never_comes_holds_nothing_up() -> None:
    """It waits for the node; play goes on meanwhile."""
    cluster = started(2, copies=2)
    ask_to_move(cluster, "n9")
    for _ in range(20):
        play(cluster, 1)
        cluster.advance(100)
    assert len(cluster.processes["n1"].host.acknowledged) == 20


def test_who_is_far_behind_is_sent_states() -> None:
    """In pages, from where the log is no longer kept; then what followed."""
    options = ReplicationOptions(kept_entries=8, placer_grace_ms=3_600_000)
    cluster = started(3, copies=3, options=options)
    cluster.crash("n3")
    cluster.until(cluster.settled)
    play(cluster, 100, matches=9)
    cluster.start("n3")
    cluster.until(cluster.settled)
    assert cluster.processes["n3"].host.installs == 1
    assert_copies_agree(cluster)
    cluster.crash("n3")
    cluster.start("n3")
    cluster.until(cluster.settled)
    assert cluster.processes["n3"].host.installs == 0
    assert_copies_agree(cluster)


def test_nobody_joins_with_a_match_that_did_not_arrive_as_it_is() -> None:
    """It is sent again, however often it takes; then all hold the same."""
    options = ReplicationOptions(kept_entries=8, placer_grace_ms=3_600_000)
    cluster = started(3, copies=3, options=options)
    cluster.crash("n3")
    cluster.until(cluster.settled)
    play(cluster, 100, matches=9)
    cluster.start("n3")
    host = cluster.processes["n3"].host
    host.damaged = ["m3", "m3", "m8"]
    cluster.until(cluster.settled)
    assert host.damaged == []
    assert host.installs == 1
    assert {alarm.code for alarm in cluster.alarms()} == {"manifest_differs"}
    for _ in range(2):
        assert_copies_agree(cluster)
        cluster.crash("n3")
        cluster.start("n3")
        cluster.until(cluster.settled)


def test_who_is_a_little_behind_is_sent_entries() -> None:
    """The log in the owner's memory reaches back so far."""
    cluster = started(3, copies=3)
    cluster.crash("n3")
    cluster.until(cluster.settled)
    play(cluster, 100)
    cluster.start("n3")
    cluster.until(cluster.settled)
    assert cluster.processes["n3"].host.installs == 0
    assert_copies_agree(cluster)


def test_an_epoch_is_confirmed_by_the_followers() -> None:
    """While one cannot be heard, nothing is confirmed: it may follow another owner."""
    cluster = started(2, copies=2)
    owner = cluster.processes["n1"]
    with owner.runner.batch():
        token = owner.runner.confirm(0, cluster.now_ms)
    cluster.settle()
    assert owner.host.confirmed_tokens == {0: token}
    cluster.cut = {("n2", "n1")}
    with owner.runner.batch():
        later = owner.runner.confirm(0, cluster.now_ms)
    cluster.advance(300)
    assert owner.host.confirmed_tokens == {0: token}
    cluster.cut = set()
    cluster.advance(300)
    assert owner.host.confirmed_tokens == {0: later}


def test_a_follower_can_ask_for_one_match() -> None:
    """The owner's copy takes the place of what was wrong there."""
    cluster = started(2, copies=2)
    play(cluster, 20)
    cluster.advance(500)
    follower = cluster.processes["n2"]
    follower.host.matches[0]["m1"] = [b"wrong"]
    follower.runner.ask_state(0, "m1", cluster.now_ms)
    cluster.settle()
    assert_copies_agree(cluster)


def test_two_copies_are_demanded() -> None:
    """With min_isr 2 a lone owner acknowledges nothing until another has joined."""
    cluster = started(3, copies=3, min_isr=2)
    play(cluster, 5)
    cluster.crash("n2")
    cluster.crash("n3")
    cluster.advance(3000)
    owner = cluster.processes["n1"]
    before = len(owner.host.acknowledged)
    with pytest.raises(TooFewCopies):
        cluster.propose(0, "m0")
    cluster.advance(3000)
    assert len(owner.host.acknowledged) == before
    cluster.start("n2")
    cluster.until(cluster.settled)
    index = cluster.propose(0, "m9")
    serving = cluster.processes[cluster.owner(0)].host
    cluster.until(lambda: (0, "m9", index) in serving.acknowledged, within_ms=2000)
