"""What every endpoint must do: one suite for nng and for memory.

Each check is an async function that takes a `LinkMaker`; `CHECKS` lists them all.
They run on any event loop that anyio knows, and wait only on what must happen.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio
import anyio.lowlevel

from ..codec import (
    FRAME_LIMIT_BYTES,
    MESSAGE_LIMIT_BYTES,
    encode_frame,
    encode_hello,
    encode_message,
)
from ..errors import FrameTooLarge, LinkFull, LinkRefused, LinkUnavailable
from ..frame import Frame
from ..hello import Credential
from ..link import Arrival, LinkDownReason, PeerDown, PeerUp
from .link_scene import (
    OPTIONS,
    PATIENT,
    SECRET,
    WAIT_S,
    LinkMaker,
    Recorder,
    intruder,
    linked,
    member,
    numbered,
    running,
    true_hello,
)

__all__ = ["CHECKS", "Check"]

Check = Callable[[LinkMaker], Awaitable[None]]


# --- links come up ------------------------------------------------------------


async def check_both_ends_know_each_other(make: LinkMaker) -> None:
    """One end connects; both learn who the other is; frames pass both ways."""
    async with running(make, "a") as a, running(make, "b", kind="client") as b:
        b.endpoint.connect(a.address)
        at_a = await a.next(PeerUp, "b")
        at_b = await b.next(PeerUp, "a")
        assert at_a.peer == b.endpoint.identity
        assert at_a.address == b.address
        assert at_b.peer == a.endpoint.identity
        a.endpoint.send("b", numbered(1))
        b.endpoint.send("a", numbered(2))
        assert (await b.next(Arrival, "a")).frame == numbered(1)
        assert (await a.next(Arrival, "b")).frame == numbered(2)
        assert a.endpoint.statistics().peers == 1


async def check_connecting_twice_is_one_link(make: LinkMaker) -> None:
    """`connect` is idempotent; both ends connecting is one link each way."""
    async with linked(make, "a", "b") as (a, b):
        b.endpoint.connect(a.address)
        b.endpoint.connect(a.address)
        a.endpoint.connect(b.address)
        a.endpoint.send("b", numbered(1))
        await b.next(Arrival, "a")
        assert not a.seen(PeerDown, "b")
        assert a.endpoint.statistics().hellos_refused == 0


async def check_a_peer_may_come_later(make: LinkMaker) -> None:
    """A link to a place where nobody listens yet comes up when somebody does."""
    async with running(make, "a") as a:
        async with running(make, "b") as b:
            address = b.address
        a.endpoint.connect(address)
        a.endpoint.send("b", numbered(7))
        async with running(make, "b", inbox=address.inbox) as b:
            await b.next(PeerUp, "a")
            await a.next(PeerUp, "b")
            assert (await b.next(Arrival, "a")).frame == numbered(7)


async def check_an_address_in_use_is_refused(make: LinkMaker) -> None:
    """Two processes cannot share an inbox; the second gets a clear error."""
    async with running(make, "a") as a:
        second = make.endpoint(member("b"), SECRET, OPTIONS, inbox=a.address.inbox)
        refused: LinkRefused | None = None
        try:
            async with second:
                pass
        except LinkRefused as error:
            refused = error
        assert refused is not None, "two endpoints share an inbox"
        assert refused.code == "address_unavailable"
        assert "in use" in str(refused)


# --- frames --------------------------------------------------------------------


async def check_order_is_kept(make: LinkMaker) -> None:
    """Frames arrive in the order in which they were sent, each once."""
    async with linked(make, "a", "b") as (a, b):
        sent: list[Frame] = [numbered(n) for n in range(2000)]
        for at in range(0, len(sent), 50):
            for frame in sent[at : at + 50]:
                a.endpoint.send("b", frame)
            await anyio.lowlevel.checkpoint()
        await b.until(lambda: len(b.frames("a")) >= len(sent), "2,000 frames")
        assert b.frames("a") == sent


async def check_one_wake_up_is_one_message(make: LinkMaker) -> None:
    """All that is sent before the loop yields goes as one message."""
    async with linked(make, "a", "b", options=PATIENT) as (a, b):
        before = b.endpoint.statistics()
        for n in range(100):
            a.endpoint.send("b", numbered(n))
        await b.until(lambda: len(b.frames("a")) == 100, "100 frames")
        after = b.endpoint.statistics()
        assert after.messages_received - before.messages_received == 1
        assert after.frames_received - before.frames_received == 100


async def check_large_batches_are_split(make: LinkMaker) -> None:
    """A wake-up with more than a message holds becomes several, in order."""
    async with linked(make, "a", "b") as (a, b):
        sent = [numbered(n, size=300_000) for n in range(10)]
        for frame in sent:
            a.endpoint.send("b", frame)
        await b.until(lambda: len(b.frames("a")) == 10, "10 frames of 300 kB")
        assert [f.request for f in b.frames("a")] == list(range(10))  # type: ignore[union-attr]
        assert b.endpoint.statistics().malformed_messages == 0


async def check_sending_is_refused_by_name(make: LinkMaker) -> None:
    """No link, or a frame too large: an error with a code, and the link lives."""
    async with linked(make, "a", "b") as (a, b):
        _expect(LinkUnavailable, lambda: a.endpoint.send("nobody", numbered(1)))
        too_large = numbered(1, size=FRAME_LIMIT_BYTES)
        _expect(FrameTooLarge, lambda: a.endpoint.send("b", too_large))
        a.endpoint.send("b", numbered(2))
        assert (await b.next(Arrival, "a")).frame == numbered(2)


async def check_a_slow_peer_fills_its_queue_only(make: LinkMaker) -> None:
    """Who does not read gets `LinkFull`; others go on; what was taken arrives."""
    async with (
        linked(make, "a", "b", options=PATIENT) as (a, b),
        running(make, "c", options=PATIENT) as c,
    ):
        a.endpoint.connect(c.address)
        await c.next(PeerUp, "a")
        b.stop_reading()
        a.endpoint.send("b", numbered(0))
        await b.next(Arrival, "a")  # the reading that was under way
        accepted = 0
        with anyio.fail_after(WAIT_S):
            while True:
                try:
                    a.endpoint.send("b", numbered(accepted, size=50_000))
                except LinkFull:
                    break
                accepted += 1
                await anyio.lowlevel.checkpoint()
        assert a.endpoint.statistics().queued_frames > 0
        a.endpoint.send("c", numbered(5))
        assert (await c.next(Arrival, "a")).frame == numbered(5)
        b.go_on_reading()
        await b.until(lambda: len(b.frames("a")) == accepted, f"{accepted} frames")
        numbers = [f.request for f in b.frames("a")]  # type: ignore[union-attr]
        assert numbers == list(range(accepted))


# --- links go down -------------------------------------------------------------


async def check_a_peer_that_leaves_is_lost(make: LinkMaker) -> None:
    """A process that ends is reported down once, and may come back as another."""
    async with running(make, "a") as a:
        async with running(make, "b") as b:
            b.endpoint.connect(a.address)
            await a.next(PeerUp, "b")
            await b.next(PeerUp, "a")
        down = await a.next(PeerDown, "b")
        assert down.reason is LinkDownReason.LOST
        # Nobody asked a to keep a link to b.
        _expect(LinkUnavailable, lambda: a.endpoint.send("b", numbered(1)))
        async with running(make, "b", incarnation="second") as b:
            b.endpoint.connect(a.address)
            up = await a.next(PeerUp, "b")
            assert up.peer == b.endpoint.identity
            assert not a.seen(PeerDown, "b")


async def check_disconnect_ends_both_ways(make: LinkMaker) -> None:
    """`disconnect` is reported as closed here, as lost there; queued frames go."""
    async with linked(make, "a", "b") as (a, b):
        # b did not ask for the link, so it does not bring it back.
        a.endpoint.disconnect("b")
        assert (await a.next(PeerDown, "b")).reason is LinkDownReason.CLOSED
        assert (await b.next(PeerDown, "a")).reason is LinkDownReason.LOST
        _expect(LinkUnavailable, lambda: a.endpoint.send("b", numbered(1)))
        a.endpoint.connect(b.address)
        await a.next(PeerUp, "b")
        await b.next(PeerUp, "a")


async def check_a_link_comes_back_with_hello_first(make: LinkMaker) -> None:
    """A wanted link that goes down is dialled again; what arrives is new and whole."""
    async with linked(make, "a", "b") as (a, b):
        for round_number in range(5):
            b.endpoint.disconnect("a")  # closes a's pipe; a still wants it
            assert (await a.next(PeerDown, "b")).reason is LinkDownReason.LOST
            await a.next(PeerUp, "b")
            await b.next(PeerUp, "a")
            a.endpoint.send("b", numbered(round_number))
            await b.until(
                lambda n=round_number: numbered(n) in b.frames("a"),  # type: ignore[misc]
                f"frame {round_number}",
            )
        assert b.endpoint.statistics().hellos_refused == 0


async def check_a_new_incarnation_replaces_the_old(make: LinkMaker) -> None:
    """A process that comes back while its old pipe is up takes its place."""
    async with (
        linked(make, "a", "b") as (a, _),
        running(make, "b", incarnation="second") as second,
    ):
        second.endpoint.connect(a.address)
        assert (await a.next(PeerDown, "b")).reason is LinkDownReason.REPLACED
        up = await a.next(PeerUp, "b")
        assert up.address == second.address
        a.endpoint.send("b", numbered(3))
        assert (await second.next(Arrival, "a")).frame == numbered(3)


async def check_a_silent_peer_is_down(make: LinkMaker) -> None:
    """A peer that hangs without dying is found by its silence."""
    async with running(make, "a") as a, intruder(make, a) as channel:
        await channel.send(encode_hello(true_hello(a, "mute")))
        await a.next(PeerUp, "mute")
        assert (await a.next(PeerDown, "mute")).reason is LinkDownReason.SILENT
        await channel.closed()


async def check_a_quiet_peer_is_not_silent(make: LinkMaker) -> None:
    """Heartbeats keep a link up on which nobody has anything to say."""
    async with linked(make, "a", "b") as (a, b):
        await anyio.sleep(2 * OPTIONS.silence_s)
        assert a.events == []
        assert b.events == []


async def check_a_busy_receiver_blames_nobody(make: LinkMaker) -> None:
    """Who did not read for long does not take its peers for dead."""
    async with linked(make, "a", "b") as (a, b):
        b.stop_reading()
        a.endpoint.send("b", numbered(0))
        await b.next(Arrival, "a")
        await anyio.sleep(2 * OPTIONS.silence_s)
        b.go_on_reading()
        a.endpoint.send("b", numbered(1))
        await b.until(lambda: numbered(1) in b.frames("a"), "frame 1")
        assert not b.seen(PeerDown, "a")


async def check_a_closed_endpoint_says_so(make: LinkMaker) -> None:
    """Who still waits at a closed endpoint, or comes to it, gets an error."""
    async with anyio.create_task_group() as group:
        async with running(make, "b") as b:
            elsewhere = b.address
        endpoint = make.endpoint(member("a"), SECRET, OPTIONS)
        async with endpoint:
            begun, ended = anyio.Event(), anyio.Event()

            async def wait() -> None:
                begun.set()
                try:
                    await endpoint.receive()
                except LinkUnavailable:
                    ended.set()

            group.start_soon(wait)
            # Not `wait_all_tasks_blocked`: heartbeats go on, and may always be due.
            await begun.wait()
        with anyio.fail_after(WAIT_S):
            await ended.wait()
    _expect(LinkUnavailable, lambda: endpoint.connect(elsewhere))
    _expect(LinkUnavailable, lambda: endpoint.send("b", numbered(1)))


# --- who is not let in ---------------------------------------------------------


async def check_another_secret_stays_out(make: LinkMaker) -> None:
    """Who cannot prove membership is refused and counted, and hears nothing."""
    other = Credential(b"a secret of another cluster")
    async with running(make, "a") as a, running(make, "b", credential=other) as b:
        b.endpoint.connect(a.address)
        await a.until(lambda: a.endpoint.statistics().hellos_refused > 1, "refusals")
        assert a.events == []
        assert b.events == []
        assert a.endpoint.statistics().peers == 0


async def check_garbage_costs_its_own_pipe(make: LinkMaker) -> None:
    """What does not begin with hello is closed and counted; members go on."""
    async with linked(make, "a", "b") as (a, b):
        first = [b"", b"\xc1", b"GET / HTTP/1.1", b"\x91" * 20_000, bytes(5000)]
        first.append(encode_message(1, [encode_frame(numbered(1))]))
        for garbage in first:
            async with intruder(make, a) as channel:
                await channel.send(garbage)
                await channel.closed()
        assert a.endpoint.statistics().hellos_refused == len(first)
        assert not a.frames("b")
        b.endpoint.send("a", numbered(4))
        assert (await a.next(Arrival, "b")).frame == numbered(4)
        assert not a.seen(PeerDown, "b")


async def check_a_malformed_message_costs_its_own_link(make: LinkMaker) -> None:
    """A member that sends garbage loses its link, with a reason; others go on."""
    async with linked(make, "a", "b") as (a, b):
        beat = encode_frame(numbered(1))
        deep = encode_frame(numbered(2, payload=b"\x91" * 20_000 + b"\x90"))
        large = encode_message(1, []) + bytes(MESSAGE_LIMIT_BYTES)
        bad = [
            b"\xc1",
            encode_message(1, [beat])[:-1],
            encode_message(1, [deep]),
            large,
        ]
        for malformed in bad:
            async with intruder(make, a) as channel:
                await channel.send(encode_hello(true_hello(a, "odd", channel.number)))
                await a.next(PeerUp, "odd")
                await channel.send(malformed)
                down = await a.next(PeerDown, "odd")
                assert down.reason is LinkDownReason.MALFORMED
                await channel.closed()
        assert a.endpoint.statistics().malformed_messages == len(bad)
        b.endpoint.send("a", numbered(4))
        assert (await a.next(Arrival, "b")).frame == numbered(4)


async def check_who_says_nothing_is_closed(make: LinkMaker) -> None:
    """A pipe without a hello is closed in time; too many at once, the oldest."""
    async with running(make, "a") as a:
        async with intruder(make, a) as channel:
            await channel.closed()
        assert a.endpoint.statistics().hellos_refused == 1
    async with (
        running(make, "a", options=PATIENT) as a,
        intruder(make, a) as oldest,
        anyio.create_task_group() as group,
    ):
        for _ in range(PATIENT.unproven_max):
            group.start_soon(_stay, make, a)
        await oldest.closed()
        group.cancel_scope.cancel()


async def check_stale_links_are_dropped(make: LinkMaker) -> None:
    """A message of another link number is dropped; an old hello is refused."""
    async with running(make, "a", options=PATIENT) as a:
        async with intruder(make, a) as channel:
            await channel.send(encode_hello(true_hello(a, "x", 5)))
            await a.next(PeerUp, "x")
            await channel.send(encode_message(4, [encode_frame(numbered(4))]))
            await channel.send(encode_message(5, [encode_frame(numbered(5))]))
            assert (await a.next(Arrival, "x")).frame == numbered(5)
            for link in (5, 3):  # repeated, and late
                async with intruder(make, a) as late:
                    await late.send(encode_hello(true_hello(a, "x", link)))
                    await late.closed()
            assert a.events == []
        await a.next(PeerDown, "x")
        async with intruder(make, a) as replayed:
            await replayed.send(encode_hello(true_hello(a, "x", 5)))
            await replayed.closed()
        assert a.endpoint.statistics().hellos_refused == 3


async def check_peers_are_counted(make: LinkMaker) -> None:
    """Beyond the limit of peers, members too are refused."""
    few = replace(PATIENT, peers_max=2)
    async with running(make, "a", options=few) as a:
        async with intruder(make, a) as first, intruder(make, a) as second:
            for name, channel in (("x", first), ("y", second)):
                await channel.send(encode_hello(true_hello(a, name)))
                await a.next(PeerUp, name)
            async with intruder(make, a) as third:
                await third.send(encode_hello(true_hello(a, "z")))
                await third.closed()
        await a.until(lambda: a.endpoint.statistics().peers == 0, "nobody")
        async with intruder(make, a) as third:
            await third.send(encode_hello(true_hello(a, "z")))
            await a.next(PeerUp, "z")


CHECKS: tuple[Check, ...] = (
    check_both_ends_know_each_other,
    check_connecting_twice_is_one_link,
    check_a_peer_may_come_later,
    check_an_address_in_use_is_refused,
    check_order_is_kept,
    check_one_wake_up_is_one_message,
    check_large_batches_are_split,
    check_sending_is_refused_by_name,
    check_a_slow_peer_fills_its_queue_only,
    check_a_peer_that_leaves_is_lost,
    check_disconnect_ends_both_ways,
    check_a_link_comes_back_with_hello_first,
    check_a_new_incarnation_replaces_the_old,
    check_a_silent_peer_is_down,
    check_a_quiet_peer_is_not_silent,
    check_a_busy_receiver_blames_nobody,
    check_a_closed_endpoint_says_so,
    check_another_secret_stays_out,
    check_garbage_costs_its_own_pipe,
    check_a_malformed_message_costs_its_own_link,
    check_who_says_nothing_is_closed,
    check_stale_links_are_dropped,
    check_peers_are_counted,
)


async def _stay(make: LinkMaker, victim: Recorder) -> None:
    async with intruder(make, victim):
        await anyio.sleep_forever()


def _expect(kind: type[Exception], action: Callable[[], None]) -> None:
    try:
        action()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")
