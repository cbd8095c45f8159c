"""WebSockets and HTTP by hand, for what no client library would send."""

from __future__ import annotations

import struct
from types import TracebackType

import anyio
from anyio.abc import SocketStream

__all__ = ["RawSocket", "close_code", "frame"]

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def frame(
    kind: int,
    payload: bytes = b"",
    *,
    last: bool = True,
    masked: bool = True,
    reserved: int = 0,
    length: int | None = None,
) -> bytes:
    """A frame; with `length` it promises more or less than it holds."""
    size = len(payload) if length is None else length
    mask = 0x80 if masked else 0
    head = bytes([(0x80 if last else 0) | reserved | kind])
    if size < 126:
        head += bytes([mask | size])
    elif size < 1 << 16:
        head += bytes([mask | 126]) + struct.pack(">H", size)
    else:
        head += bytes([mask | 127]) + struct.pack(">Q", size)
    return head + (b"\0\0\0\0" if masked else b"") + payload


def close_code(heard: bytes) -> int | None:
    """Of the close frame that ends what was heard, if one does."""
    at = heard.rfind(b"\x88")
    if at < 0 or at + 4 > len(heard):
        return None
    return int.from_bytes(heard[at + 2 : at + 4], "big")


class RawSocket:
    """One TCP connection."""

    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self.heard = b""

    @classmethod
    async def connect(cls, port: int) -> RawSocket:
        return cls(await anyio.connect_tcp("127.0.0.1", port))

    @classmethod
    async def upgrade(cls, port: int, path: str) -> RawSocket:
        """A WebSocket that has heard its first message."""
        made = await cls.connect(port)
        await made.say(
            f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Extensions: permessage-deflate\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        while b'"revision"' not in made.heard:
            made.heard += await made.stream.receive()
        return made

    async def __aenter__(self) -> RawSocket:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stream.aclose()

    async def say(self, data: bytes) -> bool:
        """False: the other side has closed it."""
        try:
            await self.stream.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return False
        return True

    async def hear_end(self, within_s: float = 10.0) -> bytes:
        """Everything until the other side closes.

        Raises:
            TimeoutError: It does not.
        """
        with anyio.fail_after(within_s):
            try:
                while True:
                    self.heard += await self.stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return self.heard
