"""Frames over our links to a process and back, beside the unbatched echo.

Both ends are real endpoints over nng with proof of membership; a window of frames is
kept under way, so that frames of one wake-up travel together. The other end is a
process of its own (`python -m bench.link_echo INBOX ...`).
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from msgspec import Raw

from hotseat.nodes.nng import NngEndpoint
from hotseat.nodes.telemetry import structured_logging
from hotseat.runtime.frame import Dispatch
from hotseat.runtime.hello import Credential
from hotseat.runtime.link import Arrival, Endpoint, Identity, PeerAddress, PeerUp

from .echo import echo_server
from .row import Row, pairs

__all__ = ["link_echo"]

WINDOW = 64
SECONDS = 0.7
ROUNDS = 5
SECRET = Credential(b"bench" * 8)
FRAME = Dispatch(1, "m" * 26, 1, "0", 1, 1, "place", Raw(b"\x81\xa4cell\x04"), 7)


def link_echo() -> list[Row]:
    """Frames per second, there and back, 64 under way."""
    with echo_server() as echo:
        return [
            pairs(
                "link_echo",
                "frames/s",
                lambda: anyio.run(_frames_per_second),
                lambda: echo.per_second(SECONDS),
                floor_is="unbatched nng request/reply echo",
                rounds=ROUNDS,
                better="higher",
                goal=10.0,
            )
        ]


async def _frames_per_second() -> float:
    async with _endpoint("bench") as endpoint, _other_end(endpoint) as other:
        for _ in range(WINDOW):
            endpoint.send(other, FRAME)
        count = 0
        began = now = time.perf_counter()
        while now - began < SECONDS:
            for event in await endpoint.receive():
                if isinstance(event, Arrival):
                    count += 1
                    endpoint.send(other, FRAME)
            now = time.perf_counter()
        return count / (now - began)


@asynccontextmanager
async def _endpoint(name: str) -> AsyncIterator[Endpoint]:
    identity = Identity("bench", name, "node", secrets.token_hex(8))
    async with NngEndpoint(identity, "tcp://127.0.0.1:0", SECRET) as endpoint:
        yield endpoint


@asynccontextmanager
async def _other_end(endpoint: Endpoint) -> AsyncIterator[str]:
    """Start the other process; it dials us, and is dialled back."""
    address = endpoint.address
    told = json.dumps([address.process, address.inbox, address.incarnation])
    process = await anyio.open_process(
        [sys.executable, "-m", "bench.link_echo", told], stdout=None, stderr=None
    )
    try:
        with anyio.fail_after(20):
            while True:
                for event in await endpoint.receive():
                    if isinstance(event, PeerUp):
                        yield event.peer.process
                        return
    finally:
        with anyio.CancelScope(shield=True):
            process.kill()
            await process.aclose()


async def _serve(address: PeerAddress) -> None:
    async with _endpoint("echo") as endpoint:
        endpoint.connect(address)
        while True:
            for event in await endpoint.receive():
                if isinstance(event, Arrival):
                    endpoint.send(event.process, event.frame)


if __name__ == "__main__":
    with structured_logging(level="error"):
        anyio.run(_serve, PeerAddress(*json.loads(sys.argv[1])))
