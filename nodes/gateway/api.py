"""The HTTP API: open a match, invite to it, see how it stands, fetch its replay.

Every answer is JSON; an error is `{"error": {"code", "message"}}` with a stable code.
Nothing is said, not even that there is no such match, before the token is looked at.
Creation is idempotent: the same `Idempotency-Key` of the same operator is one match,
whichever gateway is asked.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

import anyio
import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ..client import ClientError, Refusal, RemoteMatch
from ..telemetry import get_logger
from ..tokens import Grant, TokenError
from .api_bodies import (
    CreatedMatch,
    ErrorBody,
    ErrorSaid,
    Link,
    MatchState,
    NewMatch,
    NewToken,
    SeatLink,
)
from .gateway import Gateway, TooManyFailures

__all__ = ["Api"]

Body = TypeVar("Body")

KEY = re.compile(r"[\x21-\x7e]{1,128}")

_STATUS: Mapping[str, int] = {
    "busy": 429,
    "forbidden": 403,
    "key_reused": 409,
    "malformed_request": 400,
    "match_lost": 404,
    "match_running": 409,
    "missing_game": 501,
    "rate_limited": 429,
    "replay_impossible": 409,
    "token_wrong_match": 403,
    "token_wrong_scope": 403,
    "too_large": 413,
    "unknown_match": 404,
}
"""By code; other refusals are 422, tokens 401, an unreachable cluster 503."""

_AWAY = frozenset(
    {"degraded", "moved", "no_owner", "node_full", "not_committed", "retry", "stopping"}
)

log = get_logger()


class Refused(Exception):
    """Ends a request with an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Api:
    """The pages of one gateway; each takes a request and gives its answer."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def page(
        self, answer: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """The page with its refusals turned into answers."""

        async def guarded(request: Request) -> Response:
            self._gateway.counts.requests += 1
            try:
                return await answer(request)
            except TokenError as error:
                status = _STATUS.get(error.code, 401)
                return _error(error.code, str(error), status)
            except TooManyFailures:
                return _error("rate_limited", "Too many wrong tokens.", 429)
            except Refused as refused:
                status = _STATUS.get(refused.code, 422)
                status = 503 if refused.code in _AWAY else status
                return _error(refused.code, refused.message, status)
            except ClientError as error:
                return _error(error.code, f"{error}.", 503)
            except ClientDisconnect:
                return Response(status_code=400)  # nobody reads it
            except Exception as error:
                log.error("api_failed", path=request.url.path, exc_info=error)
                return _error(
                    "internal_error", "The gateway failed; it was logged.", 500
                )

        return guarded

    async def create(self, request: Request) -> Response:
        """POST /api/matches"""
        grant = self._granted(request, "create")
        asked = await self._body(request, NewMatch)
        key = request.headers.get("idempotency-key", secrets.token_hex(16))
        if not KEY.fullmatch(key):
            raise Refused(
                "malformed_request",
                "An Idempotency-Key is 1 to 128 printable characters without spaces.",
            )
        match = await self._gateway.client.create(
            asked.game,
            players=asked.players,
            config=asked.config,
            data=asked.data,
            version=asked.version,
            key=f"{grant.subject}/{key}",
        )
        if isinstance(match, Refusal):
            raise Refused(match.code, match.message)
        return _json(self._created(match, asked.ttlS), 201)

    async def invite(self, request: Request) -> Response:
        """POST /api/matches/{match}/tokens"""
        self._granted(request, "invite")
        asked = await self._body(request, NewToken)
        match = self._match(request)
        try:
            link = self._link(match, asked.epoch, asked.seat, asked.ttlS)
        except ValueError as error:
            raise Refused("malformed_request", f"{error}.") from error
        return _json(link, 201)

    async def state(self, request: Request) -> Response:
        """GET /api/matches/{match}"""
        match = self._watched(request)
        place = match.watch()
        try:
            view = await place.resync()
        finally:
            place.close()
        if isinstance(view, Refusal):
            raise Refused(view.code, view.message)
        return _json(
            MatchState(
                id=view.match,
                epoch=match.epoch,
                revision=view.revision,
                turn=view.turn,
                state=view.state,
                activePlayers=list(view.active_players),
                deadlineMs=view.deadline_ms,
                ended=view.ended,
                result=view.result,
            )
        )

    async def replay(self, request: Request) -> Response:
        """GET /api/matches/{match}/replay"""
        match = self._watched(request)
        made = await self._gateway.replays.of(match)
        if isinstance(made, Refusal):
            raise Refused(made.code, made.message)
        name = f'attachment; filename="{match.id}.json"'
        return Response(
            made,
            media_type="application/json",
            headers={"content-disposition": name, "cache-control": "private"},
        )

    def _granted(self, request: Request, scope: str, match: str | None = None) -> Grant:
        """
        Raises:
            TokenError, TooManyFailures, Refused: The request may not be served.
        """
        gateway = self._gateway
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            token = request.query_params.get("token", "")
        address = "" if request.client is None else request.client.host
        grant = gateway.admit(token.strip(), address)
        grant.needs(scope, match)
        if not gateway.requests.take(grant.id, anyio.current_time()):
            gateway.counts.busy += 1
            raise Refused("busy", "Too many requests at once. Wait a little.")
        return grant

    def _watched(self, request: Request) -> RemoteMatch:
        """The match that the token is for."""
        match = self._match(request)
        grant = self._granted(request, "watch", match)
        epoch = grant.epoch
        if grant.kind == "operator":
            text = request.query_params.get("epoch", "")
            if not (text.isascii() and text.isdigit() and len(text) <= 15):
                raise Refused(
                    "malformed_request", "An operator says the match's epoch."
                )
            epoch = int(text)
        return self._gateway.client.join(match, epoch)

    def _match(self, request: Request) -> str:
        return str(request.path_params["match"])

    async def _body(self, request: Request, kind: type[Body]) -> Body:
        """
        Raises:
            Refused: It is too large, or not what is wanted.
        """
        data = bytearray()
        async with aclosing(request.stream()) as chunks:
            async for chunk in chunks:
                data += chunk
                if len(data) > self._gateway.options.message_bytes_max:
                    raise Refused("too_large", "The body is too large.")
        try:
            return msgspec.json.decode(bytes(data), type=kind)
        except msgspec.MsgspecError as error:
            raise Refused("malformed_request", f"{error}.") from None
        except RecursionError:
            raise Refused("too_deep", "The body is nested too deeply.") from None

    def _created(self, match: RemoteMatch, ttl_s: float | None) -> CreatedMatch:
        links = [self._link(match.id, match.epoch, seat, ttl_s) for seat in match.seats]
        spectator = self._link(match.id, match.epoch, None, ttl_s)
        return CreatedMatch(
            id=match.id,
            epoch=match.epoch,
            game=match.game,
            version=match.version,
            seats=[
                SeatLink(seat, link.token, link.url, link.expiresS)
                for seat, link in zip(match.seats, links, strict=True)
            ],
            spectator=spectator,
        )

    def _link(
        self, match: str, epoch: int, seat: str | None, ttl_s: float | None
    ) -> Link:
        """
        Raises:
            ValueError: There can be no such token.
        """
        gateway = self._gateway
        ttl_s = gateway.options.token_ttl_s if ttl_s is None else ttl_s
        tokens = gateway.tokens
        if seat is None:
            token = tokens.spectator(match, epoch, ttl_s)
        else:
            token = tokens.seat(match, epoch, seat, ttl_s)
        expires_s = int(tokens.read(token).expires_s)
        place = re.sub("^http", "ws", gateway.url)
        return Link(token, f"{place}/rooms/{match}?token={token}", expires_s)


def _json(body: Any, status: int = 200) -> Response:
    return Response(
        msgspec.json.encode(body),
        status,
        headers={"cache-control": "no-store"},
        media_type="application/json",
    )


def _error(code: str, message: str, status: int) -> Response:
    answer = _json(ErrorBody(ErrorSaid(code, message)), status)
    if status in (429, 503):
        answer.headers["retry-after"] = "1"
    return answer
