"""One WebSocket in a lobby: a shell around `LobbyConversation`.

Order: the token is looked at before anything is read. Then one task reads, one sends,
one watches the room, one asks it while there is something to ask, one keeps time; and
while the room starts, one opens its match. Whatever ends one ends all.

The rules for a WebSocket server are those of `connection`.
"""

from __future__ import annotations

import random
import re
import secrets

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from starlette.websockets import WebSocket

from ..client import ClientError, WatchEnded
from ..lobby.door import PRESENCES_PER_RESERVATION, Door
from ..lobby.room_view import RoomView, read_room
from ..telemetry import get_logger
from ..tokens import Grant, clean_name
from .admission import admit
from .bucket import Bucket
from .close_code import CloseCode, close_code_of
from .connection import CLOSE_S, FLOOD_MAX, SILENT_BEATS_MAX
from .gateway import Gateway
from .lobby_conversation import Ask, GoToMatch, LobbyConversation
from .lobby_links import welcome
from .lobby_messages import read_lobby_message
from .messages import Heartbeat, MalformedMessage
from .offered_games import config_of
from .signal import Signal

__all__ = ["LobbyConnection"]

AGAIN_S = 0.5
"""Before a match that could not be opened is opened again."""

LEFT_S = 2.0
"""For the word that somebody has left: if it takes longer, their seat tells."""

log = get_logger()


class LobbyConnection:
    """Made for each WebSocket; `run` serves it until it ends."""

    def __init__(self, gateway: Gateway, socket: WebSocket, lobby: str) -> None:
        self._gateway = gateway
        self._socket = socket
        self.place = (lobby, "")
        self.session = 0
        self._ending: tuple[CloseCode, str] | None = None
        self._gone = False
        self._tasks: TaskGroup | None = None
        self._door: Door
        self._conversation: LobbyConversation
        self._asks: list[Ask] = []
        self._asking = self._opening = False
        self._sending, self._reading, self._looked = Signal(), Signal(), Signal()
        self._beat, self._beat_at, self._answered = 0, 0.0, 0
        self._round_trip_ms: float | None = None

    def end(self, code: CloseCode, reason: str) -> None:
        """Close with this code; the first one counts."""
        if self._ending is None:
            self._ending = (code, reason)
        if self._tasks is not None:
            self._tasks.cancel_scope.cancel()

    async def run(self) -> None:
        """Serve it to its end. Nothing is raised but cancellation."""
        try:
            grant = self._admitted()
            await self._socket.accept()
            if grant is not None:
                self._gateway.counts.opened += 1
                await self._serve(grant)
        except Exception as error:
            log.error("connection_failed", exc_info=error)
            self.end(CloseCode.FAILED, "internal_error")
        try:
            await self._close()
        finally:
            self._gateway.leave(self)

    def _admitted(self) -> Grant | None:
        """What the token grants; None: nothing, and why is said in closing."""
        token = self._socket.query_params.get("token")
        found = admit(
            self._gateway, self._socket, token, self.place[0], lambda _: "lobby"
        )
        if isinstance(found, Grant):
            return found
        self._refuse(*found)
        return None

    def _refuse(self, code: CloseCode, reason: str) -> None:
        self._gateway.counts.refused += 1
        self.end(code, reason)

    async def _serve(self, grant: Grant) -> None:
        gateway = self._gateway
        extended = self._socket.query_params.get("hotseat") == "1"
        told = self._conversation = LobbyConversation(
            grant.match, grant.subject, clean_name(grant.name), extended=extended
        )
        with gateway.doors.at(grant.match, grant.epoch, grant.subject) as door:
            self._door = door
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                # A connection lives no longer than its token.
                left_s = gateway.tokens.left_s(grant)
                tasks.cancel_scope.deadline = anyio.current_time() + left_s
                gateway.enter(self)
                tasks.start_soon(self._read)
                tasks.start_soon(self._send)
                tasks.start_soon(self._watch, grant)
                if extended:
                    tasks.start_soon(self._keep_alive)
            self.end(CloseCode.UNAUTHORIZED, "token_expired")
            last = door.users[told.user] == 1
        if last and not gateway.stopping:
            await self._tell_left()

    async def _read(self) -> None:
        gateway, told = self._gateway, self._conversation
        options = gateway.options
        bucket = Bucket(
            options.messages_per_s, options.messages_burst, anyio.current_time()
        )
        too_fast = 0
        while True:
            received = await self._socket.receive()
            if received["type"] == "websocket.disconnect":
                self._gone = True
                self.end(CloseCode.AGAIN, "gone")
                return
            data = received.get("text") or received.get("bytes") or b""
            gateway.counts.messages_in += 1
            gateway.counts.bytes_in += len(data)
            try:
                if len(data) > options.message_bytes_max:
                    raise MalformedMessage("it is too large")
                message = read_lobby_message(data)
            except MalformedMessage:
                self.end(CloseCode.MALFORMED, "malformed_message")
                return
            now_s = anyio.current_time()
            if bucket.take(now_s):
                too_fast = 0
                if isinstance(message, Heartbeat):
                    self._hear_heartbeat(message, now_s)
                else:
                    self._ask(told.hear(message))
            else:
                too_fast += 1
                gateway.counts.busy += 1
                told.refuse(message)
            if too_fast > FLOOD_MAX:
                gateway.counts.let_go += 1
                self.end(CloseCode.FLOOD, "rate_limited")
                return
            self._sending.set()
            while told.full:
                await self._reading.wait()

    async def _send(self) -> None:
        gateway, told = self._gateway, self._conversation
        while True:
            data = told.next_to_send()
            if data is None:
                if told.closed:
                    self.end(CloseCode.DONE, "closed")
                    return
                await self._sending.wait()
                continue
            with anyio.move_on_after(gateway.options.send_timeout_s) as scope:
                await self._socket.send(
                    {"type": "websocket.send", "text": data.decode()}
                )
                await checkpoint()
            if scope.cancelled_caught:
                gateway.counts.let_go += 1
                self.end(CloseCode.SILENT, "too_slow")
                return
            gateway.counts.messages_out += 1
            gateway.counts.bytes_out += len(data)
            self._reading.set()

    def _ask(self, asked: Ask | None) -> None:
        assert self._tasks is not None
        if asked is not None:
            self._asks.append(asked)
            if not self._asking:
                self._asking = True
                self._tasks.start_soon(self._act)

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

    async def _keep_alive(self) -> None:
        """An extended page answers each heartbeat; one that does not is asleep."""
        heartbeat_s = self._gateway.options.heartbeat_s
        while True:
            await anyio.sleep(heartbeat_s)
            if self._beat - self._answered >= SILENT_BEATS_MAX:
                self._gateway.counts.let_go += 1
                self.end(CloseCode.SILENT, "silent")
                return
            self._beat += 1
            self._beat_at = anyio.current_time()
            self._conversation.tell(
                {
                    "type": "heartbeat",
                    "id": self._beat,
                    "roundTripMs": self._round_trip_ms,
                    "serverMs": self._gateway.clock.now_ms(),
                }
            )
            self._sending.set()

    def _hear_heartbeat(self, message: Heartbeat, now_s: float) -> None:
        if self._answered < message.id <= self._beat:
            self._answered = message.id
            if message.id == self._beat:
                self._round_trip_ms = round((now_s - self._beat_at) * 1_000, 1)

    async def _tell_left(self) -> None:
        """The room shows that the user is away, and keeps the seat for a while."""
        room = self._conversation.view
        if room is None or room.phase != "lobby":
            return
        with anyio.move_on_after(LEFT_S, shield=True):
            await self._door.tell_left(self._conversation.user)

    async def _close(self) -> None:
        if self._gone or self._ending is None:
            return
        code, reason = self._ending
        with anyio.move_on_after(CLOSE_S, shield=True):
            await self._socket.close(code, reason)
