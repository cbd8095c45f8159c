"""Headers that every answer carries, to keep browsers from doing too much with it.

A page that needs more than nothing says so by a `content-security-policy` of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["secured"]

HEADERS: Sequence[tuple[bytes, bytes]] = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),  # tokens stand in queries
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)

_TWO_LENGTHS = {b"content-length", b"transfer-encoding"}
"""A proxy may go by the one and we by the other: then what follows the body would be
taken for a request of somebody else's."""

_AMBIGUOUS = PlainTextResponse("two lengths\n", 400, {"connection": "close"})

REQUEST_HEADERS = ("authorization", "content-type", "idempotency-key")
METHODS = ("DELETE", "GET", "POST", "PUT")


def secured(app: ASGIApp, allowed_origins: Sequence[str]) -> ASGIApp:
    """The application with these headers; pages of the origins may read its answers.

    They send tokens by themselves: browsers need add nothing, so no credentials.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        names = {name for name, _ in scope.get("headers", ())}
        if names >= _TWO_LENGTHS:
            await _AMBIGUOUS(scope, receive, send)
            return

        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                said = {name.lower() for name, _ in headers}
                headers += [pair for pair in HEADERS if pair[0] not in said]
                message = {**message, "headers": headers}
            await send(message)

        await app(scope, receive, send_more)

    if not allowed_origins:
        return answer
    return CORSMiddleware(
        answer,
        allow_origins=allowed_origins,
        allow_methods=METHODS,
        allow_headers=REQUEST_HEADERS,
        expose_headers=("retry-after",),
    )
