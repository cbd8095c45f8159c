"""A gateway in front of one node, on memory links; players' pages, on memory sockets.

The application is called as a server would call it, so that a page sees exactly what a
WebSocket would carry, and trio's clock can jump.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlencode

import anyio
import httpx
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from starlette.types import ASGIApp

from hotseat.config import GatewayConfig
from hotseat.engine.definition import Game
from hotseat.nodes.block_failure import BlockFailure
from hotseat.nodes.client import RemoteMatch
from hotseat.nodes.client.shell import Client
from hotseat.nodes.gateway.app import gateway_app
from hotseat.nodes.gateway.gateway import Gateway
from hotseat.nodes.seat_secret import seat_secrets
from hotseat.nodes.supervisor.supervisor import Supervisor
from hotseat.nodes.tokens import KeySet, SigningKey, Tokens
from hotseat.runtime.clock import Clock, SystemClock
from hotseat.runtime.games import StaticGames
from hotseat.runtime.testing.memory_link import MemoryNetwork

from ..client.test_client_supervisor import SHARDS, OneNode, client_of

__all__ = ["Closed", "Page", "Rig", "rig"]

KEYS = KeySet((SigningKey("k1", "HS256", 0, b"k" * 32),))
Message = dict[str, Any]


class Closed(Exception):
    """The gateway closed the socket."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code} {reason}")
        self.code, self.reason = code, reason


class Page:
    """A player's page: one WebSocket."""

    def __init__(self, take_in: float) -> None:
        """`take_in`: messages that the page's side takes before it is read."""
        self._to_app: MemoryObjectSendStream[Message]
        self._at_app: MemoryObjectReceiveStream[Message]
        self._to_app, self._at_app = anyio.create_memory_object_stream(math.inf)
        self._from_app: MemoryObjectSendStream[Message]
        self._here: MemoryObjectReceiveStream[Message]
        self._from_app, self._here = anyio.create_memory_object_stream(take_in)
        self.heard: list[Message] = []
        self.passed_over = {"match"}  # messages that this page does not know
        self._to_app.send_nowait({"type": "websocket.connect"})

    async def say(self, **message: Any) -> None:
        await self.say_text(json.dumps(message))

    async def say_text(self, text: str) -> None:
        await self._tell({"type": "websocket.receive", "text": text})

    async def hear(self) -> Message:
        """The next message.

        Raises:
            Closed: The socket is closed instead.
        """
        while True:
            message = await self._here.receive()
            if message["type"] == "websocket.close":
                raise Closed(message["code"], message["reason"])
            said: Message = json.loads(message["text"])
            if said.get("type") not in self.passed_over:
                self.heard.append(said)
                return said

    async def hear_type(self, kind: str) -> Message:
        """The next message of that type; "snapshot" has none."""
        while True:
            message = await self.hear()
            if message.get("type", "snapshot") == kind:
                return message

    async def hear_end(self) -> tuple[int, str]:
        """Hear until it is closed: code and reason."""
        while True:
            try:
                await self.hear()
            except Closed as closed:
                return closed.code, closed.reason

    def quiet(self) -> bool:
        """Whether there is nothing to hear."""
        return not self._here.statistics().current_buffer_used

    async def leave(self) -> None:
        await self._tell({"type": "websocket.disconnect", "code": 1001})

    async def run(
        self,
        app: ASGIApp,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
    ) -> None:
        scope = {
            "type": "websocket",
            "asgi": {"version": "3.0"},
            "path": path,
            "raw_path": path.encode(),
            "query_string": urlencode(query).encode(),
            "headers": [
                (name.encode(), value.encode()) for name, value in headers.items()
            ],
            "client": ("10.0.0.1", 1),
            "server": ("gw", 80),
            "subprotocols": [],
            "scheme": "ws",
        }
        async with self._from_app, self._at_app:
            await app(scope, self._at_app.receive, self._send)  # type: ignore[arg-type]

    def close(self) -> None:
        for stream in (self._to_app, self._at_app, self._from_app, self._here):
            stream.close()

    async def _tell(self, message: Message) -> None:
        with suppress(anyio.BrokenResourceError):  # what a closed socket is told
            await self._to_app.send(message)

    async def _send(self, message: Message) -> None:
        if message["type"] != "websocket.accept":
            await self._from_app.send(message)


class Rig:
    """One node, one gateway, and whoever comes."""

    def __init__(
        self,
        node: OneNode,
        tasks: TaskGroup,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self.node = node
        self.keys = KEYS
        self.tokens = Tokens("test", lambda: self.keys, now_s=now_s)
        self.gateways: list[Gateway] = []
        self._apps: list[ASGIApp] = []
        self.pages: list[Page] = []
        self._tasks = tasks

    def add_gateway(
        self, client: Client, games: Sequence[Game], options: GatewayConfig
    ) -> None:
        gateway = Gateway(
            client,
            self.tokens,
            seat_secrets(b"s" * 32),
            StaticGames(games),
            options,
            "http://gw",
        )
        self.gateways.append(gateway)
        self._apps.append(gateway_app(gateway))

    @property
    def client(self) -> Client:
        return self.gateways[0].client

    async def create(self, game: str, players: Sequence[str]) -> RemoteMatch:
        match = await self.client.create(game, players=players)
        assert isinstance(match, RemoteMatch), match
        return match

    def seat_token(self, match: RemoteMatch, seat: str) -> str:
        return self.tokens.seat(match.id, match.epoch, seat, 600)

    def watch_token(self, match: RemoteMatch) -> str:
        return self.tokens.spectator(match.id, match.epoch, 600)

    def open(
        self,
        match: str,
        token: str | None,
        *,
        gateway: int = 0,
        take_in: float = math.inf,
        headers: Mapping[str, str] | None = None,
        under: str = "rooms",
        **query: str,
    ) -> Page:
        """A page that connects."""
        page = Page(take_in)
        self.pages.append(page)
        asked = {"token": token, **query} if token is not None else query
        path = f"/{under}/{match}"
        self._tasks.start_soon(
            page.run, self._apps[gateway], path, asked, headers or {}
        )
        return page

    def sit(self, match: RemoteMatch, seat: str, **more: Any) -> Page:
        """A page at a seat."""
        return self.open(match.id, self.seat_token(match, seat), **more)

    def http(self, gateway: int = 0) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self._apps[gateway])
        return httpx.AsyncClient(transport=transport, base_url="http://gw")


@asynccontextmanager
async def rig(
    games: Sequence[Game],
    *,
    known: Sequence[Game] | None = None,
    gateways: int = 1,
    clock: Clock | None = None,
    options: GatewayConfig | None = None,
    now_s: Callable[[], float] = time.time,
) -> AsyncIterator[Rig]:
    """`known`: the games that the gateways have; the node's, if not said. `now_s`: the
    time by which tokens run out."""
    node = OneNode(MemoryNetwork(), games)
    node.supervisor = Supervisor(
        StaticGames(games), node, shards=SHARDS, clock=clock or SystemClock()
    )
    for shard in range(SHARDS):
        node.supervisor.adopt(shard, 1)
    # A failed assertion of a test comes out as it is, whatever ends meanwhile.
    failure = BlockFailure()
    async with AsyncExitStack() as stack:
        stack.enter_context(failure)
        await stack.enter_async_context(node.endpoint)
        await stack.enter_async_context(node.supervisor)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        tasks.start_soon(node.serve)
        made = Rig(node, tasks, now_s)
        for number in range(gateways):
            client = client_of(node, f"g{number}")
            made.add_gateway(
                await stack.enter_async_context(client),
                games if known is None else known,
                options or GatewayConfig(),
            )
        try:
            with failure.kept():
                yield made
        finally:
            tasks.cancel_scope.cancel()
            for page in made.pages:
                page.close()
