"""What a test of links is played with: recorders, intruders, and how they are made.

For whoever implements an endpoint or builds on one; `check_link.py` is the suite.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Protocol, TypeVar

import anyio
import msgspec

from ..frame import Dispatch, Frame, Hello, Unwatch
from ..hello import Credential, build_hello
from ..link import (
    Arrival,
    Endpoint,
    Identity,
    LinkEvent,
    PeerAddress,
    PeerUp,
)
from ..link_options import LinkOptions
from ..wire import Channel, Wire

__all__ = [
    "OPTIONS",
    "PATIENT",
    "SECRET",
    "WAIT_S",
    "Intruder",
    "LinkMaker",
    "Recorder",
    "intruder",
    "linked",
    "member",
    "numbered",
    "running",
    "true_hello",
]

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

SECRET = Credential(b"the cluster's own secret")
# Seconds after which what a test waits for will not happen.
WAIT_S = 10.0

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
        with anyio.move_on_after(WAIT_S):
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


class Intruder:
    """A bare channel to an inbox. Each has a higher `number` than those before."""

    count = 0

    def __init__(self, wire: Wire, inbox: str) -> None:
        Intruder.count += 1
        self.number = Intruder.count
        self.up = anyio.Event()
        self._down = anyio.Event()
        self._channel: Channel = wire.dial(inbox, self.up.set, self._down.set)

    async def send(self, message: bytes) -> None:
        while not self._channel.send(message):
            await self._channel.wait()

    async def closed(self) -> None:
        with anyio.move_on_after(WAIT_S):
            return await self._down.wait()
        raise AssertionError("the pipe was not closed")

    def close(self) -> None:
        self._channel.close()


@asynccontextmanager
async def running(
    make: LinkMaker,
    process: str,
    *,
    kind: str = "node",
    incarnation: str = "first",
    credential: Credential = SECRET,
    options: LinkOptions = OPTIONS,
    inbox: str | None = None,
) -> AsyncIterator[Recorder]:
    """An endpoint that receives into a recorder."""
    endpoint = make.endpoint(
        member(process, kind, incarnation), credential, options, inbox
    )
    async with endpoint, anyio.create_task_group() as group:
        recorder = Recorder(endpoint)
        group.start_soon(recorder.run)
        yield recorder
        group.cancel_scope.cancel()


@asynccontextmanager
async def linked(
    make: LinkMaker, one: str, other: str, options: LinkOptions = OPTIONS
) -> AsyncIterator[tuple[Recorder, Recorder]]:
    """Two endpoints, the first of which asked for the link that is up."""
    async with (
        running(make, one, options=options) as a,
        running(make, other, options=options) as b,
    ):
        a.endpoint.connect(b.address)
        await a.next(PeerUp, other)
        await b.next(PeerUp, one)
        yield a, b


@asynccontextmanager
async def intruder(make: LinkMaker, victim: Recorder) -> AsyncIterator[Intruder]:
    wire = make.wire()
    wire.listen(lambda pipe: None, lambda pipe: None)
    intruder = Intruder(wire, victim.address.inbox)
    try:
        with anyio.fail_after(WAIT_S):
            await intruder.up.wait()
        yield intruder
    finally:
        intruder.close()
        wire.close()


def member(process: str, kind: str = "node", incarnation: str = "first") -> Identity:
    games = (("tic-tac-toe", "1"),)
    return Identity("test", process, kind, f"{process}-{incarnation}", "anna", games)


def true_hello(victim: Recorder, process: str, link: int = 1) -> Hello:
    """A true hello of a process whose inbox nobody listens at."""
    receiver = victim.address.incarnation
    scheme = victim.address.inbox.partition("://")[0]
    nowhere = "tcp://127.0.0.1:9" if scheme == "tcp" else f"{scheme}:///tmp/nowhere"
    return build_hello(SECRET, member(process), nowhere, receiver, link)


def numbered(number: int, size: int = 1, payload: bytes | None = None) -> Frame:
    """A frame that can be told from others."""
    if payload is None and size == 1:
        return Unwatch(number, "match", 1)
    raw = msgspec.Raw(payload or msgspec.msgpack.encode(bytes(size)))
    return Dispatch(number, "match", 1, "0", 1, 1, "place", raw)


def _process_of(event: LinkEvent) -> str:
    return event.peer.process if isinstance(event, PeerUp) else event.process
