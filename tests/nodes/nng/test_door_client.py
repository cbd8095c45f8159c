"""Asking a door: whoever answers, and whenever it is cancelled, nothing is left."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import pynng
import pytest
from anyio.abc import SocketAttribute, SocketStream

from hotseat.nodes.door_client import (
    DOOR_MESSAGE_BYTES_MAX,
    DoorTimeout,
    DoorUnreachable,
    door_request,
)
from hotseat.nodes.nng_door import DoorServer

pytestmark = pytest.mark.system

GREETING = b"\x00SP\x00\x00\x31\x00\x00"
NUMBER = b"\x80\x00\x00\x01"
backends = pytest.mark.parametrize("backend", ["trio", "asyncio"])


def message(body: bytes) -> bytes:
    return len(body).to_bytes(8, "big") + body


class Stranger:
    """Says the same to everybody who comes, and tells when they have gone."""

    def __init__(self, says: bytes, hangs_up: bool) -> None:
        self.address = ""
        self.heard = b""
        self.told, self.gone = anyio.Event(), anyio.Event()
        self._says, self._hangs_up = says, hangs_up

    async def meet(self, stream: SocketStream) -> None:
        async with stream:
            await stream.send(self._says)
            if self._hangs_up:
                return
            try:
                async for chunk in stream:
                    self.heard += chunk
                    self.told.set()
                    self.told = anyio.Event()
            except anyio.BrokenResourceError:
                pass
        self.gone.set()

    async def hears(self, expected: bytes) -> None:
        with anyio.fail_after(5):
            while len(self.heard) < len(expected):
                await self.told.wait()


@asynccontextmanager
async def stranger(says: bytes, *, hangs_up: bool = False) -> AsyncIterator[Stranger]:
    who = Stranger(says, hangs_up)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)
    who.address = f"tcp://127.0.0.1:{port}"
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, who.meet)
        yield who
        tasks.cancel_scope.cancel()


@backends
@pytest.mark.parametrize(
    ("says", "complaint"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is no door"),
        (b"\x00SP\x00\x00\x51\x00\x00", "is no door"),
        (GREETING + (DOOR_MESSAGE_BYTES_MAX + 1).to_bytes(8, "big"), "or too large"),
        (GREETING + message(b"\x80\x00\x00\x02hi"), "no answer to this request"),
        (GREETING + message(b""), "no answer to this request"),
        (GREETING + message(NUMBER + b"\xc0"), "failed on this request"),
    ],
)
def test_what_is_no_answer_is_none(backend: str, says: bytes, complaint: str) -> None:
    """Whatever answers, the asker gets an error by name."""

    async def main() -> None:
        async with stranger(says) as who:
            with pytest.raises(DoorUnreachable, match=complaint):
                await door_request(who.address, b"hi", 5)

    anyio.run(main, backend=backend)


@backends
@pytest.mark.parametrize("says", [b"", GREETING[:3], GREETING, GREETING + bytes(5)])
def test_who_hangs_up_is_unreachable(backend: str, says: bytes) -> None:
    """A connection that ends early is told at once, wherever it ends."""

    async def main() -> None:
        async with stranger(says, hangs_up=True) as who:
            with pytest.raises(DoorUnreachable):
                await door_request(who.address, b"hi", 60)

    anyio.run(main, backend=backend)


@backends
def test_a_door_that_is_there_and_one_that_is_not_time_out_by_name(
    backend: str,
) -> None:
    """Who does not greet is no door; who greets, and is silent, is late."""

    async def main() -> None:
        async with stranger(b"") as who:
            with pytest.raises(DoorUnreachable, match="nobody answers"):
                await door_request(who.address, b"hi", 0.05)
        async with stranger(GREETING) as who:
            with pytest.raises(DoorTimeout):
                await door_request(who.address, b"hi", 0.05)

    anyio.run(main, backend=backend)


@backends
@pytest.mark.parametrize("says", [b"", GREETING, GREETING + bytes(5)])
def test_asking_may_be_cancelled_anywhere(backend: str, says: bytes) -> None:
    """The connection is closed at once; no thread is begun, none is waited for."""

    async def main() -> None:
        async with stranger(says) as who:
            request = message(NUMBER + b"hi")
            # A stranger is told nothing before it has greeted.
            expected = b"\x00SP\x00\x00\x30\x00\x00" + (request if says else b"")
            threads = threading.active_count()
            async with anyio.create_task_group() as asking:
                asking.start_soon(door_request, who.address, b"hi", 60)
                await who.hears(expected)
                asking.cancel_scope.cancel()
            assert threading.active_count() <= threads
            with anyio.fail_after(5):
                await who.gone.wait()
            assert who.heard == expected

    anyio.run(main, backend=backend)


@backends
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_the_first_of_several_answers_is_enough(
    backend: str, transport: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Cancelling the others, again and again, leaves no thread, no descriptor and no
    complaint."""

    async def answer(request: bytes) -> bytes:
        return request

    async def first(addresses: list[str]) -> None:
        async def ask(address: str) -> None:
            await door_request(address, b"hi", 5)
            asking.cancel_scope.cancel()

        async with anyio.create_task_group() as asking:
            for address in addresses:
                asking.start_soon(ask, address)

    async def main() -> None:
        places = [
            "tcp://127.0.0.1:0" if transport == "tcp" else f"ipc://{tmp_path}/{number}"
            for number in range(2)
        ]
        async with (
            DoorServer(places[0], answer) as a,
            DoorServer(places[1], answer) as b,
        ):
            await first([a.address, b.address])
            threads, descriptors = threading.active_count(), descriptors_now()
            for _ in range(50):
                await first([a.address, b.address])
            assert threading.active_count() <= threads
            with anyio.fail_after(5):  # nng closes its ends when it notices
                while descriptors_now() > descriptors + 2:  # noqa: ASYNC110
                    await anyio.sleep(0.01)

    anyio.run(main, backend=backend)
    assert caplog.records == []


def descriptors_now() -> int:
    return len(os.listdir("/proc/self/fd"))


@backends
def test_nngs_own_req_may_ask_a_door(backend: str, tmp_path: Path) -> None:
    """A door is an nng REP socket: other programs may ask it as such."""

    async def answer(request: bytes) -> bytes:
        return request + b"!"

    def ask(address: str) -> bytes:
        with pynng.Req0(dial=address, recv_timeout=5000) as socket:
            socket.send(b"hi")
            told: bytes = socket.recv()
            return told

    async def main() -> None:
        async with DoorServer(f"ipc://{tmp_path}/door", answer) as door:
            assert await anyio.to_thread.run_sync(ask, door.address) == b"hi!"

    anyio.run(main, backend=backend)


@pytest.mark.parametrize(
    "address",
    ["nonsense", "ipc://", "tcp://127.0.0.1", "tcp://:9", "tcp://h:99999", "ws://a:1"],
)
def test_what_is_no_address_is_said(address: str) -> None:
    """A mistyped address is an error by name."""
    with pytest.raises(DoorUnreachable, match="no door's address"):
        anyio.run(partial(door_request, address, b"hi", 1))


@backends
def test_a_door_may_have_an_address_of_version_6(backend: str) -> None:
    """Such an address stands in brackets."""

    async def answer(request: bytes) -> bytes:
        return request

    async def main() -> None:
        async with DoorServer("tcp://[::1]:0", answer) as door:
            port = door.address.rpartition(":")[2]
            assert await door_request(f"tcp://[::1]:{port}", b"hi", 5) == b"hi"

    anyio.run(main, backend=backend)
