"""What an owner appends, sends, commits, and whom it keeps."""

from __future__ import annotations

import pytest

from hotseat.runtime.errors import NotServing, ProposalsFull, TooFewCopies
from hotseat.runtime.replication.message import Acked, Append, Join, Nacked, Resigned
from hotseat.runtime.replication.options import ReplicationOptions
from hotseat.runtime.replication.output import Appended
from hotseat.runtime.replication.role import Role

from .stage import Bench, item


def served(nodes: str = "abc", **options: object) -> Bench:
    bench = Bench(nodes, **options)  # type: ignore[arg-type]
    bench.begin()
    bench.propose("a", "x")
    bench.run()
    bench["a"].outputs.clear()
    return bench


def isr(bench: Bench) -> list[str]:
    assert bench.record is not None
    return [node for node, _ in bench.record.isr]


def appends(bench: Bench, node: str, to: str) -> list[Append]:
    sends = [send for output in bench[node].outputs for send in output.sends]
    to_it = [send.message for send in sends if send.node == to]
    return [message for message in to_it if isinstance(message, Append)]


def test_a_commit_waits_for_every_member() -> None:
    """One that has not acknowledged is enough to hold it back."""
    bench = served()
    bench.cut = {("a", "c")}
    bench.propose("a", "y")
    bench.run()
    assert bench["a"].committed == []
    bench.cut = set()
    bench.pass_ms(250)
    assert bench["a"].committed == ["y"]


def test_the_owners_own_disk_counts() -> None:
    """What all followers have and the owner's disk has not, is not committed."""
    bench = served("ab", disk=True)
    bench["a"].durable = False
    bench.propose("a", "y")
    bench.run()
    assert bench["a"].committed == []
    bench.persist("a")
    assert bench["a"].committed == ["y"]


def test_many_proposals_of_one_step_are_one_frame() -> None:
    """Batches grow with the load: one frame for each follower, one operation."""
    bench = served()
    core = bench["a"].core
    for name in ("p", "q", "r"):
        core.propose([item(name)], bench.now)
    bench.settle("a")
    assert [len(m.entries) for m in appends(bench, "a", "b")] == [3]
    ops = [op for op in bench["a"].outputs[-1].journal if isinstance(op, Appended)]
    assert [len(op.entries) for op in ops] == [3]


def test_proposals_are_numbered_and_bounded() -> None:
    """Each knows its number; too many that wait for a commit are refused."""
    bench = served("ab", options=ReplicationOptions(uncommitted_entries=3))
    bench.cut = {("a", "b")}
    assert bench.propose("a", "p", "q") == 2
    assert bench.propose("a", "r") == 4
    with pytest.raises(ProposalsFull):
        bench.propose("a", "s")
    with pytest.raises(NotServing):
        bench.propose("b", "s")


def test_what_was_lost_is_sent_again() -> None:
    """After a while without an answer, from behind what is known to be there."""
    bench = served("ab")
    bench.cut = {("a", "b")}
    bench.propose("a", "y")
    bench.run()
    bench.cut = set()
    bench.pass_ms(250)
    assert bench["b"].log() == [(1, "x"), (1, "y")]


def test_a_lost_frame_is_mended_by_a_nack() -> None:
    """The next frame does not join on, and the owner sends what is missing."""
    bench = served("ab")
    bench.cut = {("a", "b")}
    bench.propose("a", "y")
    bench.cut = set()
    bench.propose("a", "z")
    bench.run()
    assert bench["a"].committed == ["y", "z"]


def test_a_follower_may_have_only_so_much_unanswered() -> None:
    """The window bounds what is on its way; the rest follows the answers."""
    options = ReplicationOptions(window_entries=2, append_entries_max=1)
    bench = served("ab", options=options)
    bench.propose("a", "p", "q", "r", "s")
    assert [len(m.entries) for m in appends(bench, "a", "b")] == [1, 1]
    bench.run()
    assert bench["a"].committed == ["p", "q", "r", "s"]


def test_a_follower_that_is_silent_is_evicted() -> None:
    """After `evict_ms`, and no earlier; then the shard goes on without it."""
    bench = served()
    bench.cut = {("c", "a"), ("c", "b")}
    bench.propose("a", "y")
    bench.pass_ms(bench.options.evict_ms - 50)
    assert isr(bench) == ["a", "b", "c"]
    assert bench["a"].committed == []
    bench.pass_ms(200)
    assert isr(bench) == ["a", "b"]
    assert bench["a"].committed == ["y"]


def test_a_follower_whose_disk_refuses_is_evicted() -> None:
    """It is heard, and makes no progress."""
    bench = served("abc", disk=True)
    bench["c"].durable = False
    bench.propose("a", "y")
    bench.pass_ms(bench.options.evict_ms + 200)
    assert isr(bench) == ["a", "b"]
    assert bench["a"].committed == ["y"]


def test_a_follower_that_stays_behind_its_window_is_evicted() -> None:
    """A disk that takes a little now and then makes progress, and holds up all."""
    options = ReplicationOptions(window_entries=4, append_entries_max=1)
    bench = served("abc", disk=True, options=options)
    bench["c"].durable = False
    proposed = 0
    for _ in range(40):
        bench.propose("a", *(f"p{proposed + n}" for n in range(6)))
        proposed += 6
        bench.pass_ms(100)
        if bench["c"].tickets:
            bench.persist("c")
        if isr(bench) == ["a", "b"]:
            break
    assert isr(bench) == ["a", "b"]
    assert bench["a"].core.commit > 4  # it did make progress
    bench.run()
    assert len(bench["a"].committed) == proposed


def test_a_follower_that_was_behind_and_caught_up_stays() -> None:
    """A full window for a moment is the ordinary course of a burst."""
    options = ReplicationOptions(window_entries=2, append_entries_max=1)
    bench = served("ab", options=options)
    for _ in range(20):
        bench.propose("a", "p", "q", "r", "s")
        bench.pass_ms(100)
    assert isr(bench) == ["a", "b"]


def test_a_follower_whose_process_is_gone_is_evicted_at_once() -> None:
    """Its node refuses connections: silence need not be waited for."""
    bench = served()
    bench.kill("c")
    bench["a"].core.refused("c", bench.now)
    bench.settle("a")
    bench.run()
    assert isr(bench) == ["a", "b"]


def test_who_is_being_evicted_counts_until_it_is_known_to_be_out() -> None:
    """The write may not have landed: a takeover could still be that replica's."""
    bench = served()
    bench.cut = {("a", "c"), ("c", "a")}
    bench["a"].core.refused("c", bench.now + 1)
    bench.propose("a", "y")
    assert bench["a"].writes
    bench.write("a", land=False)
    while bench.queue:
        bench.deliver()
    assert bench["a"].committed == []


def test_who_is_asked_to_join_counts_at_once() -> None:
    """The write may have landed: then that replica may take over already."""
    bench = Bench("ab")
    bench.read("a")
    bench.read("b")
    bench.write("a")
    bench.settle("a")
    bench.write("a")
    bench.read("b")
    while bench.queue:
        bench.deliver()
    assert [node for node, _ in bench["a"].writes[0].record.isr] == ["a", "b"]
    bench.cut = {("a", "b")}
    bench.propose("a", "y")
    assert bench["a"].committed == []


def test_an_eviction_of_unknown_outcome_is_resolved_by_another_write() -> None:
    """With a fresh nonce, from the same revision; a read of the old one is nothing."""
    bench = served()
    bench.kill("c")
    bench["a"].core.refused("c", bench.now)
    bench.settle("a")
    first = bench["a"].writes[0]
    bench.write("a", land=False)
    bench.read("a")
    assert bench["a"].core.register.unresolved()
    bench.now += bench.options.cas_pause_ms
    bench.settle("a")
    assert bench["a"].writes[0].expected == first.expected
    bench.run()
    assert isr(bench) == ["a", "b"]
    assert not bench["a"].core.register.unresolved()


def test_an_edit_of_the_record_does_not_end_the_epoch() -> None:
    """Owner and epoch are still mine: adopt it, and decide again."""
    bench = served("abc", want="ab")
    assert isr(bench) == ["a", "b"]
    bench.edit(want=("a", "c"))
    bench.run()
    bench.pass_ms(500)
    assert bench.owner() == "a"
    assert bench["a"].core.epoch == 1
    assert isr(bench) == ["a", "c"]


def test_never_below_min_isr() -> None:
    """Then the shard is degraded, and says so."""
    bench = served("ab", min_isr=2)
    bench.kill("b")
    bench.pass_ms(2000)
    assert isr(bench) == ["a", "b"]
    with pytest.raises(TooFewCopies):
        bench.propose("a", "y")


def test_after_a_takeover_below_min_isr_commits_wait_for_a_join() -> None:
    """The claim is allowed; nothing is committed until there are enough copies."""
    bench = served("abc", want="ab", min_isr=2)
    bench.cut = {("b", "a")}
    bench.propose("a", "y")
    bench.run()
    bench.kill("a")
    bench.pass_ms(2000)
    assert bench["b"].core.role is Role.OWNER
    assert bench["b"].committed == ["x"]
    bench.edit(want=("b", "c"))
    bench.pass_ms(1000)
    assert bench.owner() == "b"
    assert bench["b"].committed == ["x", "y"]
    assert isr(bench) == ["b", "c"]


def test_a_replica_that_lost_its_memory_is_replaced_by_its_next_life() -> None:
    """One write takes the old identity out and the new one in, even at min_isr."""
    bench = served("ab", min_isr=2)
    assert bench.record is not None
    before = bench.record.isr
    bench.kill("b")
    bench.start("b")
    bench.read("b")
    bench.pass_ms(1000)
    assert isr(bench) == ["a", "b"]
    assert bench.record.isr != before
    bench.propose("a", "y")
    bench.pass_ms(200)
    assert bench["b"].committed == ["x", "y"]


def test_a_learner_joins_only_with_all_below_the_read_floor() -> None:
    """What a former owner acknowledged may be beyond the commit that is known here."""
    options = ReplicationOptions(append_entries_max=1)
    bench = served("abcd", want="abc", options=options)
    bench.filter = lambda sender, to, message: not isinstance(message, Acked)
    bench.propose("a", "y")
    bench.run()
    bench.kill("a")
    # "b" takes over; its tail ("y") cannot be committed while "c" does not answer, and
    # the learner "d" does not get it.
    bench.filter = lambda sender, to, message: (
        sender != "c"
        and not (to == "d" and isinstance(message, Append) and message.prev_seq == 1)
    )
    bench["b"].core.refused("a", bench.now)
    bench.settle("b")
    bench.write("b")
    bench.edit(want=("b", "c", "d"))
    bench.pass_ms(500)
    assert bench.role("b") is Role.OWNER
    assert (bench["b"].core.commit, bench["b"].core.last_seq) == (1, 2)
    acked = Acked(0, 2, bench["d"].me.ident, 0, 99, 1)
    bench["b"].core.received("d", acked, bench.now)
    bench.settle("b")
    bench.run()
    assert isr(bench) == ["b", "c"]
    bench.filter = None
    bench.pass_ms(500)
    assert isr(bench) == ["b", "c", "d"]
    assert bench["d"].committed == ["x", "y"]


def test_a_learner_without_the_game_does_not_join() -> None:
    """It could not play the matches that it would own."""
    bench = Bench("ab")
    bench["a"].me.unfit = {0: frozenset("b")}
    bench.begin()
    bench.pass_ms(500)
    assert isr(bench) == ["a"]
    bench["a"].me.unfit = {}
    bench.pass_ms(500)
    assert isr(bench) == ["a", "b"]


def test_answers_of_an_earlier_process_count_for_nothing() -> None:
    """Another identity, or an earlier start."""
    bench = served("ab")
    bench.cut = {("a", "b")}
    bench.propose("a", "y")
    core = bench["a"].core
    ident = bench["b"].me.ident
    core.received("b", Acked(0, 1, "b-older", 0, 99, 2), bench.now)
    core.received("b", Acked(0, 1, ident, -1, 99, 2), bench.now)
    core.received("b", Acked(0, 2, ident, 0, 99, 2), bench.now)
    bench.settle("a")
    assert bench["a"].committed == []
    core.received("b", Acked(0, 1, ident, 0, 99, 2), bench.now)
    bench.settle("a")
    assert bench["a"].committed == ["y"]


def test_a_replica_that_loses_what_it_acknowledged_raises_an_alarm() -> None:
    """A frame sent right behind its acknowledgement does not join on: once. It leaves
    the in-sync set, and comes back as a learner."""
    bench = served("ab")
    bench.cut = {("a", "b")}
    bench.propose("a", "y")
    bench.pass_ms(300)
    resent = appends(bench, "a", "b")[-1]
    assert resent.prev_seq == 1
    ident = bench["b"].me.ident
    nacked = Nacked(0, 1, ident, 0, resent.serial, 0)
    bench["a"].core.received("b", nacked, bench.now)
    bench.settle("a")
    alarms = [alarm.code for out in bench["a"].outputs for alarm in out.alarms]
    assert alarms == ["acknowledged_lost"]
    bench.cut = set()
    bench.run()
    bench.pass_ms(1_000)
    assert bench.record is not None
    assert [node for node, _ in bench.record.isr] == ["a", "b"]
    assert bench["b"].committed[-1] == "y"
    again = [alarm for out in bench["a"].outputs for alarm in out.alarms]
    assert len(again) == len(alarms)


def test_after_a_failed_persist_nothing_more_is_appended_in_the_epoch() -> None:
    """The owner resigns; what nobody else has seen is gone, and told so."""
    bench = served("ab", disk=True)
    bench["a"].durable = False
    bench.propose("a", "y")
    bench.fail_disk("a")
    out = bench["a"].outputs[-1]
    assert [(d.epoch, d.unsent_from) for d in out.demoted] == [(1, 3)]
    sent = [s.message for s in out.sends]
    assert [type(message) for message in sent] == [Resigned]
    with pytest.raises(NotServing):
        bench.propose("a", "z")
    bench.run()
    bench.pass_ms(300)
    assert bench.owner() == "b"
    assert bench["b"].committed == ["x", "y"]


def test_what_only_a_refusing_disk_was_asked_to_hold_is_dropped() -> None:
    """A lone owner's record was seen by nobody: it may be told `not_committed`."""
    bench = served("a", disk=True)
    bench["a"].durable = False
    bench.propose("a", "y")
    bench.fail_disk("a")
    out = bench["a"].outputs[-1]
    assert [(d.epoch, d.unsent_from) for d in out.demoted] == [(1, 2)]
    assert bench["a"].log() == [(1, "x")]
    bench["a"].core.disk_ok(bench.now)
    bench["a"].durable = True
    bench.settle("a")
    bench.run()
    assert bench.owner() == "a"
    assert bench["a"].core.epoch == 2
    assert bench.propose("a", "z") == 2
    assert bench["a"].log() == [(1, "x"), (2, "z")]


def test_an_idle_follower_that_started_anew_is_noticed() -> None:
    """It introduces itself, and the owner goes on from where it stands."""
    bench = served("ab")
    core = bench["a"].core
    core.received("b", Join(0, 1, bench["b"].me.ident, 0, 1), bench.now)
    bench.settle("a")
    assert [m.prev_seq for m in appends(bench, "a", "b")] == [1]


def test_an_idle_owner_looks_again_for_a_learner_that_was_not_heard() -> None:
    """Nothing but its own timer brings it back to a node that was away."""
    bench = Bench("ab")
    away = {("a", "b"), ("b", "a")}
    bench.cut = set(away)
    bench.begin()
    bench.pass_ms(2000)
    assert isr(bench) == ["a"]
    due = bench["a"].core.due_ms()
    assert due is not None
    assert bench.now < due <= bench.now + bench.options.retransmit_ms
    bench.cut = set()
    bench.pass_ms(300)
    assert isr(bench) == ["a", "b"]


def test_the_kept_log_is_bounded() -> None:
    """Committed entries leave the memory, but for some that learners may need."""
    options = ReplicationOptions(kept_entries=8)
    bench = served("ab", options=options)
    for number in range(60):
        bench.propose("a", f"n{number}")
        bench.run()
    for node in "ab":
        assert len(bench[node].core.data.log) <= 10
        assert bench[node].core.last_seq == 61
