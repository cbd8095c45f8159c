"""The players' door: an action through a WebSocket beside one over links alone, and
what idle players cost.

Cluster, gateway, both clients share the machine and take turns at it.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
from httpx_ws import AsyncWebSocketSession, aconnect_ws

from hotseat.nodes.client import Accepted, RemoteMatch, Seat, connect
from hotseat.nodes.cluster_dir import ClusterDir
from hotseat.nodes.tokens import KeyFile, Tokens

from .cluster import local_cluster
from .row import Row, pairs, row_of

__all__ = ["gateway_churn", "gateway_latency", "gateway_sessions"]

CELLS = (0, 1, 2, 4, 3, 5, 7, 6, 8)  # a draw of tic-tac-toe: nine actions
MATCHES = 15
ROUNDS = 3

SESSIONS = 2_000
SESSIONS_MB = 200.0
WATCHED = 200
"""Matches that idle players sit at: ten to each."""

CHURN = 10_000
"""Connections that come and go, one after the other."""

CHURN_MATCH = 5
"""Of these, to one match: the first of them takes a seat."""

CHURN_FIRST = 1_000
"""Of these, those after which memory should not grow any more."""

TTL_S = 3_600.0


@dataclass(frozen=True, slots=True)
class Door:
    """A cluster with a gateway before it."""

    folder: Path
    url: str
    tokens: Tokens

    def link(self, match: RemoteMatch, seat: str) -> str:
        token = self.tokens.seat(match.id, match.epoch, seat, TTL_S)
        return f"{self.url}/rooms/{match.id}?token={token}"

    def watch_link(self, match: RemoteMatch) -> str:
        token = self.tokens.spectator(match.id, match.epoch, TTL_S)
        return f"{self.url}/rooms/{match.id}?token={token}"

    def gateway_mb(self) -> float:
        """Resident memory of the gateway's process."""
        pid = (self.folder / "run" / "gateway.gateway").read_text().split()[0]
        status = Path(f"/proc/{pid}/status").read_text()
        resident = next(line for line in status.splitlines() if "VmRSS" in line)
        return int(resident.split()[1]) / 1_024


def gateway_latency() -> list[Row]:
    """Median time from an action to its acknowledgement, as a browser has it."""
    with local_door() as door:
        return [
            pairs(
                "gateway_latency",
                "ms",
                lambda: anyio.run(_through_gateway, door),
                lambda: anyio.run(_through_links, door),
                floor_is="the same by the client library, over links",
                rounds=ROUNDS,
                goal=3.0,
            )
        ]


def gateway_sessions() -> list[Row]:
    """Memory of a gateway that 2,000 players have open and say nothing to."""
    with local_door() as door:
        used = anyio.run(_idle, door)
    return [
        row_of(
            "gateway_sessions_2000",
            "MB",
            [used],
            [SESSIONS_MB],
            floor_is="the bound that it must stay below",
            goal=1.0,
        )
    ]


def gateway_churn() -> list[Row]:
    """Memory of a gateway after 10,000 players came, had their snapshot, and left."""
    with local_door() as door:
        first, last = anyio.run(_churn, door)
    return [
        row_of(
            "gateway_churn_10000",
            "MB",
            [last],
            [first],
            floor_is="the same after the first 1,000",
            goal=1.1,
        )
    ]


@contextmanager
def local_door() -> Iterator[Door]:
    """Run a cluster and a gateway in a folder of their own."""
    with local_cluster("--gateway", "127.0.0.1:0") as folder:
        home = ClusterDir.load(folder)
        url = home.gateway_url_path("gateway").read_text().strip()
        keys = KeyFile(home.token_keys_path)
        yield Door(folder, url, Tokens(home.cluster, keys.keys))


async def _through_links(door: Door) -> float:
    taken: list[float] = []
    async with connect(door.folder) as client:
        for _ in range(MATCHES):
            match = await client.create("tic-tac-toe", players=["0", "1"])
            assert isinstance(match, RemoteMatch)
            seats = [await match.take(name) for name in match.seats]
            for number, cell in enumerate(CELLS):
                seat = seats[number % 2]
                assert isinstance(seat, Seat)
                began = time.perf_counter()
                outcome = await seat.dispatch("place", {"cell": cell})
                taken.append(time.perf_counter() - began)
                assert isinstance(outcome, Accepted)
    return statistics.median(taken) * 1_000


async def _through_gateway(door: Door) -> float:
    taken: list[float] = []
    async with connect(door.folder) as client, httpx.AsyncClient() as http:
        for _ in range(MATCHES):
            match = await client.create("tic-tac-toe", players=["0", "1"])
            assert isinstance(match, RemoteMatch)
            async with AsyncExitStack() as stack:
                seats: list[AsyncWebSocketSession] = []
                for name in match.seats:
                    link = door.link(match, name)
                    seats.append(await stack.enter_async_context(_linked(link, http)))
                for number, cell in enumerate(CELLS):
                    began = time.perf_counter()
                    await _place(seats[number % 2], match.id, str(number % 2), cell)
                    taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1_000


def _linked(
    link: str, http: httpx.AsyncClient
) -> AbstractAsyncContextManager[AsyncWebSocketSession]:
    linked: AbstractAsyncContextManager[AsyncWebSocketSession] = aconnect_ws(link, http)
    return linked


async def _place(
    socket: AsyncWebSocketSession, match: str, seat: str, cell: int
) -> None:
    id = f"c{cell}"
    action = {
        "type": "action",
        "matchID": match,
        "playerID": seat,
        "event": "place",
        "payload": {"cell": cell},
        "clientActionID": id,
    }
    await socket.send_text(json.dumps(action))
    while f'"ackClientActionID":"{id}"' not in await socket.receive_text():
        pass


async def _churn(door: Door) -> tuple[float, float]:
    """The gateway's memory after the first of them, and after all."""
    first = 0.0
    async with connect(door.folder) as client:
        for number in range(0, CHURN, CHURN_MATCH):
            match = await client.create("tic-tac-toe", players=["0", "1"])
            assert isinstance(match, RemoteMatch)
            links = [door.link(match, "0")]
            links += [door.watch_link(match)] * (CHURN_MATCH - 1)
            for link in links:
                async with await _opened(door, link):
                    pass
            if number == CHURN_FIRST:
                first = await anyio.to_thread.run_sync(door.gateway_mb)
    return first, await anyio.to_thread.run_sync(door.gateway_mb)


async def _opened(door: Door, link: str) -> anyio.abc.SocketStream:
    """A bare WebSocket that has had its first snapshot."""
    host, _, port = door.url.removeprefix("http://").partition(":")
    socket = await anyio.connect_tcp(host, int(port))
    path = link.removeprefix(door.url)
    await socket.send(
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    heard = b""
    while b'"revision"' not in heard:
        heard += await socket.receive()
    return socket


async def _idle(door: Door) -> float:
    """The gateway's memory with all players there, each with its first snapshot.

    They are bare sockets: two thousand of a client library's would fill the machine.
    """
    async with connect(door.folder) as client, AsyncExitStack() as stack:
        for number in range(WATCHED):
            key = f"idle-{number}"
            match = await client.create("tic-tac-toe", players=["0", "1"], key=key)
            assert isinstance(match, RemoteMatch)
            links = [door.link(match, name) for name in match.seats]
            links += [door.watch_link(match)] * (SESSIONS // WATCHED - len(links))
            for link in links:
                await stack.enter_async_context(await _opened(door, link))
        return await anyio.to_thread.run_sync(door.gateway_mb)
