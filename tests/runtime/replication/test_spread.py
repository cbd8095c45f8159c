"""Who owns and holds what, in whole clusters: spread evenly, drained, let go."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from hotseat.runtime.control_plane import Move, encode_record
from hotseat.runtime.coordinator import CasOk, Write
from hotseat.runtime.fleet import Fleet
from hotseat.runtime.replication.options import ReplicationOptions
from hotseat.runtime.testing.replica_cluster import ReplicaCluster

COLD_MS = 2000
"""After a start, a silent owner is waited for longer."""


def started(nodes: int = 3, shards: int = 16, **options: object) -> ReplicaCluster:
    """A cluster at work, with every copy in sync, and time for the placer to act."""
    cluster = ReplicaCluster(nodes, shards=shards, **options)  # type: ignore[arg-type]
    cluster.start()
    cluster.until(cluster.settled)
    cluster.advance(COLD_MS)
    return cluster


def owned(cluster: ReplicaCluster) -> Counter[str]:
    return Counter(cluster.owner(shard) for shard in range(cluster.record.shards))


def held(cluster: ReplicaCluster) -> Counter[str]:
    shards = range(cluster.record.shards)
    return Counter(node for shard in shards for node in cluster.in_sync(shard))


def served(cluster: ReplicaCluster) -> bool:
    return all(cluster.servers(shard) for shard in range(cluster.record.shards))


def within_one(counts: Counter[str], nodes: object) -> bool:
    found = [counts[node] for node in nodes]  # type: ignore[attr-defined]
    return max(found) - min(found) <= 1


def is_even(cluster: ReplicaCluster) -> bool:
    nodes = cluster.processes
    return (
        cluster.settled()
        and within_one(owned(cluster), nodes)
        and within_one(held(cluster), nodes)
    )


def moves_asked(cluster: ReplicaCluster) -> int:
    return sum(
        process.core.statistics().counters.moves_asked
        for process in cluster.processes.values()
    )


def edit(cluster: ReplicaCluster, shard: int, **fields: object) -> None:
    """An operator writes a shard's record."""
    key = cluster.keys.shard(shard)
    (entry,) = [e for e in cluster.store.list(key).entries if e.key == key]
    record = replace(cluster.shard(shard), claim="operator.1", **fields)
    written = cluster.store.apply([Write(key, entry.revision, encode_record(record))])
    assert isinstance(written, CasOk)


def test_after_a_kill_and_a_restart_owners_are_even_again_in_seconds() -> None:
    """Sixteen shards, three nodes; and then nothing moves any more."""
    cluster = started(copies=2)
    cluster.crash("n2")
    cluster.until(lambda: served(cluster))
    cluster.start("n2")
    cluster.until(cluster.settled)
    assert cluster.until(lambda: is_even(cluster)) <= 5_000
    cluster.advance(1_000)
    before = moves_asked(cluster)
    assert before <= 6
    cluster.advance(10_000)
    assert moves_asked(cluster) == before


def test_a_new_node_gets_its_share_of_copies_and_then_of_owners() -> None:
    """Copies first, a few at a time."""
    cluster = started(copies=2, extra_nodes=["n4"])
    cluster.start("n4")
    cluster.until(lambda: is_even(cluster), within_ms=40_000)
    assert owned(cluster)["n4"] == 4
    assert held(cluster)["n4"] == 8


def test_with_one_copy_the_owner_moves_with_it() -> None:
    """The copy is made, then the shard is handed over, then the old copy goes."""
    cluster = started(2, shards=6, copies=1, extra_nodes=["n3"])
    cluster.start("n3")
    cluster.until(lambda: is_even(cluster), within_ms=30_000)
    assert owned(cluster)["n3"] == 2


def test_many_shards_do_not_storm() -> None:
    """So many moves a minute, and a burst of no more than a minute's."""
    options = ReplicationOptions(moves_per_minute=30)
    cluster = started(shards=120, copies=2, options=options)
    cluster.crash("n3")
    cluster.until(lambda: served(cluster))
    cluster.start("n3")
    cluster.until(cluster.settled)
    before = moves_asked(cluster)
    cluster.advance(60_000)
    assert 0 < moves_asked(cluster) - before <= 60


@pytest.mark.parametrize("how", ["option", "key"])
def test_it_can_be_turned_off(how: str) -> None:
    """By an option of the nodes, or by an operator while they run; a round that an
    operator asks for is done all the same."""
    options = ReplicationOptions(rebalance=how != "option")
    cluster = started(copies=3, options=options)
    cluster.tell(Fleet(rebalance=how != "key"))
    cluster.crash("n1")
    cluster.until(lambda: served(cluster))
    cluster.start("n1")
    cluster.until(cluster.settled)
    cluster.advance(20_000)
    assert owned(cluster)["n1"] == 0
    plan = cluster.processes["n3"].core.placing.plan()
    assert len(plan.edits) == 5
    asked = cluster.processes["n3"].runner.rebalance(cluster.now_ms)
    assert asked == plan
    cluster.until(lambda: is_even(cluster))


@pytest.mark.parametrize("op", ["rebalance-x", "fold", "an operator's"])
def test_a_move_to_a_node_that_is_gone_is_withdrawn(op: str) -> None:
    """Whoever asked for it: the shard stays, and can be moved elsewhere."""
    cluster = started(copies=2)
    edit(cluster, 0, move=Move("n9", op))
    cluster.advance(4_000)
    assert cluster.shard(0).move == Move("n9", op)
    cluster.advance(4_000)
    assert cluster.shard(0).move is None
    assert cluster.settled()


def test_a_move_that_stands_still_holds_up_no_other_shard() -> None:
    """An operator's may take long; the other shards are spread meanwhile."""
    cluster = started(copies=2)
    cluster.crash("n2")
    cluster.until(lambda: served(cluster))
    move = Move("n9", "an operator's")
    edit(cluster, 0, move=move)
    cluster.start("n2")
    cluster.until(lambda: owned(cluster)["n2"] > 0, within_ms=4_500)
    assert cluster.shard(0).move == move


def test_a_draining_node_hands_over_all_that_it_owns_and_then_its_copies() -> None:
    """Where there are enough nodes; nothing comes back before it drains no more."""
    cluster = started(4, copies=2)
    cluster.tell(Fleet(draining=frozenset({"n2"})))
    assert cluster.until(lambda: owned(cluster)["n2"] == 0) <= 1_000
    assert served(cluster)
    pauses = cluster.processes["n2"].core.handovers.since(0)
    assert len(pauses) == 4
    cluster.until(lambda: held(cluster)["n2"] == 0)
    assert cluster.settled()
    cluster.advance(10_000)
    assert held(cluster)["n2"] == 0
    cluster.tell(Fleet())
    cluster.until(lambda: is_even(cluster), within_ms=40_000)


def test_without_a_place_for_its_copies_a_draining_node_keeps_them() -> None:
    """Rather than that a copy is missing."""
    cluster = started(copies=3)
    cluster.tell(Fleet(draining=frozenset({"n1"})))
    cluster.until(lambda: owned(cluster)["n1"] == 0)
    cluster.advance(10_000)
    assert held(cluster)["n1"] == 16
    assert cluster.processes["n1"].core.placing.holding() == (0, 16)


def test_a_node_that_drains_alone_says_what_is_left() -> None:
    """It goes on serving."""
    cluster = started(2, shards=4, copies=2)
    cluster.crash("n2")
    cluster.advance(5_000)
    cluster.tell(Fleet(draining=frozenset({"n1"})))
    cluster.advance(5_000)
    assert owned(cluster)["n1"] == 4
    assert cluster.processes["n1"].core.placing.leftovers() == dict.fromkeys(
        range(4), "no other node is up"
    )


def test_a_shard_without_another_copy_is_drained_by_making_one() -> None:
    """With one copy, too."""
    cluster = started(3, shards=6, copies=1)
    cluster.tell(Fleet(draining=frozenset({"n1"})))
    cluster.until(lambda: owned(cluster)["n1"] == 0)
    cluster.until(lambda: held(cluster)["n1"] == 0)
    assert within_one(owned(cluster), ["n2", "n3"])


def test_a_node_that_is_to_be_restarted_keeps_its_copies() -> None:
    """What it owns goes to members alone; it is back before a copy would be made."""
    cluster = started(4, copies=2)
    copies = held(cluster)["n2"]
    cluster.tell(Fleet(restarting=frozenset({"n2"})))
    cluster.until(lambda: owned(cluster)["n2"] == 0)
    cluster.advance(10_000)
    assert held(cluster)["n2"] == copies


@pytest.mark.parametrize("min_isr", [1, 2])
def test_a_node_that_is_about_to_go_is_let_out_at_once(min_isr: int) -> None:
    """Nobody waits for it, and it does not come back in; never below the minimum."""
    cluster = started(copies=2, min_isr=min_isr)
    cluster.tell(Fleet(restarting=frozenset({"n1"})))
    cluster.until(lambda: owned(cluster)["n1"] == 0)
    cluster.processes["n1"].runner.leave(cluster.now_ms)
    cluster.settle()
    left = cluster.processes["n1"].core.placing.holding()
    assert (left == (0, 0)) == (min_isr == 1)
    cluster.advance(2_000)
    assert cluster.processes["n1"].core.placing.holding() == left
    for shard in range(cluster.record.shards):
        cluster.propose(shard, "m")
    cluster.settle()
    acknowledged = [p.host.acknowledged for p in cluster.processes.values()]
    assert sum(len(done) for done in acknowledged) == 16
    cluster.crash("n1")
    cluster.start("n1")
    cluster.tell(Fleet())
    cluster.until(lambda: is_even(cluster))


def test_a_node_that_stands_down_is_waited_for_by_nobody() -> None:
    """Its followers claim what it owned, and the owners let it out: in one step."""
    cluster = started(copies=3)
    cluster.processes["n1"].runner.stand_down(cluster.now_ms)
    cluster.advance(200)
    assert held(cluster)["n1"] == 0
    assert owned(cluster)["n1"] == 0
    assert served(cluster)


def test_nothing_is_given_to_a_node_that_is_short_of_memory() -> None:
    """It goes on with what it has."""
    cluster = started(copies=2, extra_nodes=["n4"])
    cluster.tell(Fleet(full=frozenset({"n4"})))
    cluster.start("n4")
    cluster.advance(30_000)
    assert held(cluster)["n4"] == 0
    plan = cluster.processes["n1"].core.placing.plan()
    assert {(reason.code, reason.about) for reason in plan.reasons} >= {
        ("node_full", "n4")
    }
