"""What anycorn leaves unbounded, bounded.

- anycorn 0.20 closes a WebSocket that sends too large a message, but goes on gathering
  the rest of it for as long as it comes, and tells nobody.
- It keeps a connection that was closed before its first whole request until its time
  as an idle one is over: whoever sends junk may have as many as he likes.
- It speaks HTTP/2 to who asks for it in the clear, which no browser does: a second
  protocol, with bounds of its own, that nobody needs here.

These are changes to its classes: a version that has them otherwise fails at once, here
or in `tests/nodes/gateway/test_attacks.py`.
"""

from __future__ import annotations

import h11
from anycorn.protocol import h11 as http1
from anycorn.protocol.events import StreamClosed
from anycorn.protocol.ws_stream import WSStream
from anycorn.tcp_server import TCPServer

__all__ = ["bound_server"]


class _BoundedStream(WSStream):
    """Ends with the first message that is too large."""

    async def _handle_events(self) -> None:
        await super()._handle_events()
        if self.buffer.length > self.buffer.max_length:
            self.buffer.clear()
            await self.send(StreamClosed(stream_id=self.stream_id))


_read_until_closed = TCPServer._read_data


async def _read_then_end(self: TCPServer) -> None:
    """Nothing more comes: it is not idle, but over."""
    try:
        await _read_until_closed(self)
    finally:
        await self.idle_task.stop()


async def _stay_with_http1(self: http1.H11Protocol, event: h11.Request) -> None:
    """Whatever a request says of other protocols, it is one of HTTP/1."""


def bound_server() -> None:
    """Change the server for all of this process. Idempotent."""
    for place, name, ours in (
        (http1, "WSStream", _BoundedStream),
        (TCPServer, "_read_data", _read_then_end),
        (http1.H11Protocol, "_check_protocol", _stay_with_http1),
    ):
        assert hasattr(place, name), f"anycorn has no {name} any more"
        setattr(place, name, ours)
