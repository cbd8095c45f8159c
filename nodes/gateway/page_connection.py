"""A page's WebSocket, to whatever it leads: what those of matches and lobbies share.

Order: the token is looked at before anything is read. Then one task reads, one sends,
one keeps time, and some do what is asked. They are few, since each of them takes more
memory than what the connection holds. Whatever ends one ends all, and the socket is
closed with a code that says why.

Rules for any WebSocket server underneath: a send gets a deadline and a checkpoint,
since to a client that has left it may return at once, for ever; the reader's end is the
end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from starlette.websockets import WebSocket

from ..telemetry import get_logger
from ..tokens import Grant
from .admission import admit
from .bucket import Bucket
from .close_code import CloseCode
from .gateway import Gateway
from .messages import Heartbeat, MalformedMessage
from .signal import Signal

__all__ = ["FLOOD_MAX", "SILENT_BEATS_MAX", "PageConnection", "PageConversation"]

FLOOD_MAX = 200
"""Messages in a row that came too fast, after which they are not read any more."""

SILENT_BEATS_MAX = 3
CLOSE_S = 1.0

log = get_logger()


class PageConversation(Protocol):
    """What a page has said and was told, as far as its connection looks at it."""

    @property
    def full(self) -> bool:
        """Too much waits to be sent: nothing more should be heard."""
        ...

    def tell(self, message: Mapping[str, Any]) -> None: ...


ConversationT = TypeVar("ConversationT", bound=PageConversation)
MessageT = TypeVar("MessageT")
"""What the page may say."""


class PageConnection(ABC, Generic[ConversationT, MessageT]):
    """Made for each WebSocket; `run` serves it until it ends."""

    __slots__ = (
        "__weakref__",
        "_answered",
        "_beat",
        "_beat_at",
        "_conversation",
        "_ending",
        "_gateway",
        "_gone",
        "_reading",
        "_round_trip_ms",
        "_sending",
        "_socket",
        "_tasks",
        "place",
        "session",
    )

    def __init__(self, gateway: Gateway, socket: WebSocket, match: str) -> None:
        self._gateway = gateway
        self._socket = socket
        self.place = (match, "")
        self.session = 0
        self._ending: tuple[CloseCode, str] | None = None
        self._gone = False
        self._tasks: TaskGroup | None = None
        self._conversation: ConversationT
        self._sending, self._reading = Signal(), Signal()
        self._beat, self._beat_at, self._answered = 0, 0.0, 0
        self._round_trip_ms: float | None = None

    @abstractmethod
    def _scope_of(self, grant: Grant) -> str:
        """Which scope the grant needs here."""

    async def _join(self, grant: Grant) -> bool:
        """Take the place that was granted; False: it is refused."""
        return True

    @abstractmethod
    async def _serve(self, grant: Grant) -> None:
        """Converse, until one of the tasks ends."""

    @abstractmethod
    def _decode(self, data: str | bytes) -> MessageT:
        """
        Raises:
            MalformedMessage: It is none of the protocol's.
        """

    @abstractmethod
    def _hear(self, message: MessageT) -> None:
        """Do what it asks for. Heartbeats do not come here."""

    @abstractmethod
    def _refuse_busy(self, message: MessageT, wait_s: float) -> None:
        """Say no to what came too fast: it may be said again after `wait_s`."""

    def _heartbeat_fields(self) -> Mapping[str, object]:
        """What a heartbeat tells beside the time."""
        return {}

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
            if grant is not None and await self._join(grant):
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
        found = admit(self._gateway, self._socket, token, self.place[0], self._scope_of)
        if isinstance(found, Grant):
            return found
        self._refuse(*found)
        return None

    def _refuse(self, code: CloseCode, reason: str) -> None:
        self._gateway.counts.refused += 1
        self.end(code, reason)

    def _enter(self, tasks: TaskGroup, grant: Grant) -> None:
        """From now on it is served, by these tasks."""
        self._tasks = tasks
        # A connection lives no longer than its token.
        left_s = self._gateway.tokens.left_s(grant)
        tasks.cancel_scope.deadline = anyio.current_time() + left_s
        self._gateway.enter(self)

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
                message = self._decode(data)
            except MalformedMessage:
                self.end(CloseCode.MALFORMED, "malformed_message")
                return
            now_s = anyio.current_time()
            if bucket.take(now_s):
                too_fast = 0
                if isinstance(message, Heartbeat):
                    self._hear_heartbeat(message, now_s)
                else:
                    self._hear(message)
            else:
                too_fast += 1
                gateway.counts.busy += 1
                self._refuse_busy(message, bucket.wait_s(now_s))
            if too_fast > FLOOD_MAX:
                gateway.counts.let_go += 1
                self.end(CloseCode.FLOOD, "rate_limited")
                return
            self._sending.set()
            while told.full:
                await self._reading.wait()

    async def _deliver(self, data: bytes) -> bool:
        """Send one message; False: the page takes none, and is let go."""
        counts = self._gateway.counts
        with anyio.move_on_after(self._gateway.options.send_timeout_s) as scope:
            await self._socket.send({"type": "websocket.send", "text": data.decode()})
            await checkpoint()
        if scope.cancelled_caught:
            counts.let_go += 1
            self.end(CloseCode.SILENT, "too_slow")
            return False
        counts.messages_out += 1
        counts.bytes_out += len(data)
        self._reading.set()
        return True

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
            said: dict[str, object] = {
                "type": "heartbeat",
                "id": self._beat,
                "roundTripMs": self._round_trip_ms,
                "serverMs": self._gateway.clock.now_ms(),
            }
            said |= self._heartbeat_fields()
            self._conversation.tell(said)
            self._sending.set()

    def _hear_heartbeat(self, message: Heartbeat, now_s: float) -> None:
        if self._answered < message.id <= self._beat:
            self._answered = message.id
            if message.id == self._beat:
                self._round_trip_ms = round((now_s - self._beat_at) * 1_000, 1)

    async def _close(self) -> None:
        if self._gone or self._ending is None:
            return
        code, reason = self._ending
        with anyio.move_on_after(CLOSE_S, shield=True):
            await self._socket.close(code, reason)
