"""The ASGI application of a gateway: which path leads where."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from ..pages import routes as page_routes
from .api import Api
from .close_code import CloseCode
from .connection import Connection
from .gateway import Gateway
from .lobby_api import routes as lobby_routes
from .lobby_connection import LobbyConnection
from .openapi import openapi_document
from .operator_api import routes as operator_routes
from .profiles_api import routes as profile_routes
from .secured import secured

__all__ = ["gateway_app"]


SOCKETS: Mapping[str, type[Connection] | type[LobbyConnection]] = {
    "rooms": Connection,
    "lobbies": LobbyConnection,
}
"""WebSockets, by the first part of their path; the second is a match."""


def gateway_app(gateway: Gateway) -> ASGIApp:
    """All that players and their sites reach.

    WebSockets go past Starlette's routing: its frames would be held for each player.
    """
    pages = secured(_pages(gateway), gateway.options.allowed_origins)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await pages(scope, receive, send)
            return
        socket = WebSocket(scope, receive, send)
        path: str = scope["path"]
        kind, _, match = path[1:].partition("/")
        served = SOCKETS.get(kind)
        if served is None or not match or "/" in match:
            await socket.close(CloseCode.UNKNOWN_MATCH, "unknown_path")
        else:
            await served(gateway, socket, match).run()

    return app


def _pages(gateway: Gateway) -> Starlette:
    """All that is no WebSocket."""
    api = Api(gateway)

    async def document(_: Request) -> Response:
        body = msgspec.json.encode(openapi_document(gateway.url))
        return Response(body, media_type="application/json")

    async def alive(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_: Request) -> Response:
        if gateway.ready:
            return PlainTextResponse("ready\n")
        return PlainTextResponse("not ready\n", 503)

    return Starlette(
        routes=[
            Route("/api/matches", api.page(api.create), methods=["POST"]),
            Route("/api/matches/{match}", api.page(api.state)),
            Route(
                "/api/matches/{match}/tokens", api.page(api.invite), methods=["POST"]
            ),
            Route("/api/matches/{match}/replay", api.page(api.replay)),
            Route("/api/matches/{match}/film", api.page(api.film)),
            Route("/openapi.json", document),
            Route("/healthz", alive),
            Route("/readyz", ready),
            *profile_routes(gateway),
            *lobby_routes(gateway),
            *operator_routes(gateway),
            *page_routes(gateway),
        ]
    )
