"""Asks a door: one request, one answer, over a plain socket.

A door is an nng REP socket (`nng_door.py`). This side speaks nng's protocol itself: a
greeting of eight bytes each way, then messages, each behind its length. The first four
bytes of a request are its number, and come back before the answer.

Not nng's REQ socket, because asking must be cancelled at any moment without harm: of
several doors asked at once the first answer is enough. nng 1.11 dials in a thread that
waits; a close that overtakes it there, between the dialer's making and its start, waits
for ever for that thread, which waits for ever for the dialer.
"""

from __future__ import annotations

import socket
import struct

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream

from ..runtime.errors import LinkError

__all__ = [
    "DOOR_MESSAGE_BYTES_MAX",
    "NO_ANSWER",
    "DoorTimeout",
    "DoorUnreachable",
    "door_request",
]

DOOR_MESSAGE_BYTES_MAX = 1024 * 1024
"""Bytes of a request or an answer. The connection of a larger one is dropped."""

NO_ANSWER = b"\xc0"
"""The answer to a request that could not be answered: nil in msgpack."""

# Greetings: zero, "SP", version zero; the protocol's number; two bytes that are zero.
_WE_ASK = b"\x00SP\x00\x00\x30\x00\x00"
_THEY_ANSWER = b"\x00SP\x00\x00\x31\x00\x00"

# A request's number has its highest bit set. Ours is alone on its connection.
_NUMBER = b"\x80\x00\x00\x01"

_LENGTH = struct.Struct(">Q")

# Seconds between two attempts to reach a door of this machine that many are asking.
_CROWDED_S = 0.01

# What comes before a message's length: on ipc, that it is a message.
_BEFORE_LENGTH = {"tcp": b"", "ipc": b"\x01"}


class DoorUnreachable(LinkError):
    """Nobody listens at the door, or they went away before answering."""

    code = "door_unreachable"


class DoorTimeout(LinkError):
    """The door is there but did not answer in time."""

    code = "door_timeout"


async def door_request(address: str, request: bytes, timeout_s: float) -> bytes:
    """Send one request to a door and return its answer.

    May be cancelled; the request may have been carried out all the same.

    Raises:
        DoorUnreachable: Nobody listens there, it is no address, or they went away
            before answering, or could not answer this request.
        DoorTimeout: No answer within `timeout_s`.
    """
    greeted = False
    try:
        with anyio.fail_after(timeout_s):
            async with await _connect(address) as stream:
                bytes_of = BufferedByteReceiveStream(stream)
                await stream.send(_WE_ASK)
                if await bytes_of.receive_exactly(len(_THEY_ANSWER)) != _THEY_ANSWER:
                    raise DoorUnreachable(f"what answers at {address} is no door")
                greeted = True
                before = _BEFORE_LENGTH[address.partition("://")[0]]
                length = _LENGTH.pack(len(_NUMBER) + len(request))
                await stream.send(before + length + _NUMBER + request)
                answer = await _answer(bytes_of, before, address)
    except TimeoutError:
        if not greeted:
            raise DoorUnreachable(f"nobody answers at {address}") from None
        raise DoorTimeout(f"{address} did not answer in {timeout_s:g} s") from None
    except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
        raise DoorUnreachable(
            f"{address} closed the connection before answering"
        ) from None
    except OSError as error:
        raise DoorUnreachable(f"cannot reach {address}: {error}") from error
    if answer == NO_ANSWER:
        raise DoorUnreachable(f"{address} failed on this request; see its log")
    return answer


async def _connect(address: str) -> ByteStream:
    """
    Raises:
        DoorUnreachable: It is no address.
        OSError: Nobody listens there.
    """
    scheme, _, place = address.partition("://")
    if scheme == "ipc" and place:
        return await _UnixStream.connect(place)
    host, _, port = place.rpartition(":")
    if scheme == "tcp" and host and port.isdecimal() and int(port) < 2**16:
        return await anyio.connect_tcp(_without_brackets(host), int(port))
    raise DoorUnreachable(
        f"{address!r} is no door's address: that is ipc://PATH or tcp://HOST:PORT"
    )


def _without_brackets(host: str) -> str:
    if host.startswith("[") and host.endswith("]"):
        return host[1:-1]
    return host


async def _answer(
    bytes_of: BufferedByteReceiveStream, before: bytes, address: str
) -> bytes:
    """
    Raises:
        DoorUnreachable: What comes is no answer.
        EndOfStream, IncompleteRead, BrokenResourceError: They went away.
    """
    head = await bytes_of.receive_exactly(len(before) + _LENGTH.size)
    (length,) = _LENGTH.unpack(head[len(before) :])
    if not head.startswith(before) or length > DOOR_MESSAGE_BYTES_MAX:
        raise DoorUnreachable(f"what {address} sends is no answer, or too large")
    body = await bytes_of.receive_exactly(length)
    if not body.startswith(_NUMBER):
        raise DoorUnreachable(f"what {address} sends is no answer to this request")
    return body[len(_NUMBER) :]


class _UnixStream(ByteStream):
    """As anyio's, which on asyncio writes a traceback to the log when it is cancelled
    in the moment in which something comes."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.setblocking(False)

    @classmethod
    async def connect(cls, path: str) -> _UnixStream:
        """
        Raises:
            OSError: Nobody listens there.
        """
        stream = cls()
        try:
            while True:
                try:
                    stream._socket.connect(path)
                    return stream
                except BlockingIOError:  # too many are before us: nothing tells when
                    await anyio.sleep(_CROWDED_S)
        except BaseException:
            stream._socket.close()
            raise

    async def receive(self, max_bytes: int = 65536) -> bytes:
        while True:
            try:
                received = self._socket.recv(max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
            else:
                if not received:
                    raise anyio.EndOfStream
                return received

    async def send(self, item: bytes) -> None:
        rest = memoryview(item)
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)

    async def send_eof(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        anyio.notify_closing(self._socket)
        self._socket.close()
