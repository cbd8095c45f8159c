"""The HTTP API of lobbies: what can be played; open one, come in, see how it stands.

A lobby is opened by who has an operator's token, or by anybody where the gateway says
so; then each address may only open so many. The same key opens the same lobby, with the
same host, whichever gateway is asked: so the key of who has no token must be one that
nobody guesses.
"""

from __future__ import annotations

import secrets

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..client import Refusal
from ..lobby.opening import OpeningRefused, host_of, room_key, room_setup
from ..lobby.room_game import DOOR, ROOM_GAME
from ..lobby.room_view import read_room
from ..tokens import TokenError, clean_name
from .api import KEY, Api, Refused, json_answer
from .gateway import Gateway
from .lobby_bodies import CreatedLobby, LobbyState, NewGuest, NewLobby, OfferedGames
from .lobby_conversation import lobby_state
from .lobby_links import guest_link, invite_link
from .offered_games import offered_game, offered_games

__all__ = ["routes"]

OPEN_KEY_CHARACTERS_MIN = 16
"""Of a key without a token: whoever says it again is the lobby's host."""

USER_ID_BYTES = 10


def routes(gateway: Gateway) -> list[Route]:
    """Where all of that is asked for."""
    api = LobbyApi(gateway)
    page = Api(gateway).page
    return [
        Route("/api/games", page(api.games)),
        Route("/api/lobbies", page(api.open), methods=["POST"]),
        Route("/api/lobbies/{match}", page(api.state)),
        Route("/api/lobbies/{match}/guests", page(api.enter), methods=["POST"]),
    ]


class LobbyApi(Api):
    """The pages of one gateway; each takes a request and gives its answer."""

    async def games(self, request: Request) -> Response:
        """GET /api/games"""
        if not self._is_open(request):
            self.granted(request)
        return json_answer(
            OfferedGames(offered_games(self.gateway.games, self.gateway.own_bots))
        )

    async def open(self, request: Request) -> Response:
        """POST /api/lobbies"""
        gateway = self.gateway
        given = request.headers.get("idempotency-key")
        key = given or secrets.token_hex(16)
        if not KEY.fullmatch(key):
            raise Refused(
                "malformed_request",
                "An Idempotency-Key is 1 to 128 printable characters without spaces.",
            )
        anybody = self._is_open(request)
        if anybody:
            headers = request.headers
            # A page elsewhere may not have its visitors open lobbies.
            if not gateway.origins.allow(headers.get("origin"), headers.get("host")):
                raise Refused("wrong_origin", "That page may not open lobbies here.")
            if given is not None and len(given) < OPEN_KEY_CHARACTERS_MIN:
                raise Refused(
                    "malformed_request",
                    "Without a token an Idempotency-Key has at least "
                    f"{OPEN_KEY_CHARACTERS_MIN} characters, drawn at random.",
                )
            subject = ""
        else:
            subject = self.granted(request, "create").subject
        asked = await self.body(request, NewLobby)
        self.signs()
        game = offered_game(gateway.games, asked.game, asked.version)
        if game is None:
            raise Refused("unknown_game", "There is no such game here: see /api/games.")
        if anybody:
            self._spare(request)
        key = room_key(None if anybody else subject, key)
        name, host = clean_name(asked.name), host_of(key)
        try:
            setup = room_setup(
                game,
                config=asked.config,
                capacity=asked.capacity,
                host=host,
                host_name=name,
                reservation_s=gateway.options.reservation_s,
                idle_s=gateway.options.lobby_idle_s,
                kept_s=gateway.options.token_ttl_s,
                own_bots=gateway.own_bots,
            )
        except OpeningRefused as refused:
            raise Refused(refused.code, refused.message) from refused
        room = await gateway.client.create(
            ROOM_GAME, players=[DOOR], data=msgspec.to_builtins(setup), key=key
        )
        if isinstance(room, Refusal):
            raise Refused(room.code, room.message)
        link = guest_link(gateway, room.id, room.epoch, host, name)
        created = CreatedLobby(
            id=room.id,
            epoch=room.epoch,
            game=setup.game,
            version=setup.version,
            user=link.user,
            url=link.url,
            page=link.page,
            invite=invite_link(gateway, room.id, room.epoch),
        )
        return json_answer(created, 201)

    async def enter(self, request: Request) -> Response:
        """POST /api/lobbies/{match}/guests"""
        lobby = self.named(request)
        grant = self.granted(request, "enter", lobby)
        asked = await self.body(request, NewGuest)
        self.signs()
        user, name = secrets.token_hex(USER_ID_BYTES), clean_name(asked.name)
        link = guest_link(self.gateway, lobby, grant.epoch, user, name)
        return json_answer(link, 201)

    async def state(self, request: Request) -> Response:
        """GET /api/lobbies/{match}"""
        lobby = self.named(request)
        grant = self.granted(request)
        scopes = {"guest": "lobby", "invite": "enter", "operator": "watch"}
        if grant.kind not in scopes:
            raise TokenError("token_wrong_scope")
        grant.needs(scopes[grant.kind], lobby)
        match = self.gateway.client.join(lobby, self.epoch(request, grant))
        place = match.watch()
        try:
            view = await place.resync()
        finally:
            place.close()
        if isinstance(view, Refusal):
            raise Refused(view.code, view.message)
        room = read_room(view)
        if room is None:
            raise Refused("unknown_match", "That is no lobby.")
        more = {name: getattr(room, name) for name in ("game", "version", "match")}
        told = {**lobby_state(lobby, room), **more, "reason": room.reason}
        return json_answer(msgspec.convert(told, LobbyState))

    def _is_open(self, request: Request) -> bool:
        """Whether it is served without a token; who has one shows it."""
        shown = "authorization" in request.headers or "token" in request.query_params
        return self.gateway.options.open_lobbies and not shown

    def _spare(self, request: Request) -> None:
        """
        Raises:
            Refused: That address opens too many.
        """
        address = "" if request.client is None else request.client.host
        if not self.gateway.lobbies.take(address, anyio.current_time()):
            self.gateway.counts.busy += 1
            raise Refused("busy", "Too many lobbies were opened from there. Wait.")
