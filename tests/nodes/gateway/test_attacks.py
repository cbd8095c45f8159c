"""Who means harm: garbage, floods, half of everything. The server behind its real
sockets lets them go, nobody else notices, and nothing is left of them."""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import sys
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from hotseat.config import GatewayConfig
from hotseat.nodes.client import RemoteMatch, Seat
from hotseat.nodes.gateway import api, bounded_server, serve
from hotseat.nodes.gateway.bounded_server import FRAMES_BURST
from hotseat.nodes.gateway.close_code import CloseCode

from .raw_socket import BINARY, CLOSE, PING, PONG, TEXT, RawSocket, close_code, frame
from .rig import Rig
from .test_sockets import OPTIONS, served, until_connections

pytestmark = [pytest.mark.system]

MB = 1 << 20


class Target:
    """A served gateway with one match, and an honest spectator."""

    def __init__(self, gateway: Rig, match: RemoteMatch, port: int) -> None:
        self.gateway, self.match, self.port = gateway, match, port
        self.seats: list[Seat] = []

    @property
    def path(self) -> str:
        token = self.gateway.watch_token(self.match)
        return f"/rooms/{self.match.id}?token={token}"

    async def upgrade(self) -> RawSocket:
        return await RawSocket.upgrade(self.port, self.path)

    async def is_well(self) -> None:
        """An honest page is served, and all the others are gone."""
        await until_connections(self.gateway, 0)
        async with await self.upgrade() as honest:
            await until_connections(self.gateway, 1)
            await honest.say(frame(CLOSE, b"\x03\xe8"))
            await honest.hear_end()
        await until_connections(self.gateway, 0)


@asynccontextmanager
async def target(options: GatewayConfig = OPTIONS) -> AsyncIterator[Target]:
    async with served(options) as (gateway, match, port):
        yield Target(gateway, match, port)


def sync(match: str) -> bytes:
    return json.dumps({"type": "sync", "matchID": match, "playerID": ""}).encode()


FRAMES = {
    "no frame": b"\xff" * 64,
    "unmasked": frame(TEXT, b"{}", masked=False),
    "reserved bits": frame(TEXT, b"{}", reserved=0x70),
    "compressed, unasked": frame(TEXT, b"\xaa\x56\x4a\x05\x00", reserved=0x40),
    "unknown kind": frame(3, b"x"),
    "a ping that is too long": frame(PING, b"x" * 200),
    "a ping in pieces": frame(PING, b"x", last=False),
    "a rest of nothing": frame(0, b"x"),
    "two beginnings": frame(TEXT, b"{", last=False) + frame(TEXT, b"}"),
    "no UTF-8": frame(TEXT, b"\xc3\x28"),
    "half a character": frame(TEXT, b'{"type":"sync","matchID":"\xf0\x9f"}'),
    "binary junk": frame(BINARY, bytes(range(256))),
    "no JSON": frame(TEXT, b"hello"),
    "deep JSON": frame(TEXT, b"[" * 90_000),
    "an empty message": frame(TEXT),
    "too long a message": frame(TEXT, b"x" * 200_000),
    "too long in pieces": frame(TEXT, b"x" * 60_000, last=False)
    + frame(0, b"x" * 60_000, last=False) * 3,
    "a close with half a code": frame(CLOSE, b"\x03"),
    "a close with a wrong code": frame(CLOSE, b"\x00\x01"),
    "words after the close": frame(CLOSE, b"\x03\xe8") + frame(TEXT, b"{}") * 50,
}


async def every_frame() -> None:
    async with target() as it:
        for name, data in FRAMES.items():
            async with await it.upgrade() as evil:
                await evil.say(data)
                heard = await evil.hear_end()
                assert close_code(heard) != 4500, name
                await evil.say(b"more")
        await it.is_well()


async def test_whatever_is_no_message_ends_its_connection() -> None:
    """Broken frames, wrong texts: closed at once, by a code where there is time for
    one, and never as a failure of ours."""
    await every_frame()


def test_whatever_is_no_message_ends_its_connection_on_asyncio() -> None:
    """The same on the other backend."""
    anyio.run(every_frame)


async def test_a_message_without_end_is_not_gathered() -> None:
    """It ends with the bound of a message, whatever length it promises, in one frame
    or in pieces; memory does not grow with what is sent."""
    async with target() as it:
        tracemalloc.start()
        try:
            for begin, each in (
                (frame(TEXT, length=1 << 40), b"x" * MB),
                (frame(TEXT, b"x", last=False), frame(0, b"x" * 65_000, last=False)),
                (frame(BINARY, length=1 << 40), b"x" * MB),
            ):
                async with await it.upgrade() as evil:
                    await evil.say(begin)
                    for _ in range(64 * MB // len(each)):
                        if not await evil.say(each):
                            break
                    else:
                        raise AssertionError("all of it was taken")
            _, peak = tracemalloc.get_traced_memory()
            assert peak < 16 * MB
        finally:
            tracemalloc.stop()
        await it.is_well()


@pytest.mark.parametrize(
    ("begin", "each"),
    [
        (b"", frame(PING)),
        (b"", frame(PONG)),
        (frame(TEXT, last=False), frame(0, last=False)),
    ],
    ids=["pings", "pongs", "pieces"],
)
async def test_who_floods_with_what_is_no_message_is_let_go(
    begin: bytes, each: bytes
) -> None:
    """As many as anybody needs are taken; beyond, the connection ends with the code
    that a flood of messages ends with."""
    async with target() as it:
        async with await it.upgrade() as honest:
            await honest.say(
                begin + each * (FRAMES_BURST - 2) + frame(CLOSE, b"\x03\xe8")
            )
            assert close_code(await honest.hear_end()) == 1000
        async with await it.upgrade() as evil:
            await evil.say(begin + each * (FRAMES_BURST + 20))
            assert close_code(await evil.hear_end()) == CloseCode.FLOOD
        await it.is_well()


REQUESTS = {
    "junk": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
    "HTTP/2, upgraded": b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, "
    b"HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA"
    b"\r\n\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "two lengths": b"POST /api/matches HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
    b"Content-Length: 6\r\n\r\n123456",
    "a length and chunks": b"POST /api/matches HTTP/1.1\r\nHost: x\r\nContent-Length: 4"
    b"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\n"
    b"Host: x\r\n\r\n",
    "odd chunks": b"POST /api/matches HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
    b"chunked, identity\r\n\r\n0\r\n\r\n",
    "bad chunks": b"POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
    b"\r\n-1\r\n\r\n",
    "a folded header": b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n: d\r\n\r\n",
    "NUL in a header": b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n",
    "a space before the colon": b"GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n",
    "too long a line": b"GET /" + b"x" * 40_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "too many headers": b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 10_000,
    "another path": b"GET http://other/healthz HTTP/1.1\r\nHost: x\r\nConnection: close"
    b"\r\n\r\n",
    "no version": b"GET /healthz\r\n\r\n",
    "an upgrade to nothing": b"GET /rooms/x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade"
    b"\r\nUpgrade: websocket\r\n\r\n",
    "an upgrade with junk behind": b"GET /rooms/x HTTP/1.1\r\nHost: x\r\nConnection: "
    b"Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\xff\xff\xff",
}


async def test_whatever_is_no_request_is_refused() -> None:
    """No success for what is ambiguous, nothing is read as two requests that could be
    one, and the line is closed."""
    async with target() as it:
        for name, data in REQUESTS.items():
            async with await RawSocket.connect(it.port) as evil:
                await evil.say(data)
                heard = await evil.hear_end()
                if name != "HTTP/2":  # its first line is a request of HTTP/1, too
                    assert heard.count(b"HTTP/1.1 ") <= 1, name
                if name not in ("HTTP/2, upgraded", "another path"):
                    assert b"HTTP/1.1 200" not in heard, name
                    assert b"ok\n" not in heard, name
        await it.is_well()


async def test_what_is_left_half_done_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Requests that never end, connections that say nothing, bodies that drip: each is
    let go after its time, as if it had never been."""
    monkeypatch.setattr(serve, "KEEP_ALIVE_S", 0.5)
    monkeypatch.setattr(api, "BODY_S", 0.5)
    async with target() as it:
        operator = it.gateway.tokens.operator("ann", 600)
        halves = (
            b"",
            b"GET /healthz HT",
            b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: ",
            b"POST /api/matches HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n1",
            f"POST /api/matches HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {operator}"
            "\r\nContent-Length: 10\r\n\r\n1".encode(),
            f"GET {it.path} HTTP/1.1\r\nHost: x\r\n".encode(),
        )
        evil = [await RawSocket.connect(it.port) for _ in halves]
        for one, half in zip(evil, halves, strict=True):
            await one.say(half)
        for one in evil:
            async with one:
                await one.hear_end(10)
        await it.is_well()


async def come_and_go() -> None:
    patient = GatewayConfig(listen="127.0.0.1:0", heartbeat_s=60)
    async with target(patient) as it:
        before = len(asyncio.all_tasks())
        for _ in range(10):
            async with await it.upgrade():
                pass
            async with await RawSocket.connect(it.port):
                pass
        with anyio.fail_after(10):
            while len(asyncio.all_tasks()) > before:  # noqa: ASYNC110
                await anyio.sleep(0.02)


def test_b55_who_has_left_is_gone_at_once() -> None:
    """No task of a connection outlives it, not to the next ping, nor to the end of its
    time as an idle one: else those who come and go fill the memory."""
    anyio.run(come_and_go)


CROWD = """
import socket, sys
crowd = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(80)]
print(flush=True)
sys.stdin.read()
"""


def files_open() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def crowded(spared: int) -> None:
    async with target() as it, await it.upgrade() as honest:
        await until_connections(it.gateway, 1)
        used = files_open()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        crowd = await anyio.open_process([sys.executable, "-c", CROWD, str(it.port)])
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (used + spared, hard))
            assert crowd.stdout is not None
            with anyio.fail_after(20):
                await crowd.stdout.receive()
            await honest.say(frame(TEXT, sync(it.match.id)))
            heard = len(honest.heard)
            while b'"revision"' not in honest.heard[heard:]:
                honest.heard += await honest.stream.receive()
        finally:
            crowd.kill()
            await crowd.aclose()
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        await honest.say(frame(CLOSE, b"\x03\xe8"))
        await honest.hear_end()
        await it.is_well()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("spared", [20, 1_000])
def test_a_crowd_at_the_door_ends_nothing(
    backend: str, spared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More connections than the process may have files: they wait, or are closed at
    once where it knows its bound; who is in plays on, and others come in afterwards."""
    monkeypatch.setattr(bounded_server, "PAUSE_S", 0.01)
    used = files_open()
    known = spared == 1_000  # then it serves about ten of them
    bound = used + spared - 10 if known else -1_000
    monkeypatch.setattr(bounded_server, "FILES_SPARED", bound)
    anyio.run(crowded, spared, backend=backend)


async def nothing_left() -> None:
    async with target() as it:

        async def round(count: int) -> None:
            for number in range(count):
                kinds = list(FRAMES.values())
                async with await it.upgrade() as evil:
                    await evil.say(kinds[number % len(kinds)])
                    await evil.hear_end()
                async with await RawSocket.connect(it.port) as evil:
                    await evil.say(b"GET /rooms/x?token=a.b.c HTTP/1.1\r\n\r\n")
                    await evil.hear_end()
            await until_connections(it.gateway, 0)
            gc.collect()

        await round(60)  # timers of who has left are dropped a hundred at a time
        tracemalloc.start()
        try:
            await round(30)
            before, _ = tracemalloc.get_traced_memory()
            await round(80)
            # A connection alone takes 20,000 bytes and more.
            with anyio.fail_after(10):
                while tracemalloc.get_traced_memory()[0] - before >= 400_000:
                    await anyio.sleep(0.05)
                    gc.collect()
        finally:
            tracemalloc.stop()
        assert it.gateway.client.statistics().waiting == 0


@pytest.mark.slow
def test_nothing_is_left_of_those_who_attacked() -> None:
    """After hundreds of all kinds memory is where it was after the first few."""
    anyio.run(nothing_left)


async def test_other_listeners_of_the_process_are_served_as_ever() -> None:
    """Those of pages with metrics, and of proxies, which are no players' door."""
    bounded_server.bound_server()
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)

    async def answer(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.send(b"as ever")

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            assert await stream.receive() == b"as ever"
        tasks.cancel_scope.cancel()
