"""One player's WebSocket: a shell around `Conversation`.

Order: the seat is taken before anything is read; then one task reads, one sends, one
acts while there is something to do. The rest is as for any page: see `page_connection`.
"""

from __future__ import annotations

from collections.abc import Mapping

import anyio
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
from ..tokens import Grant
from .close_code import CloseCode, close_code_of
from .conversation import Conversation, Dispatch, Look, Save, Undo, WrongSeat
from .gateway import Gateway
from .messages import ClientMessage, read_message
from .page_connection import PageConnection
from .renewal import Renewal

__all__ = ["Connection"]

AGAIN_S = 0.5
"""Before an action of unknown outcome is asked again, under the same key."""

SESSION_TTL_S = 86_400.0

BUSY = Refusal("busy", "Too many messages at once. Try again after a pause.")

_SEAT_GONE = frozenset({"not_seated", "expired_key", "resume_seat"})


class Connection(PageConnection[Conversation, ClientMessage]):
    """Of a player or a spectator, with one match."""

    __slots__ = (
        "_acting",
        "_actions",
        "_looking",
        "_query",
        "_renewal",
        "_saving",
        "_spectator",
    )

    def __init__(self, gateway: Gateway, socket: WebSocket, match: str) -> None:
        super().__init__(gateway, socket, match)
        self._query = socket.query_params
        self._spectator: Spectator
        self._actions: list[Dispatch | Undo] = []  # few: a deque would be larger
        self._acting = self._looking = self._saving = False
        self._renewal: Renewal | None = None

    def _scope_of(self, grant: Grant) -> str:
        return "play" if grant.seat else "watch"

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
                self._enter(tasks, grant)
                tasks.start_soon(self._send, updates)
                if told.extended:
                    tasks.start_soon(self._keep_alive)
                try:
                    await self._read()
                except WrongSeat:
                    self.end(CloseCode.FORBIDDEN, "wrong_seat")
            self.end(CloseCode.UNAUTHORIZED, "token_expired")
        finally:
            updates.close()
            self._spectator.close()
            counts.batches += told.batches
            counts.snapshots += told.snapshots
            counts.rejected += told.rejected

    def _decode(self, data: str | bytes) -> ClientMessage:
        return read_message(data)

    def _hear(self, message: ClientMessage) -> None:
        """
        Raises:
            WrongSeat: It asks for what is not this seat's.
        """
        assert self._tasks is not None
        command = self._conversation.hear(message)
        if isinstance(command, Dispatch | Undo):
            self._actions.append(command)
            if not self._acting:
                self._acting = True
                self._tasks.start_soon(self._act)
        elif isinstance(command, Look):
            if not self._looking:  # one that is under way answers for all
                self._looking = True
                self._tasks.start_soon(self._look)
        elif isinstance(command, Save) and not self._saving:
            self._saving = True
            self._tasks.start_soon(self._save, command.request)

    def _refuse_busy(self, message: ClientMessage, wait_s: float) -> None:
        self._conversation.refuse(message, BUSY, wait_s)

    async def _send(self, updates: UpdateStream) -> None:
        told = self._conversation
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
            if not await self._deliver(data):
                return

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

    def _heartbeat_fields(self) -> Mapping[str, object]:
        # Who stays for days is not to be left with tokens that have run out.
        return {} if self._renewal is None else self._renewal.fields()

    def _lost(self, refusal: Refusal) -> None:
        """The node does not go on with this place."""
        code = close_code_of(refusal.code)
        if code is CloseCode.REPLACED:
            self._gateway.replace(self)
        else:
            self.end(code, refusal.code)


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
