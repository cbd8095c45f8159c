"""Whole nodes of replicas: who serves what, and what survives whom."""

from __future__ import annotations

import msgspec
import pytest

from hotseat.runtime.control_plane import ShardRecord, encode_record
from hotseat.runtime.coordinator import WRITES_MAX, Write
from hotseat.runtime.replication.options import ReplicationOptions
from hotseat.runtime.replication.output import Output
from hotseat.runtime.replication.recovery import RecoveryOrder
from hotseat.runtime.testing.replica_cluster import CasFate, ReplicaCluster

OPTIONS = ReplicationOptions()

COLD_MS = 2000
"""After a start, a silent owner is waited for longer."""


def started(nodes: int = 3, shards: int = 4, **options: object) -> ReplicaCluster:
    """A cluster at work, with every copy in sync."""
    cluster = ReplicaCluster(nodes, shards=shards, **options)  # type: ignore[arg-type]
    cluster.start()
    cluster.until(cluster.settled)
    cluster.advance(COLD_MS)
    return cluster


def play(cluster: ReplicaCluster, rounds: int = 3) -> None:
    """Some records in every shard, all acknowledged."""
    for _ in range(rounds):
        for shard in range(cluster.record.shards):
            for match in ("a", "b", "c"):
                owner = cluster.processes[cluster.owner(shard)].host
                before = len(owner.acknowledged)
                cluster.propose(shard, f"{match}{shard}")
                cluster.settle()
                assert len(owner.acknowledged) == before + 1


def records(cluster: ReplicaCluster, shard: int, node: str) -> dict[str, list[bytes]]:
    return cluster.processes[node].host.matches.get(shard, {})


def assert_copies_agree(cluster: ReplicaCluster) -> None:
    """Followers hold, hot, all that their owner has."""
    cluster.advance(OPTIONS.retransmit_ms)
    for shard in range(cluster.record.shards):
        owned = records(cluster, shard, cluster.owner(shard))
        for node in cluster.in_sync(shard):
            assert records(cluster, shard, node) == owned, (shard, node)


def assert_nothing_lost(cluster: ReplicaCluster, rounds: int = 3) -> None:
    """What `play` had acknowledged is at the owners, once, in order."""
    for shard in range(cluster.record.shards):
        owned = records(cluster, shard, cluster.owner(shard))
        for match in ("a", "b", "c"):
            name = f"{match}{shard}"
            said = [msgspec.msgpack.decode(record) for record in owned[name]]
            assert said[:rounds] == [f"{name}/{n}" for n in range(1, rounds + 1)]


@pytest.mark.parametrize("durability", ["memory", "disk"])
def test_a_new_cluster_is_claimed_as_laid_out(durability: str) -> None:
    """Each shard by the first that is wanted; the others join it."""
    cluster = started(shards=12, copies=2, durability=durability)
    for shard, want in enumerate(cluster.layout):
        record = cluster.shard(shard)
        assert (record.owner, record.epoch) == (want[0], 1)
        assert cluster.in_sync(shard) == sorted(want)
    for process in cluster.processes.values():
        assert process.core.outstanding() == 0
        assert process.core.serving() == process.host.epochs
        owners = {row.shard: row.owner for row in process.rows.values()}
        assert owners == {s: want[0] for s, want in enumerate(cluster.layout)}
    assert cluster.alarms() == []
    play(cluster)
    assert_copies_agree(cluster)


def test_a_shard_whose_first_node_never_comes_is_claimed_by_the_next() -> None:
    """Nobody waits for ever for a node that was not started."""
    cluster = ReplicaCluster(3, shards=6, copies=2)
    cluster.start("n2", "n3")
    cluster.until(
        lambda: all(
            cluster.servers(s)
            for s, want in enumerate(cluster.layout)
            if set(want) & {"n2", "n3"}
        )
    )


@pytest.mark.parametrize("durability", ["memory", "disk"])
@pytest.mark.parametrize("refused", [True, False])
def test_a_dead_nodes_shards_are_taken_over(durability: str, refused: bool) -> None:
    """All of them, with everything that was acknowledged; fast if it refuses."""
    cluster = started(shards=12, copies=3, durability=durability)
    play(cluster)
    orphans = [s for s in range(12) if cluster.owner(s) == "n1"]
    cluster.crash("n1", refused=refused)
    took_ms = cluster.until(lambda: all(cluster.servers(s) for s in orphans))
    assert took_ms <= (200 if refused else OPTIONS.steal_ms + 200)
    for shard in orphans:
        assert cluster.shard(shard).epoch == 2
        assert "n1" not in cluster.in_sync(shard)
    assert_nothing_lost(cluster)
    cluster.until(cluster.settled)
    play(cluster)
    assert_copies_agree(cluster)
    assert cluster.alarms() == []


def test_takeovers_of_many_shards_are_few_requests() -> None:
    """A node that owned 100 shards and followed 100 costs a few transactions."""
    shards = 200
    cluster = started(nodes=2, shards=shards, copies=2)
    heir = cluster.processes["n2"]
    sent = heir.cas_sent
    cluster.crash("n1")
    cluster.until(lambda: len(heir.host.epochs) == shards, within_ms=1000)
    assert heir.cas_sent - sent <= 2 + shards // WRITES_MAX


def test_a_conflict_over_one_shard_does_not_hold_up_the_others() -> None:
    """Somebody edits one record just before; every shard is taken all the same."""
    cluster = started(nodes=2, shards=8, copies=2)
    orphan = next(s for s in range(8) if cluster.owner(s) == "n1")
    key = cluster.keys.shard(orphan)
    (entry,) = [e for e in cluster.store.list("").entries if e.key == key]
    record = cluster.shard(orphan)
    edited = msgspec.structs.replace(record, want=(*record.want, "n9"), claim="x")
    cluster.store.apply([Write(key, entry.revision, encode_record(edited))])
    cluster.crash("n1")
    cluster.until(lambda: len(cluster.processes["n2"].host.epochs) == 8, 1000)
    assert cluster.shard(orphan).want == edited.want


@pytest.mark.parametrize("fate", ["lost", "answer_lost", "late"])
def test_takeovers_whose_outcome_is_unknown(fate: CasFate) -> None:
    """They succeed all the same, once; what lands late changes nothing."""
    cluster = started(nodes=3, shards=6, copies=3)
    play(cluster)
    cluster.cas_fates.extend([fate, fate])
    cluster.crash("n1")
    cluster.until(lambda: all(cluster.servers(s) for s in range(6)), 3000)
    cluster.land_late()
    cluster.advance(2000)
    assert all(len(cluster.servers(s)) == 1 for s in range(6))
    assert_nothing_lost(cluster)
    play(cluster)
    assert_copies_agree(cluster)


def test_a_silent_follower_leaves_and_comes_back() -> None:
    """It stalls its shards for the eviction time; healed, it catches up."""
    cluster = started(nodes=2, shards=2, copies=2)
    play(cluster)
    shard = next(s for s in range(2) if cluster.owner(s) == "n1")
    cluster.cut = {("n1", "n2"), ("n2", "n1")}
    cluster.propose(shard, "late")
    cluster.settle()
    owner = cluster.processes["n1"].host
    assert owner.acknowledged[-1][1] != "late"
    took_ms = cluster.until(lambda: owner.acknowledged[-1][1] == "late")
    assert took_ms <= OPTIONS.evict_ms + 200
    assert cluster.owner(shard) == "n1"
    assert cluster.in_sync(shard) == ["n1"]
    cluster.cut = set()
    cluster.until(cluster.settled)
    assert_copies_agree(cluster)


def test_shards_that_catch_up_at_once_do_not_hold_up_their_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What one step gives the host is bounded, but for one entry of each shard."""
    options = ReplicationOptions(catch_up_entries=3)
    cluster = started(nodes=2, shards=6, copies=2, options=options)
    cluster.cut = {("n1", "n2"), ("n2", "n1")}
    owned = [shard for shard in range(6) if cluster.owner(shard) == "n1"]
    cluster.until(lambda: all(cluster.in_sync(shard) == ["n1"] for shard in owned))
    for shard in owned * 5:
        cluster.propose(shard, "late")
    cluster.settle()
    behind, turns = cluster.processes["n2"], []
    collect = behind.core.collect

    def counted(now_ms: int, clock_ms: int | None = None) -> Output:
        output = collect(now_ms, clock_ms)
        turns.append(sum(len(committed.entries) for committed in output.committed))
        return output

    monkeypatch.setattr(behind.core, "collect", counted)
    cluster.cut = set()
    cluster.until(lambda: sum(turns) >= 5 * len(owned))
    assert max(turns) <= 3 + len(owned)
    cluster.until(cluster.settled)
    assert_copies_agree(cluster)


def test_a_follower_whose_process_is_gone_leaves_at_once() -> None:
    """Its owners need not wait for its silence: matches go on with one copy less."""
    cluster = started(nodes=2, shards=2, copies=2)
    play(cluster)
    shard = next(s for s in range(2) if cluster.owner(s) == "n1")
    cluster.crash("n2", refused=True)
    cluster.propose(shard, "late")
    owner = cluster.processes["n1"].host
    took_ms = cluster.until(lambda: owner.acknowledged[-1][1] == "late")
    assert took_ms <= 200
    assert cluster.in_sync(shard) == ["n1"]


def test_a_restarted_node_keeps_its_identity_and_its_log() -> None:
    """With its disk intact it catches up from where it was."""
    cluster = started(nodes=3, shards=3, copies=3)
    play(cluster)
    ident = dict(cluster.shard(0).isr)["n1"]
    cluster.crash("n1")
    cluster.until(cluster.settled)
    play(cluster)
    cluster.start("n1")
    cluster.until(cluster.settled)
    assert dict(cluster.shard(0).isr)["n1"] == ident
    assert cluster.processes["n1"].host.installs == 0
    assert_copies_agree(cluster)
    assert_nothing_lost(cluster)


def test_a_restarted_node_in_memory_is_a_new_replica() -> None:
    """It held nothing; it is fed, and named anew."""
    cluster = started(nodes=3, shards=3, copies=3, durability="memory")
    play(cluster)
    ident = dict(cluster.shard(0).isr)["n1"]
    cluster.crash("n1")
    cluster.start("n1")
    cluster.until(cluster.settled)
    assert dict(cluster.shard(0).isr)["n1"] != ident
    assert_nothing_lost(cluster)
    assert_copies_agree(cluster)


def test_data_put_back_from_an_old_copy_are_a_learners() -> None:
    """An image of an earlier boot is a new identity, and is fed what it lacks."""
    cluster = started(nodes=3, shards=3, copies=3)
    image = cluster.disks["n1"].image()
    ident = dict(cluster.shard(0).isr)["n1"]
    cluster.crash("n1")
    cluster.start("n1")
    cluster.until(cluster.settled)
    play(cluster)
    cluster.crash("n1")
    cluster.disks["n1"].restore(image)
    cluster.start("n1")
    cluster.until(cluster.settled)
    assert dict(cluster.shard(0).isr)["n1"] != ident
    assert_nothing_lost(cluster)
    assert_copies_agree(cluster)


def test_a_whole_cluster_comes_back_from_its_disks() -> None:
    """Power fails everywhere at once; everything acknowledged is there again."""
    cluster = started(nodes=3, shards=6, copies=2)
    play(cluster)
    for node in ("n1", "n2", "n3"):
        cluster.crash(node)
    cluster.advance(5000)
    cluster.start()
    cluster.until(cluster.settled)
    assert_nothing_lost(cluster)
    play(cluster)
    assert_copies_agree(cluster)


def test_a_lost_node_is_replaced() -> None:
    """After the grace another node holds what it held; it is not waited for."""
    options = ReplicationOptions(placer_grace_ms=5000)
    cluster = started(nodes=3, shards=6, copies=2, options=options)
    play(cluster)
    cluster.crash("n3")
    cluster.until(cluster.settled, within_ms=15_000)
    for shard in range(6):
        assert sorted(cluster.shard(shard).want) == ["n1", "n2"]
    assert_nothing_lost(cluster)
    assert_copies_agree(cluster)


def test_copies_that_were_missing_are_made_when_a_node_comes() -> None:
    """A cluster that began on one node is safe as soon as there are two."""
    cluster = ReplicaCluster(1, shards=4, copies=2, extra_nodes=["n2"])
    cluster.start()
    cluster.until(lambda: all(cluster.servers(s) for s in range(4)))
    play(cluster)
    cluster.start("n2")
    cluster.until(cluster.settled)
    assert_copies_agree(cluster)
    cluster.crash("n1")
    cluster.until(lambda: all(cluster.servers(s) for s in range(4)))
    assert_nothing_lost(cluster)


def test_without_the_coordinator_play_goes_on() -> None:
    """What is owned is served and acknowledged; nothing is taken over."""
    cluster = started(nodes=3, shards=6, copies=2)
    cluster.coordinator_up = False
    cluster.advance(10_000)
    play(cluster)
    orphans = [s for s in range(6) if cluster.owner(s) == "n1"]
    cluster.crash("n1")
    cluster.advance(5000)
    assert all(cluster.servers(s) == [] for s in orphans)
    cluster.coordinator_up = True
    cluster.until(lambda: all(cluster.servers(s) for s in orphans))
    assert_nothing_lost(cluster)


def test_a_node_that_stands_down_is_followed_by_others() -> None:
    """It serves nothing at once, and what it owned goes on elsewhere."""
    cluster = started(nodes=3, shards=6, copies=3)
    play(cluster)
    leaving = cluster.processes["n1"]
    leaving.runner.stand_down(cluster.now_ms)
    assert leaving.host.epochs == {}
    assert leaving.core.serving() == {}
    took_ms = cluster.until(lambda: all(cluster.servers(s) for s in range(6)))
    assert took_ms <= OPTIONS.evict_ms
    assert_nothing_lost(cluster)


def test_a_disk_that_fails_hands_its_shards_over() -> None:
    """Nothing unsaved is acknowledged; when the disk works again, copies return."""
    cluster = started(nodes=3, shards=3, copies=3)
    play(cluster)
    shard = next(s for s in range(3) if cluster.owner(s) == "n1")
    cluster.disks["n1"].failing = "disk_full"
    cluster.propose(shard, "unsaved")
    cluster.until(lambda: cluster.servers(shard) not in ([], ["n1"]))
    assert (shard, "unsaved", 1) not in cluster.processes["n1"].host.acknowledged
    cluster.advance(2000)
    cluster.mend("n1")
    cluster.until(cluster.settled)
    play(cluster)
    assert_copies_agree(cluster)


def test_a_coordinator_that_went_back_stops_the_node() -> None:
    """A restored store may name old owners: serve nothing, tell an operator."""
    cluster = started(nodes=1, shards=2, copies=1)
    node = cluster.processes["n1"]
    listing = cluster.store.list("")
    node.runner.listing(listing, listing.revision + 1, cluster.now_ms)
    assert node.host.epochs == {}
    assert {alarm.code for alarm in node.alarms} == {"coordinator_went_back"}


def test_a_record_that_is_older_than_it_was_stops_its_shard_alone() -> None:
    """The coordinator was restored, and goes on ahead: an operator writes it anew."""
    cluster = started(nodes=1, shards=2, copies=1)
    backup = cluster.store.image()
    key = cluster.keys.shard(1)
    node = cluster.processes["n1"]
    (entry,) = [e for e in backup if e.key == key]
    record = msgspec.json.decode(entry.value, type=ShardRecord)
    edited = msgspec.structs.replace(record, claim="edited")
    cluster.store.apply([Write(key, entry.revision, encode_record(edited))])
    cluster.settle()
    cluster.store.restore(backup)
    node.watched = cluster.store.revision
    node.runner.listing(cluster.store.list(""), 0, cluster.now_ms)
    assert set(node.host.epochs) == {0}
    assert [alarm.code for alarm in node.alarms] == ["coordinator_went_back"]
    raised = msgspec.structs.replace(edited, epoch=100)
    cluster.store.apply([Write(key, entry.revision, encode_record(raised))])
    cluster.until(lambda: node.host.epochs.get(1) == 100)


def test_a_record_that_cannot_be_read_stops_its_shard_alone() -> None:
    """Until a sound one stands there."""
    cluster = started(nodes=1, shards=2, copies=1)
    key = cluster.keys.shard(1)
    (entry,) = [e for e in cluster.store.list("").entries if e.key == key]
    cluster.store.apply([Write(key, entry.revision, b'{"schema": 99}')])
    cluster.settle()
    node = cluster.processes["n1"]
    assert set(node.host.epochs) == {0}
    assert [a.code for a in node.alarms] == ["control_record_invalid"]
    revision = cluster.store.revision
    cluster.store.apply([Write(key, revision, entry.value)])
    cluster.until(lambda: set(node.host.epochs) == {0, 1})


def test_in_memory_a_journal_that_fails_is_written_anew() -> None:
    """Play does not wait for it; when it works again it says what memory holds."""
    cluster = started(nodes=2, shards=2, copies=2, durability="memory")
    play(cluster)
    disk = cluster.disks["n1"]
    disk.failing = "disk_full"
    play(cluster)
    assert cluster.settled()
    cluster.mend("n1")
    play(cluster)
    cluster.advance(OPTIONS.retransmit_ms)
    for shard, found in disk.recover().shards.items():
        assert len(found.entries) == 3 * 3 * 3, shard


def test_a_node_without_a_game_does_not_hold_its_matches() -> None:
    """It joins the shards that it can serve; when it has the game, all of them."""
    cluster = ReplicaCluster(2, shards=4, copies=2)
    cluster.start("n1")
    cluster.until(lambda: cluster.processes["n1"].core.outstanding() == 0)
    cluster.until(lambda: len(cluster.processes["n1"].host.epochs) == 4)
    owner = cluster.processes["n1"]
    owner.runner.unfit({0: frozenset({"n2"})}, cluster.now_ms)
    cluster.start("n2")
    cluster.until(lambda: all(len(cluster.in_sync(s)) == 2 for s in (1, 2, 3)))
    cluster.advance(2000)
    assert cluster.in_sync(0) == ["n1"]
    owner.runner.unfit({}, cluster.now_ms)
    cluster.until(cluster.settled)


def test_figures() -> None:
    """Roles, what waits, and what has happened: for operators."""
    cluster = started(nodes=2, shards=4, copies=2)
    play(cluster)
    cluster.advance(OPTIONS.retransmit_ms)
    cluster.cut = {("n1", "n2")}
    shard = next(s for s in range(4) if cluster.owner(s) == "n1")
    cluster.propose(shard, "waits")
    cluster.settle()
    before = cluster.processes["n1"].core.statistics()
    assert (before.owned, before.serving, before.following) == (2, 2, 2)
    assert (before.short, before.degraded) == (0, 0)
    assert (before.uncommitted, before.lag, before.lag_by_node) == (1, 1, {"n2": 1})
    assert (before.counters.claims, before.counters.joins) == (2, 2)
    assert before.counters.committed == 4 * 3 * 3
    cluster.until(lambda: cluster.in_sync(shard) == ["n1"])
    assert cluster.processes["n1"].core.statistics().short == 1
    cluster.cut = set()
    cluster.until(cluster.settled)
    after = cluster.processes["n1"].core.statistics()
    assert after.counters.evictions == 1  # the other shard had nothing to send
    assert (after.short, after.outstanding) == (0, 0)
    assert after.open


def test_shards_that_take_nothing_are_counted() -> None:
    """With `min_isr` of 2, what an owner has whose only follower is gone."""
    cluster = started(nodes=2, shards=4, copies=2, min_isr=2)
    assert cluster.processes["n1"].core.statistics().degraded == 0
    cluster.crash("n2")
    cluster.advance(2 * OPTIONS.evict_ms)
    survivor = cluster.processes["n1"].core.statistics()
    assert survivor.owned > 0
    assert (survivor.degraded, survivor.outstanding) == (survivor.owned, 0)


def test_a_restored_coordinator_is_overruled_node_by_node_and_shard_by_shard() -> None:
    """All was started anew: an operator vouches for the data, and raises the epochs of
    the shards whose record is older than what was reached."""
    cluster = ReplicaCluster(3, shards=2, copies=2)
    cluster.start()
    cluster.until(cluster.settled)
    backup = cluster.store.image()
    first = cluster.owner(0)
    cluster.propose(0, "a")
    cluster.settle()
    cluster.crash(first)
    cluster.until(lambda: bool(cluster.servers(0)))
    second = cluster.owner(0)
    cluster.propose(0, "a")
    cluster.settle()
    cluster.start(first)
    cluster.until(cluster.settled)
    reached = cluster.shard(0).epoch
    for node in ("n1", "n2", "n3"):
        cluster.crash(node)
    cluster.advance(5000)
    cluster.store.restore(backup)
    cluster.start()
    cluster.advance(5000)
    waiting = [n for n, p in cluster.processes.items() if p.core.waits_for_trust]
    assert waiting == [first]
    cluster.processes[first].runner.trust_identity(cluster.now_ms)
    cluster.advance(5000)
    assert cluster.servers(0) == []
    order = RecoveryOrder(restored=True)
    runner = cluster.processes[second].runner
    assert runner.recover(0, order, cluster.now_ms) > reached
    cluster.until(cluster.settled)
    assert cluster.owner(0) == second
    assert len(cluster.processes[second].host.matches[0]["a"]) == 2
    cluster.propose(0, "a")
    cluster.advance(1000)
    copies = [cluster.processes[n].host.matches[0] for n in cluster.in_sync(0)]
    assert copies[0] == copies[1]
    assert len(copies[0]["a"]) == 3
