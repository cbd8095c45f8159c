"""The client's protocol without I/O: attempts, routing, doubt, watches."""

from __future__ import annotations

import math

import msgspec
import pytest
from msgspec import Raw

from hotseat.nodes.client.core import ClientCore, TooManyQuestions
from hotseat.nodes.client.effect import (
    Expired,
    Locate,
    Reach,
    Send,
    Settled,
    Viewed,
    Watch,
    WatchRefused,
)
from hotseat.nodes.client.options import ClientOptions
from hotseat.nodes.client.outcome import Refusal
from hotseat.runtime.codec import pack
from hotseat.runtime.frame import (
    Accepted,
    Dispatch,
    FetchTable,
    Moved,
    NodeEntry,
    Refused,
    Request,
    ShardEntry,
    Sync,
    TableSnapshot,
    Unwatch,
    ViewUpdate,
)
from hotseat.runtime.link import PeerAddress
from hotseat.runtime.match_id import match_id, shard_of

OPTIONS = ClientOptions(
    timeout_s=10.0, attempt_s=3.0, suspect_s=3.0, watch_idle_s=5.0, requests_max=4
)
SHARDS = 4
NODES = ("n1", "n2", "n3")


def address(node: str, incarnation: str = "1") -> PeerAddress:
    return PeerAddress(node, f"inproc://{node}", incarnation)


def match_owned_by(owner: str) -> str:
    """A match whose shard `table` gives to `owner`."""
    return next(
        name
        for name in (match_id("local", str(n)) for n in range(1000))
        if f"n{shard_of(name, SHARDS) % 3 + 1}" == owner
    )


def table(request: int, revision: int = 1, **changed: str) -> TableSnapshot:
    """Shard s belongs to n(s mod 3 + 1), but for what `changed` says as s0="n2"."""
    return TableSnapshot(
        request,
        revision,
        tuple(
            ShardEntry(shard, changed.get(f"s{shard}", f"n{shard % 3 + 1}"), revision)
            for shard in range(SHARDS)
        ),
        tuple(NodeEntry(node, f"inproc://{node}", "1") for node in NODES),
    )


def dispatch(match: str, action: int = 1) -> Dispatch:
    return Dispatch(0, match, 1, "0", 1, action, "play", Raw(b"\xc0"))


def view(
    match: str, revision: int, *, request: int = 0, ended: bool = False
) -> ViewUpdate:
    return ViewUpdate(
        request, match, 1, "0", revision, 1, "play", (), None, ended, pack({})
    )


class Bench:
    """A core whose effects are collected, joined to three nodes."""

    def __init__(self, options: ClientOptions = OPTIONS) -> None:
        self.core = ClientCore(options, lambda: 0.999)
        self.core.located(0.0, [address("n1")])
        (sent,) = self.sends()
        assert isinstance(sent.frame, FetchTable)
        for node in NODES:
            self.core.peer_up(0.0, node)
        self.core.arrived(0.0, "n1", table(sent.frame.request))
        self.core.effects()

    def sends(self) -> list[Send]:
        return [effect for effect in self.core.effects() if isinstance(effect, Send)]

    def one_send(self, kind: type[Request] = Dispatch) -> Send:
        """The only request of that kind that is to be sent now."""
        (sent,) = [send for send in self.sends() if isinstance(send.frame, kind)]
        return sent

    def ask(self, match: str, now: float = 0.0, deadline: float = 10.0) -> int:
        return self.core.ask(now, dispatch(match), match=match, deadline=deadline)


def test_the_owner_is_asked_directly() -> None:
    """A client that knows the table sends straight to the owner."""
    bench = Bench()
    ticket = bench.ask(match_owned_by("n3"))
    sent = bench.one_send()
    assert sent.process == "n3"
    bench.core.arrived(0.1, "n3", Accepted(sent.frame.request, "m", 5, 1))
    (settled,) = bench.core.effects()
    assert settled == Settled(ticket, Accepted(sent.frame.request, "m", 5, 1))


def test_without_direct_all_goes_to_one_node() -> None:
    """With `direct` off the home node gets everything and forwards it."""
    bench = Bench(ClientOptions(direct=False))
    bench.ask(match_owned_by("n3"))
    assert bench.one_send().process == "n1"


def test_a_link_is_reached_before_the_first_send() -> None:
    """A node is dialled once, before the first send, and anew when it restarts."""
    bench = Bench()
    bench.ask(match_owned_by("n2"))
    reach, send = bench.core.effects()
    assert isinstance(reach, Reach)
    assert reach.address == address("n2")
    assert isinstance(send, Send)
    bench.core.located(1.0, [address("n2", "2")])
    bench.core.effects()
    bench.ask(match_owned_by("n2"))
    assert Reach(address("n2", "2")) in bench.core.effects()


def test_moved_is_followed_at_once() -> None:
    """`moved` teaches the new owner and the question goes there without a pause."""
    bench = Bench()
    match = match_owned_by("n2")
    bench.ask(match)
    sent = bench.one_send()
    moved = Moved(sent.frame.request, shard_of(match, SHARDS), 9, "n3")
    bench.core.arrived(0.1, "n2", moved)
    assert bench.one_send().process == "n3"
    bench.ask(match)
    assert bench.one_send().process == "n3"


def test_an_announced_owner_is_asked_at_once() -> None:
    """After a takeover what waits is asked at the new owner, actions first."""
    match, bench = match_owned_by("n2"), Bench()
    watched = Watch(match, 1, "1", 1, legal=False)
    bench.core.watch(0.0, watched)
    bench.ask(match)
    assert {send.process for send in bench.sends()} == {"n2"}
    bench.core.peer_down(0.1, "n2")
    bench.sends()  # the table is asked for; the others pause
    bench.core.arrived(0.12, "n1", Moved(0, shard_of(match, SHARDS), 9, "n3"))
    again = [send for send in bench.sends() if not isinstance(send.frame, FetchTable)]
    assert [(send.process, type(send.frame)) for send in again] == [
        ("n3", Dispatch),
        ("n3", Sync),
    ]
    bench.core.arrived(0.13, "n3", Moved(0, shard_of(match, SHARDS), 9, "n3"))
    assert bench.sends() == []  # it is no news


def test_what_waits_at_a_node_that_passes_it_on_is_not_asked_twice() -> None:
    """It knows the new owner as well; asking again would be double work for all."""
    match, bench = match_owned_by("n2"), Bench()
    bench.ask(match)
    bench.sends()
    bench.core.peer_down(0.1, "n2")
    bench.core.tick(1.0)  # the pause is over, and nobody has said who takes over
    assert bench.one_send().process == "n1"
    bench.core.arrived(1.1, "n1", Moved(0, shard_of(match, SHARDS), 9, "n3"))
    assert bench.sends() == []


def test_an_announced_owner_is_asked_though_the_old_one_still_hangs() -> None:
    """A frozen node answers nothing: its followers say who has taken over."""
    match, bench = match_owned_by("n2"), Bench()
    bench.ask(match)
    bench.sends()
    bench.core.arrived(1.2, "n1", Moved(0, shard_of(match, SHARDS), 9, "n1"))
    assert bench.one_send().process == "n1"


def test_two_nodes_that_point_at_each_other_cost_pauses_not_a_storm() -> None:
    """A question that is sent in a circle is sent a bounded number of times."""
    bench = Bench()
    match = match_owned_by("n2")
    bench.ask(match)
    count = 0
    while sends := bench.sends():
        (sent,) = sends
        count += 1
        other = "n3" if sent.process == "n2" else "n2"
        moved = Moved(sent.frame.request, shard_of(match, SHARDS), 9 + count, other)
        bench.core.arrived(0.1, sent.process, moved)
    assert count <= 3
    assert bench.core.next_due > 0.1


def test_a_lost_link_leads_to_another_node_with_the_same_key() -> None:
    """What a lost node was asked is asked elsewhere, under the same action key."""
    bench = Bench()
    bench.ask(match_owned_by("n3"))
    first = bench.one_send()
    bench.core.peer_down(1.0, "n3")
    bench.core.tick(2.0)
    again = bench.one_send()
    assert again.process != "n3"
    assert isinstance(again.frame, Dispatch)
    assert isinstance(first.frame, Dispatch)
    assert again.frame.action == first.frame.action
    assert again.frame.request != first.frame.request


def test_an_owner_that_comes_back_is_asked_at_once() -> None:
    """What went elsewhere while the owner was gone does not wait out its silence."""
    bench = Bench()
    bench.ask(match_owned_by("n3"))
    bench.one_send()
    bench.core.peer_down(1.0, "n3")
    bench.core.tick(2.0)
    assert bench.one_send().process == "n1"
    bench.core.peer_up(2.5, "n3")
    assert bench.one_send().process == "n3"
    bench.core.peer_up(2.6, "n3")
    assert bench.sends() == []


def test_silence_leads_to_another_node() -> None:
    """A node that says nothing for `attempt_s` is passed over."""
    bench = Bench()
    bench.ask(match_owned_by("n3"))
    assert bench.one_send().process == "n3"
    bench.core.tick(2.9)
    assert bench.sends() == []
    bench.core.tick(3.0)
    assert bench.one_send().process == "n1"


def test_a_late_acceptance_counts() -> None:
    """An acceptance settles the question whichever attempt it answers."""
    bench = Bench()
    ticket = bench.ask(match_owned_by("n3"))
    first = bench.one_send()
    bench.core.tick(3.0)
    bench.one_send()
    bench.core.arrived(3.1, "n3", Accepted(first.frame.request, "m", 5, 1))
    assert Settled(ticket, Accepted(first.frame.request, "m", 5, 1)) in (
        bench.core.effects()
    )


def test_a_refusal_of_a_superseded_attempt_does_not_count() -> None:
    """Only the newest attempt's refusal is final: the newer may yet be accepted."""
    bench = Bench()
    bench.ask(match_owned_by("n3"))
    first = bench.one_send()
    bench.core.tick(3.0)
    second = bench.one_send()
    bench.core.arrived(3.1, "n3", Refused(first.frame.request, "game_over", "no"))
    assert bench.core.effects() == []
    bench.core.arrived(3.2, "n1", Refused(second.frame.request, "game_over", "no"))
    (settled,) = bench.core.effects()
    assert isinstance(settled, Settled)
    assert settled.answer == Refusal("game_over", "no")


@pytest.mark.parametrize("code", ["busy", "no_owner", "retry", "stopping"])
def test_a_passing_refusal_is_asked_again_after_a_growing_pause(code: str) -> None:
    """Codes that say `later` are asked again, each time later, never in a storm."""
    bench = Bench()
    bench.ask(match_owned_by("n2"))
    now, pauses = 0.0, []
    for _ in range(5):
        sent = bench.one_send()
        bench.core.arrived(now, sent.process, Refused(sent.frame.request, code, "x"))
        assert bench.sends() == []
        pauses.append(bench.core.next_due - now)
        now = bench.core.next_due
        bench.core.tick(now)
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1] <= OPTIONS.backoff_s_max


def test_the_deadline_leaves_a_doubt_when_an_attempt_is_unanswered() -> None:
    """A question without an answer ends as unknown, at its deadline."""
    bench = Bench()
    ticket = bench.ask(match_owned_by("n2"), deadline=2.0)
    bench.core.effects()
    bench.core.tick(2.0)
    (expired,) = [e for e in bench.core.effects() if isinstance(e, Expired)]
    assert expired == Expired(ticket, doubt=True, refusal=None)
    assert bench.core.waiting == 0


def test_the_deadline_leaves_no_doubt_when_every_attempt_was_refused() -> None:
    """If all attempts were answered `busy`, nothing happened: that is the outcome."""
    bench = Bench()
    ticket = bench.ask(match_owned_by("n2"), deadline=2.0)
    now = 0.0
    while now < 2.0:
        for sent in bench.sends():
            answer = Refused(sent.frame.request, "busy", "later")
            bench.core.arrived(now, sent.process, answer)
        now = bench.core.next_due
        bench.core.tick(now)
    (expired,) = [e for e in bench.core.effects() if isinstance(e, Expired)]
    assert expired == Expired(ticket, False, Refusal("busy", "later"))


def test_retry_leaves_a_doubt() -> None:
    """`retry` says that the outcome is not known, so it stays unknown."""
    bench = Bench()
    bench.ask(match_owned_by("n2"), deadline=1.0)
    sent = bench.one_send()
    bench.core.arrived(0.99, "n2", Refused(sent.frame.request, "retry", "?"))
    bench.core.tick(1.0)
    (expired,) = [e for e in bench.core.effects() if isinstance(e, Expired)]
    assert expired.doubt


def test_what_never_left_leaves_no_doubt() -> None:
    """A frame that the link did not take cannot have happened."""
    bench = Bench()
    bench.ask(match_owned_by("n2"), deadline=1.0)
    sent = bench.one_send()
    bench.core.not_sent(0.9, sent.frame.request, Refusal("busy", "full"))
    bench.core.tick(1.0)
    (expired,) = [e for e in bench.core.effects() if isinstance(e, Expired)]
    assert not expired.doubt


def test_a_settled_question_is_never_sent_again() -> None:
    """After an answer neither time nor a lost link sends the question again."""
    bench = Bench()
    bench.ask(match_owned_by("n3"))
    sent = bench.one_send()
    bench.core.arrived(0.1, "n3", Accepted(sent.frame.request, "m", 5, 1))
    bench.core.effects()
    bench.core.peer_down(0.2, "n3")
    bench.core.tick(60.0)
    assert not any(isinstance(send.frame, Dispatch) for send in bench.sends())


def test_outstanding_questions_are_bounded() -> None:
    """One question more than the options allow is refused, and room comes back."""
    bench = Bench()
    match = match_owned_by("n2")
    tickets = [bench.ask(match) for _ in range(OPTIONS.requests_max)]
    with pytest.raises(TooManyQuestions):
        bench.ask(match)
    bench.core.forget(tickets[0])
    bench.ask(match)


def test_with_no_node_left_the_doors_are_asked() -> None:
    """When every node is lost the client asks the doors, again and again."""
    bench = Bench()
    for node in NODES:
        bench.core.peer_down(1.0, node)
    assert Locate() in bench.core.effects()
    bench.core.tick(3.0)
    bench.core.located(3.0, [address("n1", "2")])
    bench.core.peer_up(3.0, "n1")
    bench.ask(match_owned_by("n3"), now=3.1)
    assert bench.one_send().process == "n1"


def test_a_node_that_came_back_elsewhere_is_reached_before_it_is_needed() -> None:
    """Its new address is told; the link is there when it takes over."""
    match, bench = match_owned_by("n2"), Bench()
    bench.ask(match)
    bench.core.peer_down(1.0, "n2")
    bench.core.effects()
    fresh = msgspec.structs.replace(
        table(0, 2), nodes=(NodeEntry("n2", "inproc://elsewhere", "2"),)
    )
    bench.core.arrived(3.0, "n1", fresh)
    reached = [e for e in bench.core.effects() if isinstance(e, Reach)]
    assert [one.address.inbox for one in reached] == ["inproc://elsewhere"]


def test_the_node_that_was_lost_is_the_last_to_be_asked() -> None:
    """Though the others were lost before it: they may be back, it is surely gone."""
    match, bench = match_owned_by("n2"), Bench()
    for node in ("n1", "n3"):
        bench.core.peer_down(0.0, node)
    bench.ask(match)
    assert bench.one_send().process == "n2"
    bench.core.peer_down(1.0, "n2")
    bench.core.tick(2.0)
    assert bench.one_send().process != "n2"


class TestWatch:
    """A watch survives what happens to links and owners."""

    def start(self, bench: Bench, owner: str = "n3") -> tuple[Watch, Send]:
        match = match_owned_by(owner)
        watch = bench.core.watch(0.0, Watch(match, 1, "0", 1, False))
        return watch, bench.one_send(Sync)

    def answered(self, bench: Bench, owner: str = "n3") -> Watch:
        watch, sent = self.start(bench, owner)
        update = view(watch.match, 1, request=sent.frame.request)
        bench.core.arrived(0.1, sent.process, update)
        assert bench.core.effects() == [Viewed(watch)]
        return watch

    def test_views_never_go_back(self) -> None:
        """An older view that arrives late is dropped and is no news."""
        bench = Bench()
        watch = self.answered(bench)
        bench.core.arrived(0.2, "n3", view(watch.match, 4))
        assert bench.core.effects() == [Viewed(watch)]
        bench.core.arrived(0.3, "n3", view(watch.match, 3))
        bench.core.arrived(0.3, "n3", view(watch.match, 4))
        assert bench.core.effects() == []
        assert watch.slot.revision == 4

    def test_a_lost_link_makes_it_ask_elsewhere(self) -> None:
        """When the link that views come from is lost, the watch is asked for anew."""
        bench = Bench()
        self.answered(bench)
        bench.core.peer_down(1.0, "n3")
        bench.core.tick(1.1)
        assert bench.one_send(Sync).process != "n3"

    def test_a_new_owner_makes_it_ask_there(self) -> None:
        """When the table names another owner, the watch goes there."""
        bench = Bench()
        watch = self.answered(bench)
        shard = shard_of(watch.match, SHARDS)
        bench.core.arrived(1.0, "n1", table(0, 2, **{f"s{shard}": "n2"}))
        assert bench.one_send(Sync).process == "n2"

    def test_silence_makes_it_ask_again(self) -> None:
        """A match that sends nothing for `watch_idle_s` is asked again."""
        bench = Bench()
        self.answered(bench)
        assert bench.core.next_due <= 5.0
        bench.core.tick(5.0)
        bench.core.effects()
        bench.core.tick(8.0)
        assert bench.one_send(Sync).process == "n3"

    def test_a_finished_match_is_not_asked_again(self) -> None:
        """After the last view neither silence nor a lost link asks again."""
        bench = Bench()
        watch = self.answered(bench)
        bench.core.arrived(0.2, "n3", view(watch.match, 9, ended=True))
        bench.core.effects()
        bench.core.tick(20.0)
        bench.core.peer_down(21.0, "n3")
        assert not any(isinstance(send.frame, Sync) for send in bench.sends())

    def test_a_refusal_ends_it(self) -> None:
        """A final refusal ends the watch and says why; a passing one does not."""
        bench = Bench()
        watch, sent = self.start(bench)
        bench.core.arrived(0.1, "n3", Refused(sent.frame.request, "no_owner", "x"))
        assert bench.core.effects() == []
        bench.core.tick(1.0)
        sent = bench.one_send(Sync)
        bench.core.arrived(1.1, "n3", Refused(sent.frame.request, "match_lost", "x"))
        (refused,) = bench.core.effects()
        assert refused == WatchRefused(watch, Refusal("match_lost", "x"))
        bench.core.tick(30.0)
        assert not any(isinstance(send.frame, Sync) for send in bench.sends())

    def test_the_last_reader_tells_the_node_to_stop(self) -> None:
        """`Unwatch` is sent when nobody reads any more, and not before."""
        bench = Bench()
        watch = self.answered(bench)
        again = bench.core.watch(0.2, Watch(watch.match, 1, "0", 1, False))
        assert again is watch
        bench.core.unwatch(0.3, watch)
        assert bench.sends() == []
        bench.core.unwatch(0.4, watch)
        assert bench.one_send(Unwatch).process == "n3"

    def test_a_newer_session_of_the_seat_takes_the_watch_over(self) -> None:
        """Views go on under the session that the seat has now."""
        bench = Bench()
        watch = self.answered(bench)
        bench.core.watch(0.2, Watch(watch.match, 1, "0", 2, True))
        sent = bench.one_send(Sync)
        assert isinstance(sent.frame, Sync)
        assert (sent.frame.session, sent.frame.legal) == (2, True)
        assert watch.slot.revision == 1

    def test_legal_actions_at_the_same_revision_are_news(self) -> None:
        """A reader that asked for legal actions gets them for the view it has."""
        bench = Bench()
        watch = self.answered(bench)
        update = view(watch.match, 1, request=99)
        with_legal = msgspec.structs.replace(update, legal=pack([["play", 3]]))
        bench.core.arrived(0.3, "n3", with_legal)
        assert bench.core.effects() == [Viewed(watch)]
        seen = watch.slot.view
        assert seen is not None
        assert seen.legal == (("play", 3),)
        assert seen.steps == ()


def test_nothing_to_do_means_no_timer() -> None:
    """An idle client does not wake up."""
    bench = Bench()
    bench.core.tick(60.0)
    assert bench.core.next_due == math.inf


def test_a_match_that_lost_something_is_shown_at_a_lower_revision() -> None:
    """It says that it is another history; what still comes of the former one is not
    shown, and what was seen is asked for by it."""
    bench = Bench()
    match = match_owned_by("n3")
    watch = bench.core.watch(0.0, Watch(match, 1, "0", 1, False))
    request = bench.one_send(Sync).frame.request
    bench.core.arrived(0.1, "n3", view(match, 9, request=request))
    bench.core.effects()
    for history, revision, news in ((0, 8, False), (40, 3, True), (0, 10, False)):
        update = msgspec.structs.replace(view(match, revision), history=history)
        bench.core.arrived(0.2, "n3", update)
        assert bool(bench.core.effects()) is news
    assert (watch.slot.history, watch.slot.revision) == (40, 3)
    shown = watch.slot.view
    assert shown is not None
    assert shown.history == 40
    bench.core.tick(30.0)
    frames = [s.frame for s in bench.sends() if isinstance(s.frame, Sync)]
    assert {(frame.history, frame.seen) for frame in frames} == {(40, 3)}
