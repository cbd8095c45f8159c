"""The ASGI application of a gateway: which path leads where."""

from __future__ import annotations

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from .api import Api
from .connection import Connection
from .gateway import Gateway
from .openapi import openapi_document

__all__ = ["gateway_app"]


def gateway_app(gateway: Gateway) -> Starlette:
    """All that players and their sites reach."""
    api = Api(gateway)

    async def room(socket: WebSocket) -> None:
        await Connection(gateway, socket).run()

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
            WebSocketRoute("/rooms/{match}", room),
            Route("/api/matches", api.page(api.create), methods=["POST"]),
            Route("/api/matches/{match}", api.page(api.state)),
            Route(
                "/api/matches/{match}/tokens", api.page(api.invite), methods=["POST"]
            ),
            Route("/api/matches/{match}/replay", api.page(api.replay)),
            Route("/openapi.json", document),
            Route("/healthz", alive),
            Route("/readyz", ready),
        ]
    )
