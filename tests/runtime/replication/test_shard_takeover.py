"""Who becomes the owner, when, and how."""

from __future__ import annotations

import msgspec

from hotseat.runtime.control_plane import SHARDS_MAX, Keys, ShardRecord
from hotseat.runtime.replication.message import Append, Fenced, HandedOver, Resigned
from hotseat.runtime.replication.output import Attach, Detach
from hotseat.runtime.replication.recovered import RecoveredShard
from hotseat.runtime.replication.role import Role

from .stage import Bench


def served(nodes: str = "abc", **options: object) -> Bench:
    bench = Bench(nodes, **options)  # type: ignore[arg-type]
    bench.begin()
    bench.propose("a", "x")
    bench.run()
    return bench


def test_the_next_wanted_one_claims_a_new_shard_that_the_first_leaves_alone() -> None:
    """Each place in `want` waits a second longer."""
    bench = Bench("bc", want="abc")
    for node in "bc":
        bench.read(node)
    bench.run()
    bench.pass_ms(900)
    assert bench.owner() is None
    bench.pass_ms(200)
    assert bench.owner() == "b"


def test_only_the_in_sync_set_takes_over() -> None:
    """A learner never claims, however long the owner is silent."""
    bench = served("ab", want="a")
    bench.kill("a")
    bench.pass_ms(10_000)
    assert bench.owner() is None
    assert bench.role("b") is Role.IDLE


def test_a_refused_connection_is_enough() -> None:
    """The owner's process is gone: the first in line claims at once."""
    bench = served()
    bench.kill("a")
    bench["b"].core.refused("a", bench.now)
    bench.settle("b")
    bench.run()
    assert bench.role("b") is Role.OWNER


def test_followers_wait_by_their_place() -> None:
    """Not all of them claim at the same moment."""
    bench = served()
    bench.kill("a")
    for node in "bc":
        bench[node].core.refused("a", bench.now)
    bench.settle("c")
    assert bench.role("c") is Role.FOLLOWER
    assert bench["c"].core.due_ms() == bench.now + bench.options.stagger_ms


def test_an_owner_that_is_heard_is_left_alone() -> None:
    """Cut off from the coordinator alone, it keeps its shard."""
    bench = served()
    bench.reach_record.discard("a")
    bench.pass_ms(10_000)
    assert bench.owner() == "a"


def test_the_promise_is_durable_before_the_claim() -> None:
    """A claim whose promise a crash could forget is not written."""
    bench = served("ab", disk=True)
    bench["b"].durable = False
    bench.kill("a")
    bench["b"].core.refused("a", bench.now)
    bench.settle("b")
    assert bench.role("b") is Role.CANDIDATE
    assert not bench["b"].writes
    bench.persist("b")
    assert len(bench["b"].writes) == 1


def test_a_claim_leaves_the_old_owner_out() -> None:
    """Epoch + 1, the in-sync set without the old owner."""
    bench = served()
    bench.kill("a")
    bench["b"].core.refused("a", bench.now)
    bench.settle("b")
    claim = bench["b"].writes[0].record
    assert (claim.owner, claim.epoch) == ("b", 2)
    assert [node for node, _ in claim.isr] == ["b", "c"]


def test_a_claim_of_unknown_outcome_is_written_again_from_the_same_revision() -> None:
    """Until the revision moves, nobody knows; a read of the old one proves nothing."""
    bench = served("ab")
    bench.kill("a")
    bench["b"].core.refused("a", bench.now)
    bench.settle("b")
    late = bench["b"].writes[0]
    bench.write("b", land=False)
    bench.read("b")
    assert not bench["b"].writes
    bench.now += bench.options.cas_pause_ms
    bench.settle("b")
    again = bench["b"].writes[0]
    assert again.expected == late.expected
    assert again.nonce != late.nonce
    bench.apply(late)
    bench.write("b")
    bench.read("b")
    bench.settle("b")
    assert bench.role("b") is Role.OWNER
    assert bench["b"].core.epoch == 2


def test_a_candidate_gives_up_when_another_one_owns_the_epoch() -> None:
    """It follows whoever won."""
    bench = served()
    bench.kill("a")
    for node in "bc":
        bench[node].core.refused("a", bench.now)
        bench.settle(node)
    bench.now += 100
    bench.settle("c")
    assert bench.role("c") is Role.CANDIDATE
    bench.write("c")
    bench.read("b")
    bench.run()
    assert bench.role("c") is Role.OWNER
    assert bench.role("b") is Role.FOLLOWER


def test_a_candidate_that_is_evicted_claims_no_more() -> None:
    """The record changed under its claim."""
    bench = served()
    bench["b"].core.takeover.prompted(bench.now)
    bench.settle("b")
    assert bench.role("b") is Role.CANDIDATE
    assert bench.record is not None
    bench.edit(isr=tuple(pair for pair in bench.record.isr if pair[0] != "b"))
    bench["b"].writes.clear()
    bench.pass_ms(100)
    assert bench.role("b") is not Role.CANDIDATE


def test_nothing_is_served_before_the_tail_is_committed() -> None:
    """What was in the log at the promotion may have been acknowledged."""
    bench = served()
    bench.cut = {("b", "a"), ("c", "a")}
    bench.propose("a", "y")
    bench.run()
    bench.kill("a")
    bench["b"].core.refused("a", bench.now)
    bench.cut = {("b", "c")}
    bench.settle("b")
    bench.write("b")
    assert bench.role("b") is Role.OWNER
    assert not bench["b"].core.serving
    assert bench["b"].committed == ["x"]
    bench.cut = set()
    bench.pass_ms(500)
    assert bench["b"].core.serving
    assert bench["b"].committed == ["x", "y"]


def test_a_fenced_owner_never_goes_on_in_its_epoch() -> None:
    """Even if the record still names it, it claims the next one; its log stays."""
    bench = served("ab")
    bench.cut = {("b", "a")}
    bench.propose("a", "y")
    bench.run()
    bench["a"].core.received("b", Fenced(0, 2), bench.now)
    bench.settle("a")
    assert [d.epoch for out in bench["a"].outputs for d in out.demoted] == [1]
    assert bench["a"].core.last_seq == 2
    bench.cut = set()
    bench.run()
    bench.pass_ms(300)
    assert bench.owner() == "a"
    assert bench["a"].core.epoch == 2
    assert bench["a"].committed == ["x", "y"]


def test_an_owner_that_sees_another_one_in_the_record_steps_down() -> None:
    """And it follows, with its log as it was."""
    bench = served("ab")
    assert bench.record is not None
    pair = bench.record.isr[1]
    bench.edit(owner="b", epoch=2, isr=(pair,))
    assert bench.role("a") is Role.LEARNER
    assert bench["a"].log() == [(1, "x")]


def test_a_restarted_owner_claims_the_next_epoch() -> None:
    """With its data whole it stands in the in-sync set, and goes on in epoch 2."""
    bench = Bench("a", disk=True)
    bench.begin()
    bench.propose("a", "x")
    log = bench["a"].core.data.log.between(1, 1)
    ident = bench["a"].me.ident
    bench.kill("a")
    found = RecoveredShard(0, promised=1, entries=log, commit=0)
    bench.start("a", found, ident=ident, boot=2)
    bench.read("a")
    bench.run()
    assert bench.owner() == "a"
    assert bench["a"].core.epoch == 2
    assert bench["a"].committed == ["x"]


def test_a_memory_replica_that_restarted_is_another_replica() -> None:
    """The shard is lost, not begun from nothing."""
    bench = Bench("a")
    bench.begin()
    bench.propose("a", "x")
    bench.kill("a")
    bench.start("a")
    bench.read("a")
    bench.pass_ms(5000)
    assert bench.owner() is None
    assert bench["a"].core.stopped == "shard_lost"


def test_an_owner_that_resigns_is_replaced_at_once() -> None:
    """Its in-sync followers claim without waiting for silence."""
    bench = served()
    bench["a"].me.serving_allowed = False
    bench["a"].core.resign(bench.now)
    bench.settle("a")
    assert bench.role("a") is Role.FOLLOWER
    bench.run()
    bench.pass_ms(100)
    assert bench.owner() == "b"


def test_a_resignation_of_another_epoch_says_nothing() -> None:
    """It was late: an epoch further, somebody else owns the shard."""
    bench = served()
    bench.edit(epoch=5)
    late = Resigned(0, 1, bench["b"].me.ident)
    bench["b"].core.received("a", late, bench.now)
    bench.settle("b")
    assert bench.role("b") is Role.FOLLOWER


def test_an_epoch_that_was_handed_over_is_taken_once() -> None:
    """The promise tells: a process that starts anew claims the next one instead."""
    isr = (("b", "b-data"),)
    record = ShardRecord(owner="b", epoch=5, isr=isr, want=("b",), claim="a.1")
    for promised, epoch in ((4, 5), (5, 6)):
        bench = Bench("b", want="b", disk=True)
        bench.start("b", RecoveredShard(0, promised=promised), ident="b-data")
        bench.record, bench.revision = record, 3
        bench.read("b")
        bench.run()
        assert bench.owner() == "b"
        assert bench["b"].core.epoch == epoch


def test_a_shard_that_is_handed_over_is_looked_for() -> None:
    """The message may be faster than the watch."""
    bench = served("ab")
    handed = HandedOver(0, 2, bench["b"].me.ident)
    bench["b"].core.received("a", handed, bench.now)
    bench.settle("b")
    assert bench["b"].outputs[-1].list_again


def test_a_record_of_a_lower_epoch_stops_the_shard() -> None:
    """The coordinator went back: an operator must raise the epochs."""
    bench = served("ab")
    bench.edit(epoch=4)
    bench.edit(epoch=3)
    assert bench["b"].core.stopped == "epoch_went_back"
    bench["b"].core.received("a", Append(0, 9, "", 1, 0, 0, (), 0, 0), bench.now)
    bench.edit(epoch=5)
    assert bench["b"].core.stopped is None


def test_an_epoch_has_one_owner_whatever_the_record_says() -> None:
    """The coordinator went back, and somebody claimed from there."""
    bench = served("ab")
    bench.edit(owner="b")
    for node in "ab":
        assert bench[node].core.stopped == "epoch_went_back"
    bench.edit(epoch=9)
    assert bench["a"].core.stopped is None


def test_a_log_tells_of_the_epochs_that_there_were() -> None:
    """Who starts anew has read no record; but its entries were appended in epochs."""
    bench = served("ab")
    log = bench["b"].core.data.log
    entries = log.between(1, log.last_seq)
    bench.kill("b")
    assert bench.record is not None
    bench.record = msgspec.structs.replace(bench.record, epoch=0, owner=None)
    bench.start("b", RecoveredShard(0, 1, 0, 0, entries, 1), "b2")
    bench.read("b")
    assert bench["b"].core.stopped == "epoch_went_back"


def test_a_replica_without_the_game_lets_the_others_claim_first() -> None:
    """It would own matches that it cannot play."""
    bench = served()
    for node in "bc":
        bench[node].me.unfit = {0: frozenset("b")}
    bench.kill("a")
    bench.pass_ms(1500)
    assert bench.owner() == "c"


def leaving(*committed: str) -> Bench:
    """A match that has logged, under a former owner, that it leaves; the new owner has
    committed these since, and is told to pin it."""
    bench = served("ab")
    bench.kill("a")
    bench.pass_ms(1500)
    assert bench.owner() == "b"
    bench.propose("b", *committed)
    b = bench["b"]
    b.me.keys = Keys("test")
    b.me.pins.cap = 1
    b.me.pins.complete = bench.revision
    b.me.pins.left(0, "x", SHARDS_MAX + 1, 1)
    b.core.pin("x", bench.now)
    bench.settle("b")
    return bench


def test_what_a_former_owner_logged_last_may_not_have_been_its_last() -> None:
    """Its tail may go on behind, and come back: nothing outside of the log is decided
    before something of the own epoch is committed. The match stays."""
    bench = leaving()
    assert not bench["b"].writes
    assert bench["b"].all("pin_asks") == [Detach(0, "x"), Attach(0, "x")]
    bench = leaving("y")
    (write,) = bench["b"].writes
    assert len(write.companions) == 2
