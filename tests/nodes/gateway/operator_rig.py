"""A cluster in one process, a gateway before it, and an operator with a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from hotseat.config import GatewayConfig
from hotseat.nodes.games import Games
from hotseat.nodes.gateway.app import gateway_app
from hotseat.nodes.gateway.gateway import Gateway
from hotseat.nodes.operator import match_feed, match_search, operation_search, survey
from hotseat.nodes.seat_secret import seat_secrets
from hotseat.nodes.tokens import Tokens

from ..node.node_world import NodeWorld
from ..operator.operated import Operated
from .rig import KEYS

__all__ = ["OperatorRig", "operator_rig"]


class OperatorRig:
    """`http` asks with an operator's token, unless another one is given."""

    def __init__(self, world: NodeWorld, operated: Operated, gateway: Gateway) -> None:
        self.world = world
        self.operated = operated
        self.gateway = gateway
        transport = httpx.ASGITransport(gateway_app(gateway))
        self._http = httpx.AsyncClient(transport=transport, base_url="http://gw")
        self.token = gateway.tokens.operator("ann", 3600)

    async def get(
        self,
        path: str,
        query: Mapping[str, Any] | None = None,
        *,
        token: str | None = None,
        tag: str = "",
    ) -> httpx.Response:
        """`tag`: of the answer that is known already."""
        headers = self._headers(token) | ({"if-none-match": tag} if tag else {})
        return await self._http.get(path, params=query, headers=headers)

    async def post(
        self, path: str, content: bytes, *, token: str | None = None
    ) -> httpx.Response:
        return await self._http.post(
            path, content=content, headers=self._headers(token)
        )

    def _headers(self, token: str | None) -> dict[str, str]:
        token = self.token if token is None else token
        return {"authorization": f"Bearer {token}"} if token else {}


@asynccontextmanager
async def operator_rig(
    world: NodeWorld, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> AsyncIterator[OperatorRig]:
    operated = Operated(world, monkeypatch)
    for module in (match_feed, match_search, operation_search, survey):
        monkeypatch.setattr(module, "ask_door", operated.ask_door)
        monkeypatch.setattr(module, "find_doors", operated.find_doors)
    async with world.client() as client:
        gateway = Gateway(
            client,
            Tokens("test", lambda: KEYS),
            seat_secrets(b"s" * 32),
            Games.load(world.games),
            GatewayConfig(**options),
            "http://gw",
            place=world.home.path,
        )
        yield OperatorRig(world, operated, gateway)
