"""What a follower takes, and what it answers."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from hotseat.runtime.control_plane import ShardRecord
from hotseat.runtime.replication.message import (
    Acked,
    Append,
    Echo,
    Entry,
    Fenced,
    Join,
    Nacked,
    Probe,
)
from hotseat.runtime.replication.options import ReplicationOptions
from hotseat.runtime.replication.output import Appended, Promised, Truncated
from hotseat.runtime.replication.recovered import RecoveredShard
from hotseat.runtime.replication.recovery import RecoveryOrder

from .stage import Bench, Replica

T = TypeVar("T")


def follower(
    *,
    disk: bool = False,
    recovered: RecoveredShard | None = None,
    options: ReplicationOptions | None = None,
) -> Bench:
    """One replica "b", in sync with an owner "a" of epoch 1 that is not here."""
    bench = Bench("b", want="ab", disk=disk, options=options)
    replica = bench.start("b", recovered, ident="b-data")
    replica.durable = not disk
    isr = (("a", "a-data"), ("b", "b-data"))
    bench.record = ShardRecord(owner="a", epoch=1, isr=isr, want=("a", "b"), claim="x")
    bench.revision = 7
    return bench


def entries(epoch: int, first: int, *names: str) -> tuple[Entry, ...]:
    raw = msgspec.Raw(b"\xc0")
    return tuple(Entry(epoch, first + i, name, 0, raw) for i, name in enumerate(names))


def append(
    epoch: int,
    prev: tuple[int, int],
    *new: Entry,
    serial: int = 1,
    commit: int = 0,
    ident: str = "b-data",
) -> Append:
    return Append(0, epoch, ident, serial, prev[0], prev[1], new, commit, 5)


def tell(bench: Bench, *messages: Append | Probe, node: str = "a") -> None:
    for message in messages:
        bench["b"].core.received(node, message, bench.now)
    bench.settle("b")


def answers(replica: Replica, kind: type[T]) -> list[T]:
    sent = [send.message for output in replica.outputs for send in output.sends]
    return [message for message in sent if isinstance(message, kind)]


def test_an_owner_below_the_promise_is_fenced() -> None:
    """A frame of a lower epoch than the promised one changes nothing."""
    bench = follower()
    bench.read("b")
    tell(bench, append(3, (0, 0)))
    tell(bench, append(2, (0, 0), *entries(2, 1, "x")))
    assert answers(bench["b"], Fenced) == [Fenced(0, 3)]
    assert bench["b"].log() == []


def test_a_record_of_a_newer_epoch_fences_the_older_owner() -> None:
    """Whoever has read the record of epoch 4 takes nothing from epoch 3."""
    bench = follower()
    bench.read("b")
    bench.edit(owner="c", epoch=4)
    tell(bench, append(3, (0, 0), *entries(3, 1, "x")))
    assert answers(bench["b"], Fenced) == [Fenced(0, 4)]


def test_a_frame_for_another_identity_is_answered_join() -> None:
    """What an earlier replica on this node acknowledged, this one may not have."""
    bench = follower()
    bench.read("b")
    tell(bench, append(1, (0, 0), *entries(1, 1, "x"), ident="b-older"))
    assert answers(bench["b"], Join) == [Join(0, 1, "b-data", 0, 0)]
    assert bench["b"].log() == []


def test_entries_that_do_not_join_on_are_refused() -> None:
    """A gap, or another epoch before them: `Nacked` with the commit."""
    bench = follower()
    bench.read("b")
    tell(bench, append(1, (0, 0), *entries(1, 1, "x", "y"), commit=1))
    tell(bench, append(1, (3, 1), *entries(1, 4, "z"), serial=2))
    tell(bench, append(2, (2, 2), *entries(2, 3, "z"), serial=3))
    nacks = answers(bench["b"], Nacked)
    assert [(n.epoch, n.serial, n.commit) for n in nacks] == [(1, 2, 1), (2, 3, 1)]
    assert len(bench["b"].log()) == 2


def test_what_is_acknowledged_is_the_frame_and_not_the_log() -> None:
    """A log that is longer than the frame may end in another epoch's tail."""
    bench = follower()
    bench.read("b")
    tell(bench, append(1, (0, 0), *entries(1, 1, "x", "y", "z")))
    tell(bench, append(2, (1, 1), serial=2))
    assert [(a.epoch, a.seq) for a in answers(bench["b"], Acked)] == [(1, 3), (2, 1)]


def test_another_epoch_at_the_same_place_truncates_from_there() -> None:
    """The newer owner's entries replace the tail."""
    bench = follower()
    bench.read("b")
    tell(bench, append(1, (0, 0), *entries(1, 1, "x", "y", "z"), commit=1))
    tell(bench, append(2, (1, 1), *entries(2, 2, "w"), serial=2))
    assert bench["b"].log() == [(1, "x"), (2, "w")]
    ops = [op for output in bench["b"].outputs for op in output.journal]
    assert Truncated(0, 2) in ops


def test_a_new_epoch_alone_truncates_nothing() -> None:
    """The tail beyond the commit may be all that is left of what was acknowledged."""
    bench = follower()
    bench.read("b")
    tell(bench, append(1, (0, 0), *entries(1, 1, "x", "y"), commit=0))
    tell(bench, append(2, (0, 0), serial=2))
    assert bench["b"].log() == [(1, "x"), (1, "y")]


def test_what_is_committed_never_gives_way() -> None:
    """A conflict at or below the commit stops the shard, with an alarm."""
    bench = follower()
    bench.read("b")
    tell(bench, append(1, (0, 0), *entries(1, 1, "x", "y"), commit=2))
    tell(bench, append(2, (1, 1), *entries(2, 2, "w"), serial=2))
    assert bench["b"].outputs[-1].list_again  # the record must be of that epoch
    bench.edit(epoch=2)
    tell(bench, append(2, (1, 1), *entries(2, 2, "w"), serial=3))
    assert bench["b"].core.stopped == "log_conflict"
    assert bench["b"].log() == [(1, "x"), (1, "y")]
    alarms = [alarm.code for output in bench["b"].outputs for alarm in output.alarms]
    assert alarms == ["log_conflict"]


def test_frames_that_come_twice_change_nothing() -> None:
    """A frame that was sent again is acknowledged again."""
    bench = follower()
    bench.read("b")
    frame = append(1, (0, 0), *entries(1, 1, "x", "y"))
    tell(bench, frame)
    tell(bench, frame)
    assert bench["b"].log() == [(1, "x"), (1, "y")]
    assert [a.seq for a in answers(bench["b"], Acked)] == [2, 2]


def test_on_a_disk_nothing_is_acknowledged_before_it_is_durable() -> None:
    """Neither the entries nor the promise of the epoch."""
    bench = follower(disk=True)
    bench.read("b")
    tell(bench, append(1, (0, 0), *entries(1, 1, "x"), commit=1))
    assert answers(bench["b"], Acked) == []
    assert bench["b"].committed == []
    bench.persist("b")
    assert [a.seq for a in answers(bench["b"], Acked)] == [1]
    assert bench["b"].committed == ["x"]
    ops = [type(op) for output in bench["b"].outputs for op in output.journal]
    assert ops[:2] == [Promised, Appended]


def test_only_what_is_known_to_be_equal_is_applied() -> None:
    """The owner's commit may be ahead of what its frames have shown here."""
    bench = follower()
    bench.read("b")
    tell(bench, append(1, (0, 0), *entries(1, 1, "x", "y"), commit=0))
    tell(bench, append(2, (1, 1), serial=2, commit=2))
    assert bench["b"].committed == ["x"]


def test_a_learner_catches_up_little_by_little_and_is_in_sync_then() -> None:
    """A long tail holds nothing up; and who joins has applied all."""
    bench = follower(options=ReplicationOptions(catch_up_entries=2))
    bench.edit(isr=(("a", "a-data"),))
    names = ["v", "w", "x", "y", "z"]
    tell(bench, append(1, (0, 0), *entries(1, 1, *names), commit=4))
    replica, pause_ms = bench["b"], bench.options.catch_up_pause_ms
    assert replica.committed == names[:2]
    due_ms = replica.core.due_ms()
    assert due_ms is not None
    assert pause_ms <= due_ms - bench.now <= 2 * pause_ms
    bench.now = due_ms
    replica.core.tick(bench.now)
    bench.settle("b")
    assert replica.committed == names[:4]
    assert [acked.seq for acked in answers(replica, Acked)] == [2, 5]
    assert not replica.core.follower.withholds


def test_while_it_catches_up_it_is_not_sent_all_again_nor_says_so_at_each_step() -> (
    None
):
    """Now and then it tells how far it is; at the end nothing is asked of it."""
    options = ReplicationOptions(catch_up_entries=1)
    bench = Bench("ab", want="ab", options=options)
    bench.begin()
    bench.cut = {("a", "b"), ("b", "a")}
    bench.pass_ms(1_500)  # it is evicted
    names = [f"m{n}" for n in range(60)]
    bench.propose("a", *names)
    bench["a"].outputs.clear()
    bench["b"].outputs.clear()
    bench.cut = set()
    while bench["b"].committed != names:
        bench.pass_ms(5, step=5)
    bench.pass_ms(1_000, step=5)
    told = answers(bench["b"], Acked)
    assert 3 <= len(told) <= 20, len(told)
    sent = answers(bench["a"], Append)
    assert sum(len(frame.entries) for frame in sent) == 60
    assert bench.record is not None
    assert len(bench.record.isr) == 2


def test_a_learner_that_is_made_the_owner_hands_on_all() -> None:
    """An operator goes on from what it has, while it still catches up."""
    bench = follower(options=ReplicationOptions(catch_up_entries=1))
    bench.edit(isr=(("a", "a-data"),))
    names = ["w", "x", "y"]
    tell(bench, append(1, (0, 0), *entries(1, 1, *names), commit=3))
    assert bench["b"].core.follower.withholds
    order = RecoveryOrder(dead=frozenset("a"), unclean=True)
    bench["b"].core.recover(order, bench.now)
    bench.settle("b")
    bench.pass_ms(1_000)
    assert bench.owner() == "b"
    assert bench["b"].committed[:3] == names


def test_who_is_in_sync_hands_on_all_at_once() -> None:
    """It may have to serve at any moment."""
    bench = follower(options=ReplicationOptions(catch_up_entries=2))
    bench.read("b")
    names = ["v", "w", "x", "y", "z"]
    tell(bench, append(1, (0, 0), *entries(1, 1, *names), commit=5))
    assert bench["b"].committed == names


def test_who_is_far_behind_gives_more_in_a_turn() -> None:
    """Else it would never come nearer to an owner that is played on more than that."""
    bench = follower(options=ReplicationOptions(catch_up_entries=1))
    bench.edit(isr=(("a", "a-data"),))
    names = [f"m{n}" for n in range(2_000)]
    tell(bench, append(1, (0, 0), *entries(1, 1, *names), commit=2_000))
    assert len(bench["b"].committed) > 5


def test_before_the_record_is_read_nothing_is_acknowledged() -> None:
    """A replica that has forgotten its promise does not know whom it may serve."""
    bench = follower()
    tell(bench, append(1, (0, 0), *entries(1, 1, "x")))
    assert answers(bench["b"], Acked) == []
    bench.read("b")
    tell(bench, append(1, (0, 0), *entries(1, 1, "x"), serial=2))
    assert [a.seq for a in answers(bench["b"], Acked)] == [1]


def test_a_promise_that_was_found_on_the_disk_is_enough() -> None:
    """Then the record need not be read first, and the promise is kept."""
    bench = follower(disk=True, recovered=RecoveredShard(0, promised=4))
    tell(bench, append(3, (0, 0)))
    tell(bench, append(4, (0, 0), *entries(4, 1, "x"), serial=2))
    bench.persist("b")
    assert answers(bench["b"], Fenced) == [Fenced(0, 4)]
    assert [a.epoch for a in answers(bench["b"], Acked)] == [4]


def test_an_echo_is_given_only_in_the_promised_epoch() -> None:
    """Neither below it, nor above, nor for another identity."""
    bench = follower()
    bench.read("b")
    tell(bench, append(2, (0, 0)))
    probes = [Probe(0, epoch, ident, read) for epoch, ident, read in PROBES]
    tell(bench, *probes)
    assert [(e.epoch, e.read) for e in answers(bench["b"], Echo)] == [(2, 2)]


PROBES = [(1, "b-data", 1), (2, "b-data", 2), (3, "b-data", 3), (2, "b-older", 4)]


def test_a_candidate_neither_echoes_nor_acknowledges_the_old_epoch() -> None:
    """From the promise on, the old owner gets nothing that it could count."""
    bench = follower()
    bench.read("b")
    tell(bench, append(1, (0, 0), *entries(1, 1, "x")))
    bench["b"].outputs.clear()
    bench.now += 5000
    bench.settle("b")
    assert len(bench["b"].writes) == 1
    tell(bench, append(1, (1, 1), *entries(1, 2, "y"), serial=2))
    tell(bench, Probe(0, 1, "b-data", 1))
    assert answers(bench["b"], Acked) == []
    assert answers(bench["b"], Echo) == []
    assert answers(bench["b"], Fenced) == [Fenced(0, 2), Fenced(0, 2)]


def test_a_follower_whose_disk_refuses_falls_silent_and_comes_back() -> None:
    """It acknowledges nothing that is not durable, and asks for it once more."""
    bench = follower(disk=True)
    bench.read("b")
    bench.persist("b")
    tell(bench, append(1, (0, 0), *entries(1, 1, "x")))
    bench.fail_disk("b")
    tell(bench, append(1, (1, 1), *entries(1, 2, "y"), serial=2))
    assert answers(bench["b"], Acked) == []
    bench["b"].core.disk_ok(bench.now)
    bench.settle("b")
    bench.persist("b")
    assert [a.seq for a in answers(bench["b"], Acked)] == [1]
    again = [op for op in bench["b"].outputs[-2].journal if isinstance(op, Appended)]
    assert [entry.match for op in again for entry in op.entries] == ["x"]
