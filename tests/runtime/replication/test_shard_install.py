"""States travel to a learner that is too far behind for the log."""

from __future__ import annotations

from hotseat.runtime.replication.message import (
    InstallAcked,
    InstallPage,
    ManifestLine,
    Piece,
)
from hotseat.runtime.replication.options import ReplicationOptions
from hotseat.runtime.replication.output import Install, Wiped

from .stage import Bench

OPTIONS = ReplicationOptions(kept_entries=4)


def behind(**options: object) -> Bench:
    """The owner's log begins long behind what the learner "b" has."""
    bench = Bench("ab", want="a", options=OPTIONS, **options)  # type: ignore[arg-type]
    bench.begin()
    for number in range(20):
        bench.propose("a", f"n{number}")
    bench.run()
    bench.edit(want=("a", "b"))
    bench.run()
    return bench


def pages(bench: Bench) -> list[InstallPage]:
    sends = [s.message for output in bench["a"].outputs for s in output.sends]
    return [message for message in sends if isinstance(message, InstallPage)]


def feed(bench: Bench, count: int = 3) -> None:
    """The host gives page after page; all is delivered."""
    while bench.feed_pages("a", count):
        bench.run()


def isr(bench: Bench) -> list[str]:
    assert bench.record is not None
    return [node for node, _ in bench.record.isr]


def test_a_learner_is_sent_states_then_the_log_from_their_cut() -> None:
    """And joins when it has all of it."""
    bench = behind()
    feed(bench)
    bench.run()
    assert isr(bench) == ["a", "b"]
    assert bench["b"].core.commit == 20
    bench.propose("a", "after")
    bench.pass_ms(200)
    assert bench["b"].committed == ["after"]
    installs = [i for output in bench["b"].outputs for i in output.installs]
    assert [(i.page, i.last) for i in installs] == [(0, False), (1, False), (2, True)]


def test_the_first_page_wipes_and_the_last_one_completes() -> None:
    """Between them the learner's data are worth nothing, should it crash."""
    bench = behind()
    feed(bench)
    ops = [op for output in bench["b"].outputs for op in output.journal]
    wipes = [op for op in ops if isinstance(op, Wiped)]
    assert wipes == [Wiped(0, 0, 0, False), Wiped(0, 20, 1, True)]


def test_what_is_appended_meanwhile_is_kept_for_the_learner() -> None:
    """The log behind the cut does not leave the memory before it is sent."""
    bench = behind()
    bench.feed_pages("a")
    bench.run()
    for number in range(10):
        bench.propose("a", f"m{number}")
        bench.run()
    feed(bench, 2)
    bench.run()
    assert isr(bench) == ["a", "b"]
    assert bench["b"].committed == [f"m{number}" for number in range(10)]


def test_a_page_that_is_lost_is_sent_again() -> None:
    """After a while without an answer."""
    bench = behind()
    bench.cut = {("a", "b")}
    bench.feed_pages("a", 1)
    bench.cut = set()
    bench.pass_ms(300)
    assert isr(bench) == ["a", "b"]


def test_a_page_that_comes_again_wipes_nothing() -> None:
    """Neither in this install, nor after it."""
    bench = behind()
    feed(bench)
    bench.propose("a", "after")
    bench.pass_ms(200)
    log = bench["b"].log()
    for page in pages(bench):
        bench["b"].core.received("a", page, bench.now)
    bench.settle("b")
    assert bench["b"].log() == log
    assert bench["b"].core.commit == 21


def test_a_page_for_an_earlier_start_wipes_nothing() -> None:
    """The process started anew since, on the same data."""
    bench = behind(disk=True)
    feed(bench)
    bench["b"].me.boot = 1
    late = InstallPage(0, 1, bench["b"].me.ident, 9, 0, 20, 1, (), False, 0)
    bench["b"].core.received("a", late, bench.now)
    bench.settle("b")
    assert bench["b"].core.commit == 20


def test_an_in_sync_replica_takes_no_install() -> None:
    """What it holds was acknowledged."""
    bench = Bench("ab")
    bench.begin()
    bench.propose("a", "x")
    bench.run()
    me = bench["b"].me
    page = InstallPage(0, 1, me.ident, 1, 0, 5, 1, (), True, me.boot)
    bench["b"].core.received("a", page, bench.now)
    bench.settle("b")
    assert bench["b"].log() == [(1, "x")]
    assert not any(isinstance(i, Install) for i in bench["b"].all("installs"))


def test_the_end_of_an_install_is_acknowledged_when_it_is_durable() -> None:
    """Only then does the owner count it."""
    bench = behind(disk=True)
    bench["b"].durable = False
    bench.feed_pages("a", 1)
    while bench.queue:
        bench.deliver()
    sent = [s.message for output in bench["b"].outputs for s in output.sends]
    assert not any(isinstance(message, InstallAcked) for message in sent)
    bench.persist("b")
    sent = [s.message for output in bench["b"].outputs for s in output.sends]
    assert [m.page for m in sent if isinstance(m, InstallAcked)] == [0]


def test_pages_that_a_failing_disk_lost_are_asked_for_again() -> None:
    """The learner stands nowhere, and the owner begins another install."""
    bench = behind(disk=True)
    bench["b"].durable = False
    bench.feed_pages("a", 1)
    while bench.queue:
        bench.deliver()
    bench.fail_disk("b")
    bench["b"].durable = True
    bench["b"].core.disk_ok(bench.now)
    bench.settle("b")
    for _ in range(80):
        bench.pass_ms(100)
        bench.feed_pages("a", 1)
    assert isr(bench) == ["a", "b"]
    assert bench["b"].core.commit == 20


def acks(bench: Bench) -> list[tuple[int, tuple[str, ...]]]:
    sends = [s.message for output in bench["b"].outputs for s in output.sends]
    return [(m.page, m.differing) for m in sends if isinstance(m, InstallAcked)]


def alarms(bench: Bench) -> list[str]:
    return [alarm.code for output in bench["b"].outputs for alarm in output.alarms]


def test_a_match_that_arrives_otherwise_is_sent_again_before_anybody_joins() -> None:
    """It is named, and an alarm tells; the rest of the install goes on behind it."""
    bench = behind()
    bench["b"].damaged = ["m0"]
    bench.feed_pages("a", 2)
    bench.run()
    assert acks(bench) == [(0, ("m0",))]
    feed(bench, 2)
    assert isr(bench) == ["a", "b"]
    sent = [[line.match for line in page.lines] for page in pages(bench)]
    assert sent == [["m0"], ["m0"], ["m1"]]
    assert [page.last for page in pages(bench)] == [False, False, True]
    assert alarms(bench) == ["manifest_differs"]


def test_the_last_page_completes_nothing_while_a_match_differs() -> None:
    """However often it must be sent."""
    bench = behind()
    bench["b"].damaged = ["m1", "m1", "m1"]
    for _ in range(3):
        bench.feed_pages("a", 2)
        bench.run()
        assert isr(bench) == ["a"]
    feed(bench, 2)
    assert isr(bench) == ["a", "b"]
    ops = [op for output in bench["b"].outputs for op in output.journal]
    assert [op.complete for op in ops if isinstance(op, Wiped)] == [False, True]
    assert acks(bench)[1:] == [*[(n, ("m1",)) for n in (1, 2, 3)], (4, ())]


def test_a_match_that_never_arrives_as_it_is_keeps_the_learner_out() -> None:
    """The install is given up after some pages, and begun anew later: for ever."""
    bench = behind()
    bench["b"].damaged = ["m1"] * 40
    feed(bench, 2)
    assert isr(bench) == ["a"]
    installs = {page.install for page in pages(bench)}
    assert len(installs) == 1
    for _ in range(20):
        bench.pass_ms(1000)
        feed(bench, 2)
    assert bench["b"].damaged == []
    assert isr(bench) == ["a", "b"]
    assert {page.install for page in pages(bench)} == {1, 2, 3}


def test_an_install_that_comes_to_something_else_is_not_answered() -> None:
    """All of it is sent anew, after a pause."""
    bench = behind()
    bench.feed_pages("a", 2)
    bench.run()
    bench["b"].manifest.add([ManifestLine("more", 0, b"d")])
    feed(bench, 2)
    assert isr(bench) == ["a"]
    assert alarms(bench) == ["manifest_differs"]
    assert acks(bench) == [(0, ())]
    for _ in range(8):
        bench.pass_ms(1000)
        feed(bench, 2)
    assert isr(bench) == ["a", "b"]
    assert {page.install for page in pages(bench)} == {1, 2}


def test_an_owner_of_an_older_build_tells_no_manifest() -> None:
    """What it sends is taken as it comes."""
    bench = behind()
    replica = bench["a"]
    (asked,) = [feed for output in replica.outputs for feed in output.feeds]
    piece = Piece("m0", 0, 0, 1, b"x")
    replica.core.feed(asked.node, asked.install, (piece,), None, bench.now)
    bench.settle("a")
    sender, node, page = bench.queue.popleft()
    assert isinstance(page, InstallPage)
    old = InstallPage(*[getattr(page, name) for name in page.__struct_fields__[:10]])
    bench.queue.append((sender, node, old))
    bench.run()
    assert isr(bench) == ["a", "b"]


def test_an_answer_from_before_an_install_proves_nothing() -> None:
    """What it acknowledged once was wiped since."""
    bench = behind()
    peer = bench["a"].core.ownership
    assert peer is not None
    learner = peer.membership.learners[0]
    assert learner.install is not None
    learner.boot = 0
    old = learner.serial
    feed(bench)
    assert learner.valid_from > old


def test_states_of_one_match_are_copied_on_request() -> None:
    """A follower whose copy differs asks the owner for its own."""
    bench = Bench("ab")
    bench.begin()
    bench["b"].core.ask_state("m1")
    bench.settle("b")
    bench.run()
    wanted = [(w.node, w.match) for o in bench["a"].outputs for w in o.states_wanted]
    assert wanted == [("b", "m1")]
    piece = Piece("m1", 3, 0, 1, b"x")
    bench["a"].core.state_copy("b", (piece,))
    bench.settle("a")
    bench.run()
    assert bench["b"].all("state_copies") == [(0, piece)]
