"""What every endpoint must do: one suite for nng and for memory.

Each check is an async function that takes a `LinkMaker`; `CHECKS` lists them all.
They run on any event loop that anyio knows, and wait only on what must happen.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Protocol, TypeVar

import anyio
import anyio.lowlevel
import msgspec

from ..codec import (
    FRAME_LIMIT_BYTES,
    MESSAGE_LIMIT_BYTES,
    encode_frame,
    encode_hello,
    encode_message,
)
from ..errors import FrameTooLarge, LinkFull, LinkRefused, LinkUnavailable
from ..frame import Dispatch, Frame, Hello, Unwatch
from ..hello import Credential, build_hello
from ..link import (
    Arrival,
    Endpoint,
    Identity,
    LinkDownReason,
    LinkEvent,
    PeerAddress,
    PeerDown,
    PeerUp,
)
from ..link_options import LinkOptions
from ..wire import Channel, Wire

__all__ = ["CHECKS", "OPTIONS", "LinkMaker", "Recorder"]

# Short times, so that what must happen in time happens soon.
OPTIONS = LinkOptions(
    heartbeat_s=0.05,
    silence_s=0.4,
    hello_s=0.3,
    unproven_max=8,
    peers_max=16,
    queue_frames_max=4096,
    backoff_s_min=0.01,
    backoff_s_max=0.05,
)
# For checks that stop a peer for a while without meaning its death.
PATIENT = replace(OPTIONS, heartbeat_s=1.0, silence_s=30.0, hello_s=30.0)

_SECRET = Credential(b"the cluster's own secret")
_WAIT_S = 10.0

E = TypeVar("E", bound=LinkEvent)


class LinkMaker(Protocol):
    """Makes endpoints of one kind that can reach each other."""

    def endpoint(
        self,
        identity: Identity,
        credential: Credential,
        options: LinkOptions,
        inbox: str | None = None,
    ) -> Endpoint:
        """An endpoint, not yet entered; at `inbox`, else at a place of its own."""

    def wire(self) -> Wire:
        """A bare wire of the same kind, for what no endpoint of ours would do."""


Check = Callable[[LinkMaker], Awaitable[None]]


class Recorder:
    """Receives for an endpoint and keeps what came, until a test has seen it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.events: list[LinkEvent] = []
        self._news = anyio.Event()
        self._may_read = anyio.Event()
        self._may_read.set()

    @property
    def address(self) -> PeerAddress:
        return self.endpoint.address

    @property
    def process(self) -> str:
        return self.endpoint.identity.process

    async def run(self) -> None:
        while True:
            await self._may_read.wait()
            self.events += await self.endpoint.receive()
            self._news.set()

    def stop_reading(self) -> None:
        self._may_read = anyio.Event()

    def go_on_reading(self) -> None:
        self._may_read.set()

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until something is so; fail with `what` if it never is."""
        with anyio.move_on_after(_WAIT_S):
            while not condition():
                self._news = anyio.Event()
                with anyio.move_on_after(0.01):  # counters change without news
                    await self._news.wait()
            return
        raise AssertionError(f"{self.process} never saw: {what}; saw {self.events}")

    async def next(self, kind: type[E], process: str) -> E:
        """Wait for the next event of that kind from `process`, forget those before."""

        def matching() -> list[int]:
            return [
                at
                for at, event in enumerate(self.events)
                if isinstance(event, kind) and _process_of(event) == process
            ]

        await self.until(lambda: bool(matching()), f"{kind.__name__} of {process}")
        at = matching()[0]
        found = self.events[at]
        assert isinstance(found, kind)
        del self.events[: at + 1]
        return found

    def frames(self, process: str) -> list[Frame]:
        return [
            event.frame
            for event in self.events
            if isinstance(event, Arrival) and event.process == process
        ]

    def seen(self, kind: type[LinkEvent], process: str) -> bool:
        return any(
            isinstance(event, kind) and _process_of(event) == process
            for event in self.events
        )


# --- links come up ------------------------------------------------------------


async def check_both_ends_know_each_other(make: LinkMaker) -> None:
    """One end connects; both learn who the other is; frames pass both ways."""
    async with _running(make, "a") as a, _running(make, "b", kind="client") as b:
        b.endpoint.connect(a.address)
        at_a = await a.next(PeerUp, "b")
        at_b = await b.next(PeerUp, "a")
        assert at_a.peer == b.endpoint.identity
        assert at_a.address == b.address
        assert at_b.peer == a.endpoint.identity
        a.endpoint.send("b", _frame(1))
        b.endpoint.send("a", _frame(2))
        assert (await b.next(Arrival, "a")).frame == _frame(1)
        assert (await a.next(Arrival, "b")).frame == _frame(2)
        assert a.endpoint.statistics().peers == 1


async def check_connecting_twice_is_one_link(make: LinkMaker) -> None:
    """`connect` is idempotent; both ends connecting is one link each way."""
    async with _linked(make, "a", "b") as (a, b):
        b.endpoint.connect(a.address)
        b.endpoint.connect(a.address)
        a.endpoint.connect(b.address)
        a.endpoint.send("b", _frame(1))
        await b.next(Arrival, "a")
        assert not a.seen(PeerDown, "b")
        assert a.endpoint.statistics().hellos_refused == 0


async def check_a_peer_may_come_later(make: LinkMaker) -> None:
    """A link to a place where nobody listens yet comes up when somebody does."""
    async with _running(make, "a") as a:
        async with _running(make, "b") as b:
            address = b.address
        a.endpoint.connect(address)
        a.endpoint.send("b", _frame(7))
        async with _running(make, "b", inbox=address.inbox) as b:
            await b.next(PeerUp, "a")
            await a.next(PeerUp, "b")
            assert (await b.next(Arrival, "a")).frame == _frame(7)


async def check_an_address_in_use_is_refused(make: LinkMaker) -> None:
    """Two processes cannot share an inbox; the second gets a clear error."""
    async with _running(make, "a") as a:
        second = make.endpoint(_identity("b"), _SECRET, OPTIONS, inbox=a.address.inbox)
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
    async with _linked(make, "a", "b") as (a, b):
        sent: list[Frame] = [_frame(n) for n in range(2000)]
        for at in range(0, len(sent), 50):
            for frame in sent[at : at + 50]:
                a.endpoint.send("b", frame)
            await anyio.lowlevel.checkpoint()
        await b.until(lambda: len(b.frames("a")) >= len(sent), "2,000 frames")
        assert b.frames("a") == sent


async def check_one_wake_up_is_one_message(make: LinkMaker) -> None:
    """All that is sent before the loop yields goes as one message."""
    async with _linked(make, "a", "b", options=PATIENT) as (a, b):
        before = b.endpoint.statistics()
        for n in range(100):
            a.endpoint.send("b", _frame(n))
        await b.until(lambda: len(b.frames("a")) == 100, "100 frames")
        after = b.endpoint.statistics()
        assert after.messages_received - before.messages_received == 1
        assert after.frames_received - before.frames_received == 100


async def check_large_batches_are_split(make: LinkMaker) -> None:
    """A wake-up with more than a message holds becomes several, in order."""
    async with _linked(make, "a", "b") as (a, b):
        sent = [_frame(n, size=300_000) for n in range(10)]
        for frame in sent:
            a.endpoint.send("b", frame)
        await b.until(lambda: len(b.frames("a")) == 10, "10 frames of 300 kB")
        assert [f.request for f in b.frames("a")] == list(range(10))  # type: ignore[union-attr]
        assert b.endpoint.statistics().malformed_messages == 0


async def check_sending_is_refused_by_name(make: LinkMaker) -> None:
    """No link, or a frame too large: an error with a code, and the link lives."""
    async with _linked(make, "a", "b") as (a, b):
        _expect(LinkUnavailable, lambda: a.endpoint.send("nobody", _frame(1)))
        too_large = _frame(1, size=FRAME_LIMIT_BYTES)
        _expect(FrameTooLarge, lambda: a.endpoint.send("b", too_large))
        a.endpoint.send("b", _frame(2))
        assert (await b.next(Arrival, "a")).frame == _frame(2)


async def check_a_slow_peer_fills_its_queue_only(make: LinkMaker) -> None:
    """Who does not read gets `LinkFull`; others go on; what was taken arrives."""
    async with (
        _linked(make, "a", "b", options=PATIENT) as (a, b),
        _running(make, "c", options=PATIENT) as c,
    ):
        a.endpoint.connect(c.address)
        await c.next(PeerUp, "a")
        b.stop_reading()
        a.endpoint.send("b", _frame(0))
        await b.next(Arrival, "a")  # the reading that was under way
        accepted = 0
        with anyio.fail_after(_WAIT_S):
            while True:
                try:
                    a.endpoint.send("b", _frame(accepted, size=50_000))
                except LinkFull:
                    break
                accepted += 1
                await anyio.lowlevel.checkpoint()
        a.endpoint.send("c", _frame(5))
        assert (await c.next(Arrival, "a")).frame == _frame(5)
        assert a.endpoint.statistics().queued_frames > 0
        b.go_on_reading()
        await b.until(lambda: len(b.frames("a")) == accepted, f"{accepted} frames")
        numbers = [f.request for f in b.frames("a")]  # type: ignore[union-attr]
        assert numbers == list(range(accepted))


# --- links go down -------------------------------------------------------------


async def check_a_peer_that_leaves_is_lost(make: LinkMaker) -> None:
    """A process that ends is reported down once, and may come back as another."""
    async with _running(make, "a") as a:
        async with _running(make, "b") as b:
            b.endpoint.connect(a.address)
            await a.next(PeerUp, "b")
            await b.next(PeerUp, "a")
        down = await a.next(PeerDown, "b")
        assert down.reason is LinkDownReason.LOST
        # Nobody asked a to keep a link to b.
        _expect(LinkUnavailable, lambda: a.endpoint.send("b", _frame(1)))
        async with _running(make, "b", incarnation="second") as b:
            b.endpoint.connect(a.address)
            up = await a.next(PeerUp, "b")
            assert up.peer == b.endpoint.identity
            assert not a.seen(PeerDown, "b")


async def check_disconnect_ends_both_ways(make: LinkMaker) -> None:
    """`disconnect` is reported as closed here, as lost there; queued frames go."""
    async with _linked(make, "a", "b") as (a, b):
        # b did not ask for the link, so it does not bring it back.
        a.endpoint.disconnect("b")
        assert (await a.next(PeerDown, "b")).reason is LinkDownReason.CLOSED
        assert (await b.next(PeerDown, "a")).reason is LinkDownReason.LOST
        _expect(LinkUnavailable, lambda: a.endpoint.send("b", _frame(1)))
        a.endpoint.connect(b.address)
        await a.next(PeerUp, "b")
        await b.next(PeerUp, "a")


async def check_a_link_comes_back_with_hello_first(make: LinkMaker) -> None:
    """A wanted link that goes down is dialled again; what arrives is new and whole."""
    async with _linked(make, "a", "b") as (a, b):
        for round_number in range(5):
            b.endpoint.disconnect("a")  # closes a's pipe; a still wants it
            assert (await a.next(PeerDown, "b")).reason is LinkDownReason.LOST
            await a.next(PeerUp, "b")
            await b.next(PeerUp, "a")
            a.endpoint.send("b", _frame(round_number))
            await b.until(
                lambda n=round_number: _frame(n) in b.frames("a"),  # type: ignore[misc]
                f"frame {round_number}",
            )
        assert b.endpoint.statistics().hellos_refused == 0


async def check_a_new_incarnation_replaces_the_old(make: LinkMaker) -> None:
    """A process that comes back while its old pipe is up takes its place."""
    async with (
        _linked(make, "a", "b") as (a, _),
        _running(make, "b", incarnation="second") as second,
    ):
        second.endpoint.connect(a.address)
        assert (await a.next(PeerDown, "b")).reason is LinkDownReason.REPLACED
        up = await a.next(PeerUp, "b")
        assert up.address == second.address
        a.endpoint.send("b", _frame(3))
        assert (await second.next(Arrival, "a")).frame == _frame(3)


async def check_a_silent_peer_is_down(make: LinkMaker) -> None:
    """A peer that hangs without dying is found by its silence."""
    async with _running(make, "a") as a, _intruder(make, a) as channel:
        await channel.send(encode_hello(_hello(a, "mute")))
        await a.next(PeerUp, "mute")
        assert (await a.next(PeerDown, "mute")).reason is LinkDownReason.SILENT
        await channel.closed()


async def check_a_quiet_peer_is_not_silent(make: LinkMaker) -> None:
    """Heartbeats keep a link up on which nobody has anything to say."""
    async with _linked(make, "a", "b") as (a, b):
        await anyio.sleep(2 * OPTIONS.silence_s)
        assert a.events == []
        assert b.events == []


async def check_a_busy_receiver_blames_nobody(make: LinkMaker) -> None:
    """Who did not read for long does not take its peers for dead."""
    async with _linked(make, "a", "b") as (a, b):
        b.stop_reading()
        a.endpoint.send("b", _frame(0))
        await b.next(Arrival, "a")
        await anyio.sleep(2 * OPTIONS.silence_s)
        b.go_on_reading()
        a.endpoint.send("b", _frame(1))
        await b.until(lambda: _frame(1) in b.frames("a"), "frame 1")
        assert not b.seen(PeerDown, "a")


# --- who is not let in ---------------------------------------------------------


async def check_another_secret_stays_out(make: LinkMaker) -> None:
    """Who cannot prove membership is refused and counted, and hears nothing."""
    other = Credential(b"a secret of another cluster")
    async with _running(make, "a") as a, _running(make, "b", credential=other) as b:
        b.endpoint.connect(a.address)
        await a.until(lambda: a.endpoint.statistics().hellos_refused > 1, "refusals")
        assert a.events == []
        assert b.events == []
        assert a.endpoint.statistics().peers == 0


async def check_garbage_costs_its_own_pipe(make: LinkMaker) -> None:
    """What does not begin with hello is closed and counted; members go on."""
    async with _linked(make, "a", "b") as (a, b):
        first = [b"", b"\xc1", b"GET / HTTP/1.1", b"\x91" * 20_000, bytes(5000)]
        first.append(encode_message(1, [encode_frame(_frame(1))]))
        for garbage in first:
            async with _intruder(make, a) as channel:
                await channel.send(garbage)
                await channel.closed()
        assert a.endpoint.statistics().hellos_refused == len(first)
        assert not a.frames("b")
        b.endpoint.send("a", _frame(4))
        assert (await a.next(Arrival, "b")).frame == _frame(4)
        assert not a.seen(PeerDown, "b")


async def check_a_malformed_message_costs_its_own_link(make: LinkMaker) -> None:
    """A member that sends garbage loses its link, with a reason; others go on."""
    async with _linked(make, "a", "b") as (a, b):
        beat = encode_frame(_frame(1))
        deep = encode_frame(_frame(2, payload=b"\x91" * 20_000 + b"\x90"))
        large = encode_message(1, []) + bytes(MESSAGE_LIMIT_BYTES)
        bad = [
            b"\xc1",
            encode_message(1, [beat])[:-1],
            encode_message(1, [deep]),
            large,
        ]
        for malformed in bad:
            async with _intruder(make, a) as channel:
                await channel.send(encode_hello(_hello(a, "odd", channel.number)))
                await a.next(PeerUp, "odd")
                await channel.send(malformed)
                down = await a.next(PeerDown, "odd")
                assert down.reason is LinkDownReason.MALFORMED
                await channel.closed()
        assert a.endpoint.statistics().malformed_messages == len(bad)
        b.endpoint.send("a", _frame(4))
        assert (await a.next(Arrival, "b")).frame == _frame(4)


async def check_who_says_nothing_is_closed(make: LinkMaker) -> None:
    """A pipe without a hello is closed in time; too many at once, the oldest."""
    async with _running(make, "a") as a:
        async with _intruder(make, a) as channel:
            await channel.closed()
        assert a.endpoint.statistics().hellos_refused == 1
    async with (
        _running(make, "a", options=PATIENT) as a,
        _intruder(make, a) as oldest,
        anyio.create_task_group() as group,
    ):
        for _ in range(PATIENT.unproven_max):
            group.start_soon(_stay, make, a)
        await oldest.closed()
        group.cancel_scope.cancel()


async def check_stale_links_are_dropped(make: LinkMaker) -> None:
    """A message of another link number is dropped; an old hello is refused."""
    async with _running(make, "a", options=PATIENT) as a:
        async with _intruder(make, a) as channel:
            await channel.send(encode_hello(_hello(a, "x", 5)))
            await a.next(PeerUp, "x")
            await channel.send(encode_message(4, [encode_frame(_frame(4))]))
            await channel.send(encode_message(5, [encode_frame(_frame(5))]))
            assert (await a.next(Arrival, "x")).frame == _frame(5)
            for link in (5, 3):  # repeated, and late
                async with _intruder(make, a) as late:
                    await late.send(encode_hello(_hello(a, "x", link)))
                    await late.closed()
            assert a.events == []
        await a.next(PeerDown, "x")
        async with _intruder(make, a) as replayed:
            await replayed.send(encode_hello(_hello(a, "x", 5)))
            await replayed.closed()
        assert a.endpoint.statistics().hellos_refused == 3


async def check_peers_are_counted(make: LinkMaker) -> None:
    """Beyond the limit of peers, members too are refused."""
    few = replace(PATIENT, peers_max=2)
    async with _running(make, "a", options=few) as a:
        async with _intruder(make, a) as first, _intruder(make, a) as second:
            for name, channel in (("x", first), ("y", second)):
                await channel.send(encode_hello(_hello(a, name)))
                await a.next(PeerUp, name)
            async with _intruder(make, a) as third:
                await third.send(encode_hello(_hello(a, "z")))
                await third.closed()
        await a.until(lambda: a.endpoint.statistics().peers == 0, "nobody")
        async with _intruder(make, a) as third:
            await third.send(encode_hello(_hello(a, "z")))
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
    check_another_secret_stays_out,
    check_garbage_costs_its_own_pipe,
    check_a_malformed_message_costs_its_own_link,
    check_who_says_nothing_is_closed,
    check_stale_links_are_dropped,
    check_peers_are_counted,
)


class _Intruder:
    """A bare channel to an inbox. Each has a higher `number` than those before."""

    count = 0

    def __init__(self, wire: Wire, inbox: str) -> None:
        _Intruder.count += 1
        self.number = _Intruder.count
        self.up = anyio.Event()
        self._down = anyio.Event()
        self._channel: Channel = wire.dial(inbox, self.up.set, self._down.set)

    async def send(self, message: bytes) -> None:
        while not self._channel.send(message):
            await self._channel.wait()

    async def closed(self) -> None:
        with anyio.move_on_after(_WAIT_S):
            return await self._down.wait()
        raise AssertionError("the pipe was not closed")

    def close(self) -> None:
        self._channel.close()


@asynccontextmanager
async def _running(
    make: LinkMaker,
    process: str,
    *,
    kind: str = "node",
    incarnation: str = "first",
    credential: Credential = _SECRET,
    options: LinkOptions = OPTIONS,
    inbox: str | None = None,
) -> AsyncIterator[Recorder]:
    """An endpoint that receives into a recorder."""
    identity = _identity(process, kind, incarnation)
    endpoint = make.endpoint(identity, credential, options, inbox)
    async with endpoint, anyio.create_task_group() as group:
        recorder = Recorder(endpoint)
        group.start_soon(recorder.run)
        yield recorder
        group.cancel_scope.cancel()


@asynccontextmanager
async def _linked(
    make: LinkMaker, one: str, other: str, options: LinkOptions = OPTIONS
) -> AsyncIterator[tuple[Recorder, Recorder]]:
    """Two endpoints, the first of which asked for the link that is up."""
    async with (
        _running(make, one, options=options) as a,
        _running(make, other, options=options) as b,
    ):
        a.endpoint.connect(b.address)
        await a.next(PeerUp, other)
        await b.next(PeerUp, one)
        yield a, b


@asynccontextmanager
async def _intruder(make: LinkMaker, victim: Recorder) -> AsyncIterator[_Intruder]:
    wire = make.wire()
    wire.listen(lambda pipe: None, lambda pipe: None)
    intruder = _Intruder(wire, victim.address.inbox)
    try:
        with anyio.fail_after(_WAIT_S):
            await intruder.up.wait()
        yield intruder
    finally:
        intruder.close()
        wire.close()


async def _stay(make: LinkMaker, victim: Recorder) -> None:
    async with _intruder(make, victim):
        await anyio.sleep_forever()


def _identity(process: str, kind: str = "node", incarnation: str = "first") -> Identity:
    games = (("tic-tac-toe", "1"),)
    return Identity("test", process, kind, f"{process}-{incarnation}", "anna", games)


def _hello(victim: Recorder, process: str, link: int = 1) -> Hello:
    """A true hello of a process whose inbox nobody listens at."""
    receiver = victim.address.incarnation
    scheme = victim.address.inbox.partition("://")[0]
    nowhere = "tcp://127.0.0.1:9" if scheme == "tcp" else f"{scheme}:///tmp/nowhere"
    return build_hello(_SECRET, _identity(process), nowhere, receiver, link)


def _frame(number: int, size: int = 1, payload: bytes | None = None) -> Frame:
    """A frame that can be told from others."""
    if payload is None and size == 1:
        return Unwatch(number, "match", 1)
    raw = msgspec.Raw(payload or msgspec.msgpack.encode(bytes(size)))
    return Dispatch(number, "match", 1, "0", 1, 1, "place", raw)


def _process_of(event: LinkEvent) -> str:
    return event.peer.process if isinstance(event, PeerUp) else event.process


def _expect(kind: type[Exception], action: Callable[[], None]) -> None:
    try:
        action()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")
