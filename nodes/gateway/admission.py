"""Who is let in by a WebSocket: decided before anything of it is read."""

from __future__ import annotations

from collections.abc import Callable

from starlette.websockets import WebSocket

from ..tokens import Grant, TokenError
from .close_code import CloseCode
from .gateway import Gateway, TooManyFailures

__all__ = ["admit"]


def admit(
    gateway: Gateway,
    socket: WebSocket,
    token: str | None,
    place: str,
    scope_of: Callable[[Grant], str],
) -> Grant | tuple[CloseCode, str]:
    """What the token grants at `place`, a match or a lobby; or why nothing, for the
    close frame. `scope_of` says which scope a grant needs there. Operators sit nowhere.
    """
    address = "" if socket.client is None else socket.client.host
    headers = socket.headers
    if not gateway.origins.allow(headers.get("origin"), headers.get("host")):
        return CloseCode.FORBIDDEN, "wrong_origin"
    try:
        grant = gateway.admit(token, address)
        if grant.kind == "operator":
            raise TokenError("token_wrong_scope")
        grant.needs(scope_of(grant), place)
    except TooManyFailures:
        return CloseCode.FLOOD, "rate_limited"
    except TokenError as error:
        elsewhere = error.code in ("token_wrong_match", "token_wrong_scope")
        code = CloseCode.FORBIDDEN if elsewhere else CloseCode.UNAUTHORIZED
        return code, error.code
    if gateway.stopping:
        return CloseCode.RESTART, "stopping"
    if gateway.full:
        return CloseCode.AGAIN, "busy"
    return grant
