"""One WebSocket in a lobby: a shell around `LobbyConversation`.

Beside the tasks of any page (see `page_connection`), one watches the room, one asks it
while there is something to ask; and while the room starts, one opens its match.
"""

from __future__ import annotations

import random
import re
import secrets

import anyio
from starlette.websockets import WebSocket

from ..client import ClientError, WatchEnded
from ..lobby.door import PRESENCES_PER_RESERVATION, Door
from ..lobby.room_view import RoomView, read_room
from ..telemetry import get_logger
from ..tokens import Grant, clean_name
from .close_code import CloseCode, close_code_of
from .gateway import Gateway
from .lobby_conversation import Ask, GoToMatch, LobbyConversation
from .lobby_links import welcome
from .lobby_messages import LobbyMessage, read_lobby_message
from .offered_games import config_of
from .page_connection import PageConnection
from .signal import Signal

__all__ = ["LobbyConnection"]

AGAIN_S = 0.5
"""Before a match that could not be opened is opened again."""

LEFT_S = 2.0
"""For the word that somebody has left: if it takes longer, their seat tells."""

log = get_logger()


class LobbyConnection(PageConnection[LobbyConversation, LobbyMessage]):
    """Of a user, with one lobby."""

    __slots__ = ("_asking", "_asks", "_door", "_looked", "_opening")

    def __init__(self, gateway: Gateway, socket: WebSocket, lobby: str) -> None:
        super().__init__(gateway, socket, lobby)
        self._door: Door
        self._asks: list[Ask] = []
        self._asking = self._opening = False
        self._looked = Signal()

    def _scope_of(self, grant: Grant) -> str:
        return "lobby"

    async def _serve(self, grant: Grant) -> None:
        gateway = self._gateway
        extended = self._socket.query_params.get("hotseat") == "1"
        told = self._conversation = LobbyConversation(
            grant.match, grant.subject, clean_name(grant.name), extended=extended
        )
        with gateway.doors.at(grant.match, grant.epoch, grant.subject) as door:
            self._door = door
            async with anyio.create_task_group() as tasks:
                self._enter(tasks, grant)
                tasks.start_soon(self._read)
                tasks.start_soon(self._send)
                tasks.start_soon(self._watch, grant)
                if extended:
                    tasks.start_soon(self._keep_alive)
            self.end(CloseCode.UNAUTHORIZED, "token_expired")
            last = door.users[told.user] == 1
        if last and not gateway.stopping:
            await self._tell_left()

    def _decode(self, data: str | bytes) -> LobbyMessage:
        return read_lobby_message(data)

    def _hear(self, message: LobbyMessage) -> None:
        assert self._tasks is not None
        asked = self._conversation.hear(message)
        if asked is not None:
            self._asks.append(asked)
            if not self._asking:
                self._asking = True
                self._tasks.start_soon(self._act)

    def _refuse_busy(self, message: LobbyMessage, wait_s: float) -> None:
        self._conversation.refuse(message)

    async def _send(self) -> None:
        told = self._conversation
        while True:
            data = told.next_to_send()
            if data is None:
                if told.closed:
                    self.end(CloseCode.DONE, "closed")
                    return
                await self._sending.wait()
                continue
            if not await self._deliver(data):
                return

    async def _act(self) -> None:
        """Ask in the order of what was heard, as long as there is something to ask."""
        while self._asks:
            asked = self._asks.pop(0)
            named = {"op": secrets.token_urlsafe(12), **asked.payload}
            refusal = await self._door.play(asked.event, named)
            self._conversation.answered(asked, refusal)
            self._sending.set()
        self._asking = False

    async def _watch(self, grant: Grant) -> None:
        """Tell the page how the room is, and the room that its user is here."""
        assert self._tasks is not None
        told, place = self._conversation, self._door.match.watch()
        try:
            async for view in place.views():
                room = read_room(view)
                if room is None:
                    self.end(CloseCode.UNKNOWN_MATCH, "unknown_lobby")
                    return
                new = told.view is None
                if new and told.extended:
                    told.tell(welcome(self._gateway, grant, room))
                way = told.looked(room)
                if new:
                    told.knows(config_of(self._gateway.games, room.game, room.version))
                    reservation_s = room.reservationMs / 1_000
                    self._tasks.start_soon(self._keep_present, reservation_s)
                if way is not None:
                    self._lead(way)
                self._sending.set()
                self._looked.set()
                if room.phase == "starting" and not self._opening:
                    self._opening = True
                    self._tasks.start_soon(self._open)
        except WatchEnded as ended:
            self.end(close_code_of(ended.refusal.code), ended.refusal.code)
        finally:
            place.close()

    async def _keep_present(self, reservation_s: float) -> None:
        """Say that the user is here, often enough; at once where the room misses them,
        since they have left another gateway."""
        while True:
            room = self._conversation.view
            assert room is not None
            if room.phase == "lobby":
                await self._door.tell_presence(room)
            with anyio.move_on_after(reservation_s / PRESENCES_PER_RESERVATION / 2):
                await self._looked.wait()

    async def _open(self) -> None:
        """Open the match, as long as the room waits for it."""
        while self._starting() is not None:
            try:
                await self._door.open_match(self._starting)
            except ClientError as error:
                log.debug("lobby_start_again", code=error.code)
            await anyio.sleep(AGAIN_S * random.uniform(0.5, 1.5))
        self._opening = False

    def _starting(self) -> RoomView | None:
        room = self._conversation.view
        return room if room is not None and room.phase == "starting" else None

    def _lead(self, way: GoToMatch) -> None:
        tokens, ttl_s = self._gateway.tokens, self._gateway.options.token_ttl_s
        if way.player:
            token = tokens.seat(way.match, way.epoch, way.player, ttl_s)
        else:
            token = tokens.spectator(way.match, way.epoch, ttl_s)
        expires_ms = int(tokens.read(token).expires_s * 1_000)
        url = f"{re.sub('^http', 'ws', self._gateway.url)}/rooms/{way.match}"
        self._conversation.led(way, token, expires_ms, url)

    async def _tell_left(self) -> None:
        """The room shows that the user is away, and keeps the seat for a while."""
        room = self._conversation.view
        if room is None or room.phase != "lobby":
            return
        with anyio.move_on_after(LEFT_S, shield=True):
            await self._door.tell_left(self._conversation.user)
