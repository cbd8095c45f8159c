"""Links over nng: one PULL inbox, one PUSH socket for each outgoing pipe.

This file, `nng_door.py` and `nng_sockets.py` are the only ones that speak to nng.

Rules, each bought with a measurement:
- Sockets are driven by their poll descriptors, which are readable when a receive,
  or a send, would not block; never by asend and arecv.
- nng calls back from its own threads, under a lock: a callback only posts to the
  loop. The exception is refusing a pipe before it is connected.
- The loop never waits for these threads: sockets are closed in another one.
- A PUSH socket may have one pipe in its life. nng would redial, and what had waited
  would go before our hello.
- nng keeps a pipe that its peer closed at once among those it sends through, and
  frees it: so nothing is sent once it is removed, and none follows it.
- A socket that is closed while it dials may lose its descriptor: it is closed when
  the dial has had time to end.
- Every option has a value of ours, set before listening or dialling: nng's own
  limit on the size of a message is none.
- nng must not be forked: start processes with exec only.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import pynng

from ..runtime.codec import MESSAGE_LIMIT_BYTES
from ..runtime.endpoint import WireEndpoint
from ..runtime.errors import LinkRefused
from ..runtime.hello import Credential
from ..runtime.link import Identity
from ..runtime.link_options import LinkOptions
from ..runtime.wire import Channel, Post, current_post
from .nng_sockets import close_socket, open_socket

__all__ = ["NngEndpoint", "NngWire", "post_quietly"]

# Bytes. nng closes the pipe of a larger message without a word; a little above our
# own limit, so that what is slightly too large is refused by name.
RECEIVE_MAX_BYTES = MESSAGE_LIMIT_BYTES + 64 * 1024

# Messages that nng holds for a pipe before we must wait. Enough to keep a
# connection busy; what is held is lost with the pipe.
_SEND_BUFFER_MESSAGES = 8

# Milliseconds between nng's own attempts to bring a new socket's pipe up; it draws
# each pause from zero to this. Long beside `_SETTLE_S`: few are met by a close.
_RECONNECT_MS = 1000

# Seconds in which an attempt to dial ends one way or the other, on any near network.
_SETTLE_S = 0.1

# Pipes that are remembered because they went before they came, by two threads of nng's.
# The one notice follows the other within milliseconds, if at all.
_GONE_MAX = 1024

# Seconds that an inbox is waited for when it closes: its address is free after that.
_CLOSE_S = 2.0


class NngEndpoint(WireEndpoint):
    """An endpoint whose inbox is an nng address (`tcp://host:port`, `ipc://path`)."""

    def __init__(
        self,
        identity: Identity,
        listen: str,
        credential: Credential,
        options: LinkOptions | None = None,
        *,
        advertise: str | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`listen`: port 0 takes a free one. The rest is as in `WireEndpoint`."""
        super().__init__(
            NngWire(listen),
            identity,
            credential,
            options,
            advertise=advertise,
            jitter=jitter,
        )


class NngWire:
    """Implements `hotseat.runtime.wire.Wire` on nng."""

    def __init__(self, listen: str) -> None:
        self._listen = listen
        self._socket: Any = None
        self._fd = -1
        self._post: Post
        self._pipes: dict[int, Any] = {}
        self._gone: dict[
            int, None
        ] = {}  # that they are up is told after that they went
        self._closed = False

    def listen(
        self, opened: Callable[[int], None], closed: Callable[[int], None]
    ) -> str:
        """
        Raises:
            LinkRefused: The address is in use, not ours, or malformed.
        """
        self._post = current_post()
        self._socket = open_socket(pynng.Pull0, recv_max_size=RECEIVE_MAX_BYTES)
        self._socket.add_post_pipe_connect_cb(
            lambda pipe: self._soon(self._pipe_up, pipe, opened)
        )
        self._socket.add_post_pipe_remove_cb(
            lambda pipe: self._soon(self._pipe_down, pipe.id, closed)
        )
        try:
            listener = self._socket.listen(self._listen)
        except pynng.NNGException as error:
            close_socket(self._socket)
            raise _cannot_listen(self._listen, error) from error
        self._fd = self._socket.recv_fd
        scheme, _, _ = self._listen.partition("://")
        if scheme == "tcp":
            return f"tcp://{listener.local_address}"
        return self._listen

    def receive(self) -> tuple[int, bytes] | None:
        while True:
            try:
                message = self._socket.recv_msg(block=False)
            except pynng.TryAgain:
                return None
            if message.pipe is not None:  # None: the pipe has just been closed
                pipe: int = message.pipe.id
                return pipe, message.bytes

    async def wait(self) -> None:
        await anyio.wait_readable(self._fd)

    def close_pipe(self, pipe: int) -> None:
        known = self._pipes.get(pipe)
        if known is None and self._socket is not None:
            # Its first message overtook the notice that it is up.
            known = next((p for p in self._socket.pipes if p.id == pipe), None)
        if known is not None:
            with suppress(pynng.NNGException):  # it went down by itself
                known.close()

    def dial(
        self, inbox: str, up: Callable[[], None], down: Callable[[], None]
    ) -> Channel:
        """
        Raises:
            LinkRefused: `inbox` is no address that nng can dial.
        """
        return NngChannel(inbox, self._post, up, down)

    def close(self) -> None:
        if not self._closed and self._socket is not None:
            self._closed = True
            if self._fd >= 0:
                anyio.notify_closing(self._fd)
            close_socket(self._socket).wait(_CLOSE_S)
            self._pipes.clear()

    def _pipe_up(self, pipe: Any, opened: Callable[[int], None]) -> None:
        if pipe.id in self._gone:
            del self._gone[pipe.id]
            self._socket._pipes.pop(pipe.id, None)  # pynng would keep it for ever
            return
        self._pipes[pipe.id] = pipe
        opened(pipe.id)

    def _pipe_down(self, pipe: int, closed: Callable[[int], None]) -> None:
        if self._pipes.pop(pipe, None) is None:
            self._gone[pipe] = None
            if len(self._gone) > _GONE_MAX:
                del self._gone[next(iter(self._gone))]
        closed(pipe)

    def _soon(self, function: Callable[..., None], *args: object) -> None:
        """Post to the loop, from a thread of nng's."""
        post_quietly(self._post, partial(self._unless_closed, function, *args))

    def _unless_closed(self, function: Callable[..., None], *args: object) -> None:
        if not self._closed:
            function(*args)


class NngChannel:
    """One PUSH socket with at most one pipe."""

    def __init__(
        self,
        inbox: str,
        post: Post,
        up: Callable[[], None],
        down: Callable[[], None],
    ) -> None:
        self._fd = -1
        self._closed = False
        # Its one pipe's life, as nng tells it: removed may come before connected.
        self._piped = self._connected = self._removed = False
        # Held while sending: nng frees a pipe after it told that it is removed.
        self._pipe_stays = threading.Lock()
        self._post = post
        self._up, self._down = up, down
        self._socket = open_socket(
            pynng.Push0,
            send_buffer_size=_SEND_BUFFER_MESSAGES,
            reconnect_time_min=_RECONNECT_MS,
            reconnect_time_max=_RECONNECT_MS,
        )
        self._socket.add_pre_pipe_connect_cb(self._admit)
        self._socket.add_post_pipe_connect_cb(self._on_connected)
        self._socket.add_post_pipe_remove_cb(self._on_removed)
        try:
            self._socket.dial(inbox, block=False)
        except pynng.NNGException as error:
            close_socket(self._socket)
            raise LinkRefused(f"{inbox!r} cannot be dialled: {error}") from error

    def send(self, message: bytes) -> bool:
        with self._pipe_stays:
            if self._closed:
                return False
            if self._removed:
                return True  # and lost with the pipe, as what nng holds for it is
            try:
                self._socket.send(message, block=False)
            except pynng.TryAgain:
                return False
            return True

    async def wait(self) -> None:
        if self._fd < 0:
            self._fd = self._socket.send_fd  # two descriptors, so only when needed
        await anyio.wait_readable(self._fd)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            if self._fd >= 0:
                anyio.notify_closing(self._fd)
            # If it is not up, nng may be dialling, for the first time or again.
            up = self._connected and not self._removed
            close_socket(self._socket, 0.0 if up else _SETTLE_S)

    # In threads of nng's.

    def _admit(self, pipe: Any) -> None:
        """Before a pipe is connected: only the first is."""
        if self._piped or self._closed:
            pipe.close()
        self._piped = True

    def _on_connected(self, pipe: Any) -> None:
        self._connected = True
        post_quietly(self._post, partial(self._unless_closed, self._up))

    def _on_removed(self, pipe: Any) -> None:
        with self._pipe_stays:
            self._removed = True
        post_quietly(self._post, partial(self._unless_closed, self._down))

    # In the loop.

    def _unless_closed(self, callback: Callable[[], None]) -> None:
        if not self._closed:
            callback()


def post_quietly(post: Post, callback: Callable[[], None]) -> None:
    """Post to the loop from a thread of nng's; nothing if the loop has ended."""
    # trio's RunFinishedError is a RuntimeError; asyncio raises a plain one.
    with suppress(RuntimeError):
        post(callback)


def _cannot_listen(address: str, error: pynng.NNGException) -> LinkRefused:
    if isinstance(error, pynng.AddressInUse):
        return LinkRefused(
            f"{address} is in use: another process listens there. Stop it, or choose "
            "another port (0 takes a free one)"
        )
    return LinkRefused(f"cannot listen at {address}: {error}")
