"""A shard whose in-sync set is gone goes on from an old copy, if it is told to."""

from __future__ import annotations

import pytest

from hotseat.runtime.errors import RecoveryRefused
from hotseat.runtime.replication.options import ReplicationOptions
from hotseat.runtime.replication.output import Promised
from hotseat.runtime.replication.recovered import RecoveredShard
from hotseat.runtime.replication.recovery import EPOCH_MARGIN, RecoveryOrder

from .stage import Bench

GONE = RecoveryOrder(dead=frozenset("ab"), unclean=True)


def lost(*, disk: bool = False, options: ReplicationOptions | None = None) -> Bench:
    """ "a" and "b" have "new"; both are gone. "c" left the in-sync set before."""
    bench = Bench("abc", disk=disk, options=options)
    bench.begin()
    bench.propose("a", "old")
    bench.pass_ms(300)
    bench.cut = {(x, y) for x in "abc" for y in "abc" if "c" in (x, y) and x != y}
    bench.pass_ms(1000)
    assert isr(bench) == "ab"
    bench.propose("a", "new")
    bench.pass_ms(300)
    bench.kill("a")
    bench.kill("b")
    bench.cut = set()
    return bench


def isr(bench: Bench) -> str:
    assert bench.record is not None
    return "".join(sorted(node for node, _ in bench.record.isr))


def order(bench: Bench, node: str, wanted: RecoveryOrder = GONE) -> int:
    epoch = bench[node].core.recover(wanted, bench.now)
    bench.settle(node)
    bench.run()
    return epoch


def refused(bench: Bench, node: str, wanted: RecoveryOrder) -> str:
    with pytest.raises(RecoveryRefused) as caught:
        bench[node].core.recover(wanted, bench.now)
    bench.settle(node)
    return caught.value.code


def alarms(bench: Bench, node: str) -> list[str]:
    return [alarm.code for output in bench[node].outputs for alarm in output.alarms]


def log(bench: Bench, node: str) -> list[str]:
    return [name for _, name in bench[node].log()]


def test_it_never_begins_by_itself_and_goes_on_when_it_is_told() -> None:
    """In an epoch above all, and another history; who comes anew joins as ever."""
    bench = lost()
    bench.pass_ms(10_000)
    assert bench.owner() is None
    before = bench.record
    assert before is not None
    epoch = order(bench, "c")
    assert bench.owner() == "c"
    assert bench.record is not None
    assert bench.record.epoch == bench.record.history == epoch
    assert epoch == max(before.epoch, 1) + EPOCH_MARGIN
    assert isr(bench) == "c"
    assert log(bench, "c") == ["old"]
    bench.propose("c", "after")
    bench.start("a")
    bench.start("b")
    for node in "ab":
        bench.read(node)
    bench.pass_ms(1000)
    assert isr(bench) == "abc"
    assert [log(bench, node) for node in "abc"] == [["old", "after"]] * 3
    assert bench.record.history == epoch


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (RecoveryOrder(dead=frozenset("ab")), "needs_unclean"),
        (RecoveryOrder(unclean=True), "member_not_named"),
        (RecoveryOrder(dead=frozenset("a"), unclean=True), "member_not_named"),
        (RecoveryOrder(restored=True, unclean=True), "not_needed"),
    ],
)
def test_it_is_asked_for_with_everything_that_is_given_up(
    wanted: RecoveryOrder, code: str
) -> None:
    """Else nothing happens, and nothing is promised."""
    bench = lost()
    promised = bench["c"].core.data.promised
    assert refused(bench, "c", wanted) == code
    assert bench["c"].core.data.promised == promised
    assert not bench["c"].writes


def test_a_member_that_lives_is_not_overruled() -> None:
    """Registered, or just heard of; one that is another replica by now is no member."""
    bench = lost()
    me = bench["c"].me
    me.registered |= {"b"}
    assert refused(bench, "c", GONE) == "member_lives"
    me.registered -= {"b"}
    me.heard["a"] = bench.now - 100
    assert refused(bench, "c", GONE) == "member_lives"
    me.heard.clear()
    me.registered |= {"a", "b"}
    me.idents.update(a="another", b="another")
    order(bench, "c")
    assert bench.owner() == "c"


def test_who_is_in_sync_needs_no_recovery() -> None:
    """Nor does an owner, or a shard that nobody ever owned."""
    bench = Bench("ab")
    bench.read("a")
    assert refused(bench, "a", GONE) == "not_needed"
    bench = Bench("ab")
    bench.begin()
    for node in "ab":
        assert refused(bench, node, GONE) == "not_needed"


def test_a_node_without_a_copy_begins_with_nothing_only_if_told() -> None:
    """All copies are gone: the shard's matches are, too."""
    bench = lost()
    bench.kill("c")
    bench.start("d")
    bench.reach_record.add("d")
    bench.read("d")
    named = frozenset("ab")
    assert refused(bench, "d", RecoveryOrder(named, unclean=True)) == "no_copy"
    order(bench, "d", RecoveryOrder(named, unclean=True, empty=True))
    assert bench.owner() == "d"
    assert bench.record is not None
    assert bench.record.want[0] == "d"
    bench.propose("d", "first")
    assert log(bench, "d") == ["first"]


def test_the_promise_is_durable_before_the_record_is_written() -> None:
    """Whatever epochs others are known to have promised."""
    bench = lost(disk=True)
    bench["c"].durable = False
    epoch = order(bench, "c", RecoveryOrder(frozenset("ab"), unclean=True, above=70))
    assert epoch == 70 + EPOCH_MARGIN
    assert not bench["c"].writes
    assert bench["c"].core.recovering
    ops = [op for output in bench["c"].outputs for op in output.journal]
    assert Promised(0, epoch) in ops
    bench["c"].durable = True
    bench.persist("c")
    bench.run()
    assert bench.owner() == "c"
    assert not bench["c"].core.recovering


@pytest.mark.parametrize("landed", [False, True])
def test_a_write_without_an_answer_is_tried_until_it_is_known(landed: bool) -> None:
    """As every other write of the record."""
    bench = lost()
    bench["c"].core.recover(GONE, bench.now)
    bench.settle("c")
    bench.write("c", land=landed, known=False)
    assert bench.owner() is None
    bench.pass_ms(1000)
    assert bench.owner() == "c"


def test_an_edit_meanwhile_does_not_matter_and_another_owner_does() -> None:
    """The order is judged again by each record that is read."""
    bench = lost(disk=True)
    bench["c"].durable = False
    order(bench, "c")
    bench.edit(want=("c", "a"))
    assert bench["c"].core.recovering
    bench.edit(owner="a", epoch=200, isr=(("a", "other"),))
    assert not bench["c"].core.recovering
    bench["c"].durable = True
    bench.persist("c")
    bench.run()
    assert bench.owner() is None


@pytest.mark.parametrize("kept", [4096, 4])
@pytest.mark.parametrize("more", [0, 30])
def test_a_member_that_comes_back_after_all_gives_up_its_history(
    kept: int, more: int
) -> None:
    """What it had is longer, and was acknowledged: it is told, and replaced."""
    bench = lost(disk=True, options=ReplicationOptions(kept_entries=kept))
    epoch = order(bench, "c")
    for number in range(more):
        bench.propose("c", f"n{number}")
        bench.run()
    old = RecoveredShard(0, promised=1, base_seq=2, base_epoch=1, commit=2)
    bench.start("b", old, ident="b2")
    bench.read("b")
    for _ in range(20):
        bench.pass_ms(300)
        bench.feed_pages("c", 1)
    assert isr(bench) == "bc"
    assert bench.owner() == "c"
    assert bench["b"].core.data.last_seq == bench["c"].core.data.last_seq
    assert bench["b"].core.stopped is None
    assert set(alarms(bench, "b")) <= {"history_replaced"}
    assert bench["b"].core.data.promised == epoch


def test_a_coordinator_that_was_restored_is_overruled_by_a_higher_epoch() -> None:
    """Its record is of an epoch long ago: nobody believes it, until one is written
    above all that were ever reached."""
    bench = Bench("abc")
    bench.begin()
    bench.propose("a", "x")
    bench.pass_ms(300)
    old = bench.record
    assert old is not None
    bench.kill("a")
    bench.pass_ms(2000)
    owner = bench.owner()
    assert owner is not None
    bench.propose(owner, "y")
    bench.pass_ms(300)
    reached = bench.record
    assert reached is not None
    bench.edit(owner=old.owner, epoch=old.epoch, isr=old.isr)
    bench.pass_ms(5000)
    assert bench.owner() is None
    assert {bench[node].core.stopped for node in "bc"} == {"epoch_went_back"}
    named = RecoveryOrder(dead=frozenset("abc"), unclean=True)
    assert refused(bench, owner, named) == "epoch_went_back"
    epoch = order(bench, owner, RecoveryOrder(restored=True))
    assert epoch > reached.epoch
    bench.pass_ms(1000)
    assert bench.owner() == owner
    assert isr(bench) == "bc"
    for node in "bc":
        assert log(bench, node) == ["x", "y"]


def test_a_process_that_knows_only_its_promise_can_raise_the_epoch() -> None:
    """All was restarted after the coordinator was restored."""
    bench = lost(disk=True)
    bench.kill("c")
    entry = RecoveredShard(0, promised=9, base_seq=3, base_epoch=7, commit=3)
    bench.start("c", entry, ident="c-new")
    bench.read("c")
    bench.pass_ms(5000)
    assert bench.owner() is None
    epoch = order(bench, "c", RecoveryOrder(restored=True))
    assert epoch == 9 + EPOCH_MARGIN
    assert bench.owner() == "c"
