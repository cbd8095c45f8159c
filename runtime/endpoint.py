"""An endpoint on any wire: links that open with hello, batch, beat and come back.

Two halves meet here. `inbox.py` judges what comes in; each `Outgoing` is a queue
and the channel that empties it. This file moves bytes between them and the wire
(`wire.py`), and keeps the tasks: one for each outgoing link, one that flushes, one
that beats.

Rules:
- All frames of one wake-up to a peer leave as one message: `send` only queues, and
  the flushing task runs when the loop next yields. There is no timer in between.
- A channel is used for one connection. When it goes down, it is closed with what it
  held, what was queued is dropped, and another is dialled after a pause.
- A link that was lost while the peer's own link to us stayed up is reported as
  `PeerDown` and `PeerUp`: what was under way is gone, and both must know.
- What nobody asked for is not kept: a link back to a process that proved itself
  lives as long as that process's own link does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from types import TracebackType

import anyio
import anyio.lowlevel
import structlog
from anyio.abc import TaskGroup

from .codec import encode_frame, encode_hello, encode_message
from .errors import LinkRefused, LinkUnavailable
from .frame import Frame, Heartbeat
from .hello import Credential, build_hello
from .inbox import Inbox
from .link import (
    EndpointStatistics,
    Identity,
    LinkDownReason,
    LinkEvent,
    PeerAddress,
    PeerDown,
    PeerUp,
)
from .link_options import LinkOptions
from .outgoing import Outgoing
from .wire import Wire, current_clock

__all__ = ["DIAL_REFUSED", "WireEndpoint"]

# Name of a log event.
DIAL_REFUSED = "dial_refused"

# A link that lived this many of the longest pauses was a good one: its next pause
# starts from the shortest again.
_GOOD_LINK_PAUSES = 2

log = structlog.get_logger()


class WireEndpoint:
    """Implements `hotseat.runtime.link.Endpoint` on a wire."""

    def __init__(
        self,
        wire: Wire,
        identity: Identity,
        credential: Credential,
        options: LinkOptions | None = None,
        *,
        advertise: str | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Prepare; nothing is opened before `__aenter__`.

        `advertise` is the address that others are told, when it is not the one
        that is listened at. `jitter` draws from [0, 1).

        Raises:
            ValueError: The options or the identity cannot work.
        """
        self._options = options or LinkOptions()
        self._options.validate()
        self._wire = wire
        self._identity = identity
        self._credential = credential
        self._advertise = advertise
        self._jitter = jitter
        self._inbox = Inbox(identity, credential, self._options)
        self._outgoing: dict[str, Outgoing] = {}
        self._dirty: dict[Outgoing, None] = {}  # in order: what has to be flushed
        self._dirt = anyio.Event()
        self._closed = False
        self._events: list[LinkEvent] = []
        self._waiting: anyio.CancelScope | None = None
        self._read_s = 0.0
        self._links = 0
        self._frames_sent = 0
        self._messages_sent = 0
        self._address: PeerAddress | None = None
        self._tasks: TaskGroup
        self._clock: Callable[[], float]

    @property
    def identity(self) -> Identity:
        return self._identity

    @property
    def address(self) -> PeerAddress:
        """Where others reach this process (known once entered)."""
        if self._address is None:
            raise RuntimeError("the endpoint has no address before it is entered")
        return self._address

    async def __aenter__(self) -> WireEndpoint:
        """Open the inbox.

        Raises:
            LinkRefused: It cannot be opened there.
        """
        inbox = self._wire.listen(self._pipe_opened, self._pipe_closed)
        identity = self._identity
        self._address = PeerAddress(
            identity.process, self._advertise or inbox, identity.incarnation
        )
        self._clock = current_clock()
        self._read_s = self._clock()
        self._tasks = await anyio.create_task_group().__aenter__()
        self._tasks.start_soon(self._flush_when_dirty)
        self._tasks.start_soon(self._beat)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closed = True
        if self._waiting is not None:
            self._waiting.cancel()
        self._tasks.cancel_scope.cancel()
        if not isinstance(error, anyio.get_cancelled_exc_class()):
            # Ours is not the caller's task group: their error leaves as it is.
            kind = error = traceback = None
        try:
            # Nothing to swallow: the scope is cancelled only here.
            await self._tasks.__aexit__(kind, error, traceback)
        finally:
            self._outgoing.clear()
            self._wire.close()

    def connect(self, peer: PeerAddress) -> None:
        """Keep a link to `peer` up, with back-off, until `disconnect`.

        Idempotent. Another incarnation of the same process replaces the link.

        Raises:
            LinkUnavailable: The endpoint is closed.
            ValueError: `peer` is this process itself.
        """
        if self._closed:
            raise LinkUnavailable("the endpoint is closed")
        if peer.process == self._identity.process:
            raise ValueError(f"{peer.process} cannot link to itself")
        link = self._link_to(peer)
        link.wanted = True
        if link.address != peer:
            link.restart(peer)

    def disconnect(self, process: str) -> None:
        """Drop the link to `process` and what it had queued."""
        self._forget(process)
        self._inbox.drop(process)
        self._settle()

    def send(self, process: str, frame: Frame) -> None:
        """Queue one frame; all frames of one wake-up to a peer go as one message.

        Raises:
            FrameTooLarge: The encoded frame is above the limit.
            LinkUnavailable: No link to that process is up or being dialled.
            LinkFull: The link's queue has no room: the peer does not keep up.
        """
        link = self._outgoing.get(process)
        if link is None:
            raise LinkUnavailable(f"there is no link to {process}")
        link.outbox.put(encode_frame(frame))
        self._soil(link)

    async def receive(self) -> list[LinkEvent]:
        """Wait for something; return all that one drain of the inbox brought.

        One task may wait at a time.

        Raises:
            LinkUnavailable: The endpoint is closed.
        """
        await anyio.lowlevel.checkpoint()
        while not (events := self._drain()):
            try:
                with anyio.CancelScope() as self._waiting:
                    await self._wire.wait()
            finally:
                self._waiting = None
        return events

    def statistics(self) -> EndpointStatistics:
        inbox = self._inbox
        return EndpointStatistics(
            peers=len(inbox),
            queued_frames=sum(len(link.outbox) for link in self._outgoing.values()),
            frames_sent=self._frames_sent,
            frames_received=inbox.frames_received,
            messages_sent=self._messages_sent,
            messages_received=inbox.messages_received,
            hellos_refused=inbox.hellos_refused,
            malformed_messages=inbox.malformed_messages,
            pipes_lost=inbox.pipes_lost,
        )

    # Incoming.

    def _drain(self) -> list[LinkEvent]:
        if self._closed:
            raise LinkUnavailable("the endpoint is closed")
        now_s = self._clock()
        room_bytes = self._options.drain_bytes_max
        for _ in range(self._options.drain_messages_max):
            item = self._wire.receive()
            if item is None:
                self._read_s = now_s  # all that came has been read
                break
            pipe, message = item
            self._inbox.received(pipe, message, now_s)
            room_bytes -= len(message)
            if room_bytes <= 0:
                break
        self._settle()
        events, self._events = self._events, []
        return events

    def _pipe_opened(self, pipe: int) -> None:
        self._inbox.opened(pipe, self._clock())
        self._settle()

    def _pipe_closed(self, pipe: int) -> None:
        self._inbox.closed(pipe)
        self._settle()

    def _settle(self) -> None:
        """Do what the inbox says, and let `receive` return what happened."""
        events, closing = self._inbox.take()
        for pipe in closing:
            self._wire.close_pipe(pipe)
        for event in events:
            if isinstance(event, PeerUp):
                link = self._link_to(event.address)
                # The same incarnation is reached where it is reached already.
                if link.address.incarnation != event.address.incarnation:
                    link.restart(event.address)
            elif isinstance(event, PeerDown):
                self._peer_down(event)
        self._report(events)

    def _report(self, events: list[LinkEvent]) -> None:
        self._events += events
        if events and self._waiting is not None:
            self._waiting.cancel()

    def _peer_down(self, event: PeerDown) -> None:
        link = self._outgoing.get(event.process)
        if link is None:
            return
        if not link.wanted:
            self._forget(event.process)
        elif event.reason is LinkDownReason.SILENT:
            # What it does not read now is of no use to it later.
            link.restart(link.address)

    # Outgoing.

    def _link_to(self, peer: PeerAddress) -> Outgoing:
        link = self._outgoing.get(peer.process)
        if link is None:
            link = Outgoing(peer, self._options)
            self._outgoing[peer.process] = link
            self._tasks.start_soon(self._keep, link)
        return link

    def _forget(self, process: str) -> None:
        link = self._outgoing.pop(process, None)
        if link is not None:
            self._dirty.pop(link, None)
            link.outbox.clear()
            link.life.cancel()

    async def _keep(self, link: Outgoing) -> None:
        """Dial, carry, pause, and again, until the link is forgotten."""
        failures = 0
        with link.life:
            while True:
                began_s = self._clock()
                with anyio.CancelScope() as link.connection:
                    try:
                        await self._carry(link)
                    except LinkRefused as error:
                        inbox = link.address.inbox
                        log.warning(DIAL_REFUSED, inbox=inbox, detail=str(error))
                lived_s = self._clock() - began_s
                good_s = _GOOD_LINK_PAUSES * self._options.backoff_s_max
                failures = 0 if lived_s > good_s else failures + 1
                await anyio.sleep(self._pause_s(failures))

    async def _carry(self, link: Outgoing) -> None:
        """Hold one connection until it goes down, which cancels this."""
        self._links += 1
        link.number = self._links
        peer = link.address
        hello = build_hello(
            self._credential,
            self._identity,
            self.address.inbox,
            peer.incarnation,
            link.number,
        )
        up = anyio.Event()
        channel = self._wire.dial(peer.inbox, up.set, link.connection.cancel)
        try:
            await up.wait()
            while not channel.send(encode_hello(hello)):
                await channel.wait()
            link.channel = channel
            self._mend(link)
            while True:
                self._flush(link)
                await link.blocked.wait()
                await channel.wait()
                link.blocked = anyio.Event()
        finally:
            if link.channel is channel:  # it went down by itself
                link.channel = None
                link.outbox.clear()
                link.torn_pipe = self._inbox.pipe_of(peer.process)
            link.blocked = anyio.Event()
            channel.close()

    def _mend(self, link: Outgoing) -> None:
        """A link is up. If it had been lost alone, those who listen start over."""
        process = link.address.process
        torn, link.torn_pipe = link.torn_pipe, None
        if torn is not None and torn == self._inbox.pipe_of(process):
            self._report(self._inbox.tear(process))

    def _pause_s(self, failures: int) -> float:
        doubled_s: float = self._options.backoff_s_min * 2 ** min(failures, 16)
        longest_s = min(doubled_s, self._options.backoff_s_max)
        return longest_s * (0.5 + self._jitter() / 2)

    def _soil(self, link: Outgoing) -> None:
        self._dirty[link] = None
        self._dirt.set()

    async def _flush_when_dirty(self) -> None:
        while True:
            await self._dirt.wait()
            self._dirt = anyio.Event()
            dirty, self._dirty = self._dirty, {}
            for link in dirty:
                self._flush(link)

    def _flush(self, link: Outgoing) -> None:
        channel = link.channel
        if channel is None or link.blocked.is_set():
            return
        while frames := link.outbox.take():
            if not channel.send(encode_message(link.number, frames)):
                link.outbox.put_back(frames)
                link.blocked.set()
                return
            self._messages_sent += 1
            self._frames_sent += len(frames)

    async def _beat(self) -> None:
        """Say that we live, and look who no longer does."""
        while True:
            await anyio.sleep(self._options.heartbeat_s)
            now_s = self._clock()
            beat = encode_frame(Heartbeat(int(now_s * 1000)))
            for link in self._outgoing.values():
                # What waits already says as much.
                if link.channel is not None and not link.outbox:
                    link.outbox.put(beat)
                    self._soil(link)
            # While `receive` waits, all that came has been read.
            self._inbox.tick(self._read_s if self._waiting is None else now_s)
            self._settle()
