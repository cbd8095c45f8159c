"""One player's WebSocket: a shell around `Conversation`.

Order: the token is looked at before anything is read; then the seat is taken; then one
task reads, one sends, one acts while there is something to do. They are few, since each
of them takes more memory than what the connection holds. Whatever ends one ends all,
and the socket is closed with a code that says why.

Rules for any WebSocket server underneath: a send gets a deadline and a checkpoint,
since to a client that has left it may return at once, for ever; the reader's end is the
end.
"""

from __future__ import annotations

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from starlette.websockets import WebSocket

from ..client import (
    Accepted,
    ClientError,
    Refusal,
    Seat,
    Spectator,
    UpdateStream,
    View,
    WatchEnded,
)
from ..telemetry import get_logger
from ..tokens import Grant
from .admission import admit
from .bucket import Bucket
from .close_code import CloseCode, close_code_of
from .conversation import Command, Conversation, Dispatch, Look, Undo, WrongSeat
from .gateway import Gateway
from .messages import Heartbeat, MalformedMessage, read_message
from .renewal import Renewal
from .signal import Signal

__all__ = ["Connection"]

FLOOD_MAX = 200
"""Messages in a row that came too fast, after which they are not read any more."""

AGAIN_S = 0.5
"""Before an action of unknown outcome is asked again, under the same key."""

SILENT_BEATS_MAX = 3
CLOSE_S = 1.0
SESSION_TTL_S = 86_400.0

BUSY = Refusal("busy", "Too many messages at once. Try again after a pause.")

_SEAT_GONE = frozenset({"not_seated", "expired_key", "resume_seat"})

log = get_logger()


class Connection:
    """Made for each WebSocket; `run` serves it until it ends."""

    __slots__ = (
        "__weakref__",
        "_acting",
        "_actions",
        "_answered",
        "_beat",
        "_beat_at",
        "_conversation",
        "_ending",
        "_gateway",
        "_gone",
        "_looking",
        "_query",
        "_reading",
        "_renewal",
        "_round_trip_ms",
        "_saving",
        "_sending",
        "_socket",
        "_spectator",
        "_tasks",
        "place",
        "session",
    )

    def __init__(self, gateway: Gateway, socket: WebSocket, match: str) -> None:
        self._gateway = gateway
        self._socket = socket
        self._query = socket.query_params
        self.place = (match, "")
        self.session = 0
        self._ending: tuple[CloseCode, str] | None = None
        self._gone = False
        self._tasks: TaskGroup | None = None
        self._conversation: Conversation
        self._spectator: Spectator
        self._actions: list[Dispatch | Undo] = []  # few: a deque would be larger
        self._sending, self._reading = Signal(), Signal()
        self._acting = self._looking = self._saving = False
        self._beat, self._beat_at, self._answered = 0, 0.0, 0
        self._round_trip_ms: float | None = None
        self._renewal: Renewal | None = None

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
        found = admit(
            self._gateway,
            self._socket,
            self._query.get("token"),
            self.place[0],
            lambda grant: "play" if grant.seat else "watch",
        )
        if isinstance(found, Grant):
            return found
        self._refuse(*found)
        return None

    def _refuse(self, code: CloseCode, reason: str) -> None:
        self._gateway.counts.refused += 1
        self.end(code, reason)

    async def _join(self, grant: Grant) -> bool:
        """Take the seat that was granted, or the place of a spectator."""
        match = self._gateway.client.join(grant.match, grant.epoch)
        self.place = (grant.match, grant.seat)
        next_action = 1
        if not grant.seat:
            self._spectator = match.watch()
        else:
            fresh, now_s = grant.kind == "seat", anyio.current_time()
            seat = f"{grant.match}/{grant.seat}"
            if fresh and not self._gateway.joins.take(seat, now_s):
                self._refuse(CloseCode.AGAIN, "busy")
                return False
            secret = self._gateway.seat_secret(grant.match, grant.seat)
            try:
                taken = await match.take(
                    grant.seat,
                    secret,
                    fresh=fresh,
                    alone=True,
                    session=grant.session,
                )
            except ClientError as error:
                self._refuse(CloseCode.AGAIN, error.code)
                return False
            if isinstance(taken, Seat):
                self._spectator, self.session = taken, taken.session
                next_action = taken.next_action
            elif taken.code == "game_over":
                # Nobody sits down any more: who comes now sees what all may see.
                self._spectator, self.place = match.watch(), (grant.match, "")
            else:
                self._refuse(close_code_of(taken.code), taken.code)
                return False
        extended = self._query.get("hotseat") == "1"
        self._conversation = Conversation(
            grant.match,
            grant.seat,
            next_action=next_action,
            since=_revision(self._query.get("since")) if extended else -1,
            extended=extended,
            legal=self._query.get("legal") == "1",
            patches=self._query.get("patch") == "1",
        )
        if extended:
            self._welcome(grant, next_action)
        return True

    def _welcome(self, grant: Grant, next_action: int) -> None:
        said: dict[str, object] = {
            "type": "welcome",
            "matchID": grant.match,
            "playerID": grant.seat or None,
            "heartbeatMs": int(self._gateway.options.heartbeat_s * 1_000),
            "serverMs": self._gateway.clock.now_ms(),
        }
        if self.session:
            self._renewal = Renewal(self._gateway, grant.of_place())
            said |= {"nextActionID": next_action, **self._renewal.fields()}
            tokens = self._gateway.tokens
            if tokens.can_sign:
                grant = self._renewal.grant
                said["sessionToken"] = tokens.session(
                    grant, self.session, SESSION_TTL_S
                )
        self._conversation.tell(said)

    async def _serve(self, grant: Grant) -> None:
        counts, told = self._gateway.counts, self._conversation
        updates = self._spectator.updates(
            legal=told.extended and self._query.get("legal") == "1",
            since=_revision(self._query.get("since")) if told.extended else -1,
            on_news=self._sending.set,
        )
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                # A connection lives no longer than its token.
                left_s = self._gateway.tokens.left_s(grant)
                tasks.cancel_scope.deadline = anyio.current_time() + left_s
                self._gateway.enter(self)
                tasks.start_soon(self._send, updates)
                if told.extended:
                    tasks.start_soon(self._keep_alive)
                await self._read()
            self.end(CloseCode.UNAUTHORIZED, "token_expired")
        finally:
            updates.close()
            self._spectator.close()
            counts.batches += told.batches
            counts.snapshots += told.snapshots
            counts.rejected += told.rejected

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
                message = read_message(data)
                now_s = anyio.current_time()
                if bucket.take(now_s):
                    too_fast = 0
                    self._do(told.hear(message))
                    if isinstance(message, Heartbeat):
                        self._hear_heartbeat(message, now_s)
                else:
                    too_fast += 1
                    gateway.counts.busy += 1
                    told.refuse(message, BUSY, bucket.wait_s(now_s))
            except MalformedMessage:
                self.end(CloseCode.MALFORMED, "malformed_message")
                return
            except WrongSeat:
                self.end(CloseCode.FORBIDDEN, "wrong_seat")
                return
            if too_fast > FLOOD_MAX:
                gateway.counts.let_go += 1
                self.end(CloseCode.FLOOD, "rate_limited")
                return
            self._sending.set()
            while told.full:
                await self._reading.wait()

    def _do(self, command: Command | None) -> None:
        assert self._tasks is not None
        if command is None:
            return
        if isinstance(command, Dispatch | Undo):
            self._actions.append(command)
            if not self._acting:
                self._acting = True
                self._tasks.start_soon(self._act)
        elif isinstance(command, Look):
            if not self._looking:  # one that is under way answers for all
                self._looking = True
                self._tasks.start_soon(self._look)
        elif not self._saving:
            self._saving = True
            self._tasks.start_soon(self._save, command.request)

    async def _send(self, updates: UpdateStream) -> None:
        gateway, told = self._gateway, self._conversation
        # Who was replaced at once must not begin to watch: a watch is shared by all
        # connections of the seat, and would go on under a session that is no more.
        await checkpoint()
        while True:
            data = told.next_to_send()
            if data is None:
                try:
                    update = updates.take() if told.takes_update else None
                except WatchEnded as ended:
                    self._lost(ended.refusal)
                    return
                if update is not None:
                    told.updated(update)
                else:
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

    async def _act(self) -> None:
        """Act in the order of what was heard, as long as there is something to do."""
        while self._actions:
            asked = self._actions.pop(0)
            outcome = await self._dispatch(asked)
            self._conversation.answered(asked.number, outcome)
            self._sending.set()
            if isinstance(outcome, Refusal) and outcome.code in _SEAT_GONE:
                self._lost(outcome)
        self._acting = False

    async def _dispatch(self, asked: Dispatch | Undo) -> Accepted | Refusal:
        """Act, until it is known what came of it: the key makes a repeat safe."""
        seat = self._spectator
        if not isinstance(seat, Seat):
            return Refusal("game_over", "The match is over.")
        while True:
            try:
                if isinstance(asked, Undo):
                    return await _take_back(seat, asked)
                return await seat.dispatch(
                    asked.event,
                    asked.payload,
                    base_revision=asked.base_revision,
                    action=asked.number,
                )
            except ClientError:
                await anyio.sleep(AGAIN_S)

    async def _look(self) -> None:
        while True:
            try:
                view = await self._spectator.resync()
                break
            except ClientError:
                await anyio.sleep(AGAIN_S)
        self._looking = False
        if isinstance(view, View):
            self._conversation.looked(view)
            self._sending.set()
        elif view.code != "busy":
            self._lost(view)

    async def _save(self, request: str) -> None:
        told, gateway = self._conversation, self._gateway
        url, reason = None, "match_running"
        if told.ended:
            match = self._spectator.match
            try:
                made = await gateway.replays.of(match)
            except ClientError as error:
                reason = error.code
            else:
                if isinstance(made, bytes):
                    ttl_s = gateway.options.token_ttl_s
                    token = gateway.tokens.spectator(match.id, match.epoch, ttl_s)
                    url = f"{gateway.url}/api/matches/{match.id}/replay?token={token}"
                else:
                    missing = made.code == "missing_game"
                    reason = "save_not_supported" if missing else made.code
        self._saving = False
        told.saved(request, url, reason)
        self._sending.set()

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
            # Who stays for days is not to be left with tokens that have run out.
            said |= {} if self._renewal is None else self._renewal.fields()
            self._conversation.tell(said)
            self._sending.set()

    def _hear_heartbeat(self, message: Heartbeat, now_s: float) -> None:
        if self._answered < message.id <= self._beat:
            self._answered = message.id
            if message.id == self._beat:
                self._round_trip_ms = round((now_s - self._beat_at) * 1_000, 1)

    def _lost(self, refusal: Refusal) -> None:
        """The node does not go on with this place."""
        code = close_code_of(refusal.code)
        if code is CloseCode.REPLACED:
            self._gateway.replace(self)
        else:
            self.end(code, refusal.code)

    async def _close(self) -> None:
        if self._gone or self._ending is None:
            return
        code, reason = self._ending
        with anyio.move_on_after(CLOSE_S, shield=True):
            await self._socket.close(code, reason)


async def _take_back(seat: Seat, asked: Undo) -> Accepted | Refusal:
    """
    Raises:
        ClientError: It is not known what came of it.
    """
    if asked.verb == "ask":
        base = asked.base_revision
        return await seat.ask_undo(
            asked.revision, base_revision=base, action=asked.number
        )
    agree = asked.verb == "agree"
    return await seat.answer_undo(agree, request=asked.revision, action=asked.number)


def _revision(text: str | None) -> int:
    """The revision that a page says it has; -1: none."""
    if text is not None and text.isascii() and text.isdigit() and len(text) <= 15:
        return int(text)
    return -1
