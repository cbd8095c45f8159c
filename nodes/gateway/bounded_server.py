"""What anycorn leaves unbounded, bounded.

- anycorn 0.20 closes a WebSocket that sends too large a message, but goes on gathering
  the rest of it for as long as it comes, and tells nobody.
- It keeps a connection that was closed before its first whole request until its time
  as an idle one is over, and a WebSocket until its next ping: whoever comes and goes
  may have as many as he likes.
- It ends, with all its players, when a connection cannot be accepted: when the process
  has as many files open as it may, which anybody can bring about.
- It speaks HTTP/2 to who asks for it in the clear, which no browser does: a second
  protocol, with bounds of its own, that nobody needs here.

These are changes to its classes: a version that has them otherwise fails at once, here
or in `tests/nodes/gateway/test_attacks.py`.
"""

from __future__ import annotations

import errno
import math
import resource
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

import anyio
import h11
from anycorn.protocol import h11 as http1
from anycorn.protocol.events import Event, StreamClosed
from anycorn.protocol.ws_stream import WSStream
from anycorn.tcp_server import TCPServer
from anyio import aclose_forcefully
from anyio.abc import SocketListener, SocketStream, TaskGroup
from wsproto.connection import Connection
from wsproto.events import CloseConnection, Message, Ping
from wsproto.events import Event as Frame

from ..telemetry import get_logger
from .bucket import Bucket
from .close_code import CloseCode

__all__ = ["FRAMES_BURST", "allow_files", "bound_server"]


PASSING = {
    errno.ECONNABORTED,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOBUFS,
    errno.ENOMEM,
}
"""Why a connection cannot be accepted just now."""

FILES_SPARED = 128
"""Files that are not for players: links to nodes, logs, keys, what libraries open."""

FRAMES_PER_S, FRAMES_BURST = 20, 200
"""Frames of one connection that are no whole message."""

PAUSE_S = 0.1
NOTE_S = 10.0

log = get_logger()


class _Flood(Exception):
    """Frames that are no messages come too fast."""


class _BoundedStream(WSStream):
    """Ends with the first message that is too large, and then at once; and when more
    frames come than anybody needs who means well."""

    _over: anyio.Event | None = None

    async def handle(self, event: Event) -> None:
        await super().handle(event)
        if self.closed and self._over is not None:
            self._over.set()

    async def _send_pings(self) -> None:
        interval_s = self.config.websocket_ping_interval
        assert interval_s is not None
        self._over = anyio.Event()
        while not self.closed:
            await self._send_wsproto_event(Ping())
            with anyio.move_on_after(interval_s):
                await self._over.wait()

    @property
    def connection(self) -> Connection:
        return self._connection

    @connection.setter
    def connection(self, connection: Connection) -> None:
        self._connection = connection
        self._frames = Bucket(FRAMES_PER_S, FRAMES_BURST, anyio.current_time())
        vars(connection)["events"] = partial(self._few, connection.events)  # shadows it

    def _few(self, events: Callable[[], Iterator[Frame]]) -> Iterator[Frame]:
        """Messages are counted by who reads them; pings, pongs and parts are not."""
        for event in events():
            is_message = isinstance(event, Message) and event.message_finished
            if not is_message and not self._frames.take(anyio.current_time()):
                raise _Flood
            yield event

    async def _handle_events(self) -> None:
        try:
            await super()._handle_events()
        except _Flood:
            self.buffer.clear()
            flood = CloseConnection(code=CloseCode.FLOOD, reason="rate_limited")
            await self._send_wsproto_event(flood)
            await self.send(StreamClosed(stream_id=self.stream_id))
        if self.buffer.length > self.buffer.max_length:
            self.buffer.clear()
            await self.send(StreamClosed(stream_id=self.stream_id))


_read_until_closed = TCPServer._read_data
_serve_anybody = SocketListener.serve


async def _read_then_end(self: TCPServer) -> None:
    """Nothing more comes: it is not idle, but over."""
    try:
        await _read_until_closed(self)
    finally:
        await self.idle_task.stop()


async def _serve_patiently(
    self: SocketListener,
    handler: Callable[[SocketStream], Awaitable[None]],
    task_group: TaskGroup | None = None,
) -> None:
    """Accept for ever: what has no room waits in the queue, or is closed at once.

    anycorn serves all its listeners in one group. Who listens without is not anycorn.
    """
    if task_group is None:
        await _serve_anybody(self, handler)
        return
    is_open = 0

    async def counted(stream: SocketStream) -> None:
        nonlocal is_open
        try:
            await handler(stream)
        finally:
            is_open -= 1

    noted_s = -math.inf
    while True:
        try:
            stream = await self.accept()
        except (OSError, anyio.BrokenResourceError) as error:
            # On trio, anyio tells it as the cause of an error of its own.
            cause = error if isinstance(error, OSError) else error.__cause__
            if not isinstance(cause, OSError) or cause.errno not in PASSING:
                raise
            if anyio.current_time() - noted_s > NOTE_S:
                noted_s = anyio.current_time()
                log.warning("accept_failed", error=str(cause))
            await anyio.sleep(PAUSE_S)
            continue
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if is_open >= files - FILES_SPARED:
            await aclose_forcefully(stream)
            continue
        is_open += 1
        task_group.start_soon(counted, stream)


async def _stay_with_http1(self: http1.H11Protocol, event: h11.Request) -> None:
    """Whatever a request says of other protocols, it is one of HTTP/1."""


def bound_server() -> None:
    """Change the server for all of this process. Idempotent."""
    for place, name, ours in (
        (http1, "WSStream", _BoundedStream),
        (TCPServer, "_read_data", _read_then_end),
        (SocketListener, "serve", _serve_patiently),
        (http1.H11Protocol, "_check_protocol", _stay_with_http1),
    ):
        assert hasattr(place, name), f"anycorn has no {name} any more"
        setattr(place, name, ours)


def allow_files(connections: int) -> None:
    """Let the process open as many files as these connections need, as far as it may;
    said when it may not."""
    wanted = 2 * connections + FILES_SPARED  # those of requests, and of who is refused
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        log.warning("files_short", allowed=allowed, wanted=wanted)
