"""The application behind its real server: who stops reading, who vanishes."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anycorn
import anyio
import pytest

from hotseat.config import GatewayConfig
from hotseat.nodes.client import RemoteMatch, Seat
from hotseat.nodes.gateway.app import gateway_app
from hotseat.nodes.gateway.serve import server_config

from .hosted_games import countdown
from .rig import Rig, rig

pytestmark = pytest.mark.system

OPTIONS = GatewayConfig(listen="127.0.0.1:0", heartbeat_s=0.3, send_timeout_s=0.5)


@asynccontextmanager
async def served(
    options: GatewayConfig = OPTIONS,
) -> AsyncIterator[tuple[Rig, RemoteMatch, int]]:
    async with rig([countdown], options=options) as gateway:
        match = await gateway.create("countdown", ["0", "1"])
        closing = anyio.Event()
        async with anyio.create_task_group() as tasks:
            serve = partial(
                anycorn.serve,
                gateway_app(gateway.gateways[0]),  # type: ignore[arg-type]
                server_config(options),
                shutdown_trigger=closing.wait,
                mode="asgi",
            )
            binds = await tasks.start(serve)
            yield gateway, match, int(str(binds[0]).rpartition(":")[2])
            closing.set()


def upgraded(gateway: Rig, match: RemoteMatch, port: int) -> socket.socket:
    """A spectator's bare socket, with room for next to nothing."""
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.connect(("127.0.0.1", port))
    path = f"/rooms/{match.id}?token={gateway.watch_token(match)}"
    plain.sendall(
        f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    return plain


async def until_connections(gateway: Rig, number: int) -> None:
    with anyio.fail_after(20):
        while gateway.gateways[0].statistics().connections != number:  # noqa: ASYNC110
            await anyio.sleep(0.02)


async def play(match: RemoteMatch, moves: int) -> None:
    seats = [await match.take(seat) for seat in match.seats]
    for number in range(moves):
        seat = seats[number % 2]
        assert isinstance(seat, Seat)
        await seat.dispatch("move", "x" * 20_000)


async def stalled() -> None:
    async with served() as (gateway, match, port):
        plain = upgraded(gateway, match, port)
        await until_connections(gateway, 1)
        await play(match, 60)  # more than all buffers between us hold
        await until_connections(gateway, 0)
        plain.close()
        other = upgraded(gateway, match, port)  # the gateway is none the worse
        await until_connections(gateway, 1)
        other.close()
        await until_connections(gateway, 0)


async def test_who_does_not_read_is_let_go() -> None:
    """A page that takes nothing holds its place for a few heartbeats, no longer."""
    await stalled()


def test_who_does_not_read_is_let_go_on_asyncio() -> None:
    """The same on the other backend."""
    anyio.run(stalled)


async def test_who_vanishes_is_noticed() -> None:
    """A page that answers no pings, though its connection stands, is let go."""
    async with served() as (gateway, match, port):
        plain = upgraded(gateway, match, port)
        await until_connections(gateway, 1)
        await until_connections(gateway, 0)
        plain.close()
