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
from ..lobby.room_game import ROOM_GAME
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
    SeatState,
)
from .gateway import Gateway, TooManyFailures
from .lobby_links import page_link

__all__ = ["KEY", "Api", "Refused", "json_answer"]

Body = TypeVar("Body")

KEY = re.compile(r"[\x21-\x7e]{1,128}")

BODY_S = 15.0
"""How long a body may take to come."""

_STATUS: Mapping[str, int] = {
    "busy": 429,
    "forbidden": 403,
    "key_reused": 409,
    "malformed_request": 400,
    "match_lost": 404,
    "match_running": 409,
    "missing_game": 501,
    "no_signing_key": 501,
    "rate_limited": 429,
    "replay_impossible": 409,
    "token_wrong_match": 403,
    "token_wrong_scope": 403,
    "wrong_origin": 403,
    "too_large": 413,
    "too_slow": 408,
    "unknown_inspection": 404,
    "unknown_match": 404,
    "unknown_revision": 404,
}
"""By code; other refusals are 422, tokens 401, an unreachable cluster 503."""

_AWAY = frozenset(
    {
        "cluster_unreachable",
        "coordinator_away",
        "degraded",
        "door_timeout",
        "door_unreachable",
        "moved",
        "no_owner",
        "node_full",
        "node_gone",
        "not_committed",
        "operation_timeout",
        "retry",
        "stopping",
        "too_slow",
    }
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
        self.gateway = gateway

    def page(
        self, answer: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """The page with its refusals turned into answers."""

        async def guarded(request: Request) -> Response:
            self.gateway.counts.requests += 1
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

    def signs(self) -> None:
        """
        Raises:
            Refused: The gateway can only check tokens, not give any.
        """
        if not self.gateway.tokens.can_sign:
            raise Refused(
                "no_signing_key",
                "Tokens come from elsewhere: no key of this gateway can sign.",
            )

    async def create(self, request: Request) -> Response:
        """POST /api/matches"""
        grant = self.granted(request, "create")
        asked = await self.body(request, NewMatch)
        self.signs()
        if asked.game == ROOM_GAME:
            raise Refused("unknown_game", "Lobbies are opened at /api/lobbies.")
        key = request.headers.get("idempotency-key", secrets.token_hex(16))
        if not KEY.fullmatch(key):
            raise Refused(
                "malformed_request",
                "An Idempotency-Key is 1 to 128 printable characters without spaces.",
            )
        match = await self.gateway.client.create(
            asked.game,
            players=asked.players,
            config=asked.config,
            data=asked.data,
            profiles=asked.profiles,
            version=asked.version,
            key=f"{grant.subject}/{key}",
        )
        if isinstance(match, Refusal):
            raise Refused(match.code, match.message)
        return json_answer(self._created(match, asked.ttlS), 201)

    async def invite(self, request: Request) -> Response:
        """POST /api/matches/{match}/tokens"""
        self.granted(request, "invite")
        asked = await self.body(request, NewToken)
        self.signs()
        match = self.named(request)
        try:
            link = self._link(match, asked.epoch, asked.seat, asked.ttlS)
        except ValueError as error:
            raise Refused("malformed_request", f"{error}.") from error
        return json_answer(link, 201)

    async def state(self, request: Request) -> Response:
        """GET /api/matches/{match}"""
        match = self._watched(request)
        place = match.watch()
        try:
            view = await place.resync(whole=True)
        finally:
            place.close()
        if isinstance(view, Refusal):
            raise Refused(view.code, view.message)
        shown = view.shown or {}
        about, taken = shown.get("match", {}), shown.get("taken", [])
        return json_answer(
            MatchState(
                id=view.match,
                epoch=match.epoch,
                game=about.get("game", ""),
                version=about.get("version", ""),
                seats=[
                    SeatState(seat, seat in taken) for seat in about.get("players", [])
                ],
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
        made = await self.gateway.replays.of(match)
        if isinstance(made, Refusal):
            raise Refused(made.code, made.message)
        name = f'attachment; filename="{match.id}.json"'
        return Response(
            made,
            media_type="application/json",
            headers={"content-disposition": name, "cache-control": "private"},
        )

    async def film(self, request: Request) -> Response:
        """GET /api/matches/{match}/film"""
        match = self.named(request)
        grant = self.granted(request, "watch", match)
        remote = self.gateway.client.join(match, self.epoch(request, grant))
        made = await self.gateway.replays.film(remote, grant.seat)
        if isinstance(made, Refusal):
            raise Refused(made.code, made.message)
        return Response(
            made,
            media_type="application/json",
            headers={"cache-control": "private"},
        )

    def granted(
        self, request: Request, scope: str | None = None, match: str | None = None
    ) -> Grant:
        """What the request's token grants; with a scope, it must allow that.

        Raises:
            TokenError, TooManyFailures, Refused: The request may not be served.
        """
        gateway = self.gateway
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            token = request.query_params.get("token", "")
        address = "" if request.client is None else request.client.host
        grant = gateway.admit(token.strip(), address)
        if scope is not None:
            grant.needs(scope, match)
        if not gateway.requests.take(grant.id, anyio.current_time()):
            gateway.counts.busy += 1
            raise Refused("busy", "Too many requests at once. Wait a little.")
        return grant

    def _watched(self, request: Request) -> RemoteMatch:
        """The match that the token is for."""
        match = self.named(request)
        grant = self.granted(request, "watch", match)
        return self.gateway.client.join(match, self.epoch(request, grant))

    def epoch(self, request: Request, grant: Grant) -> int:
        """Which life of the match is meant.

        Raises:
            Refused: An operator has to say so.
        """
        if grant.kind != "operator":
            return grant.epoch
        text = request.query_params.get("epoch", "")
        if not (text.isascii() and text.isdigit() and len(text) <= 15):
            raise Refused("malformed_request", "An operator says the match's epoch.")
        return int(text)

    def named(self, request: Request) -> str:
        """The match in the path."""
        return str(request.path_params["match"])

    async def body(self, request: Request, kind: type[Body]) -> Body:
        """What was sent, as that.

        Raises:
            Refused: It is too large, or not what is wanted.
        """
        data = bytearray()
        with anyio.move_on_after(BODY_S) as reading:
            async with aclosing(request.stream()) as chunks:
                async for chunk in chunks:
                    data += chunk
                    if len(data) > self.gateway.options.message_bytes_max:
                        raise Refused("too_large", "The body is too large.")
        if reading.cancelled_caught:
            raise Refused("too_slow", "The body took too long.")
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
                SeatLink(seat, link.token, link.url, link.expiresS, link.page)
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
        gateway = self.gateway
        ttl_s = gateway.options.token_ttl_s if ttl_s is None else ttl_s
        tokens = gateway.tokens
        if seat is None:
            token = tokens.spectator(match, epoch, ttl_s)
        else:
            token = tokens.seat(match, epoch, seat, ttl_s)
        expires_s = int(tokens.read(token).expires_s)
        place = re.sub("^http", "ws", gateway.url)
        url = f"{place}/rooms/{match}?token={token}"
        return Link(token, url, expires_s, page_link(gateway, token))


def json_answer(body: Any, status: int = 200) -> Response:
    """An answer that nobody keeps."""
    return Response(
        msgspec.json.encode(body),
        status,
        headers={"cache-control": "no-store"},
        media_type="application/json",
    )


def _error(code: str, message: str, status: int) -> Response:
    answer = json_answer(ErrorBody(ErrorSaid(code, message)), status)
    if status in (429, 503):
        answer.headers["retry-after"] = "1"
    return answer
