"""The client library's shell: carries out over an `Endpoint` what the core decides.

Nothing is decided here. One task receives, one keeps time, one asks the doors where
nodes are; callers' own tasks start questions and wait. On trio and on asyncio.
"""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import anyio

from ...runtime.codec import FRAME_LIMIT_BYTES, pack
from ...runtime.errors import CodecError, LinkError
from ...runtime.frame import Created, CreateMatch, Request, Response
from ...runtime.link import Arrival, Endpoint, LinkEvent, PeerAddress, PeerUp
from ...runtime.match_id import match_id
from ..block_failure import BlockFailure
from .core import ClientCore, TooManyQuestions
from .effect import (
    Effect,
    Expired,
    Locate,
    Reach,
    Send,
    Settled,
    Viewed,
    Watch,
    WatchRefused,
)
from .match import RemoteMatch
from .options import ClientOptions
from .outcome import (
    ClusterUnreachable,
    NoAnswer,
    OutcomeUnknown,
    Refusal,
    runtime_refusal,
)

__all__ = ["Client", "ClientStatistics", "Locator", "open_client"]

Locator = Callable[[], Awaitable[Sequence[PeerAddress]]]
"""Asks the cluster's command doors where their nodes are. Returns those that
answered; an empty sequence, not an exception, when none did. It is cancelled when
the client closes."""


@dataclass(frozen=True, slots=True)
class ClientStatistics:
    """`waiting` is now; the others count since the start."""

    GAUGES: ClassVar[frozenset[str]] = frozenset({"waiting"})

    waiting: int
    asked: int
    refused_here: int
    expired: int


@asynccontextmanager
async def open_client(
    locate: Locator, endpoint: Endpoint, options: ClientOptions | None = None
) -> AsyncIterator[Client]:
    """Connect to a cluster; the client works inside the `async with` block.

    `endpoint` is entered and left here. What the block raises comes out as it is,
    not in a group.

    Raises:
        ClusterUnreachable: No node answered within `options.timeout_s`.
    """
    client = Client(locate, endpoint, options or ClientOptions())
    with BlockFailure() as failure:
        async with endpoint, anyio.create_task_group() as tasks:
            tasks.start_soon(client._receive)
            tasks.start_soon(client._keep_time)
            tasks.start_soon(client._keep_located)
            with failure.kept():
                await client._joined()
                yield client
            tasks.cancel_scope.cancel()


class Client:
    """A process's place at a cluster. Made by `connect` or `open_client`."""

    def __init__(
        self, locate: Locator, endpoint: Endpoint, options: ClientOptions
    ) -> None:
        self._locate = locate
        self._endpoint = endpoint
        self._options = options
        self._core = ClientCore(options, random.random)
        self._answers: dict[int, _Waiter] = {}
        self._watchers: dict[Watch, anyio.Event] = {}
        self._listeners: dict[Watch, set[Callable[[], None]]] = {}
        # Acknowledged creations: what was asked for, and what came of it.
        self._created: dict[str, tuple[CreateMatch, RemoteMatch]] = {}
        self._timer = anyio.Event()
        self._timer_at = math.inf
        self._lost = anyio.Event()  # set: the doors should be asked
        self._table_known = anyio.Event()
        self._asked = self._refused_here = self._expired = 0

    @property
    def principal(self) -> str:
        """On whose behalf this client acts; matches are named after it."""
        return self._endpoint.identity.principal

    @property
    def options(self) -> ClientOptions:
        return self._options

    @property
    def reachable(self) -> bool:
        """Whether a link to any node is up."""
        return self._core.reachable

    async def create(
        self,
        game: str,
        *,
        players: Sequence[str],
        config: Any = None,
        data: Any = None,
        profiles: Mapping[str, Any] | None = None,
        version: str = "",
        key: str | None = None,
        timeout_s: float | None = None,
    ) -> RemoteMatch | Refusal:
        """Create a match. The same `key` is the same match, however often it is sent.

        `version` "" is the newest that the node has. Without a key one is drawn.
        `profiles` are the players', by seat; else the game's default stands in.

        Raises:
            OutcomeUnknown: No answer in time. Call again with its `key`.
            ClusterUnreachable: Nothing could be sent in that time.
        """
        key = secrets.token_hex(16) if key is None else key
        match: dict[str, Any] = {"players": list(players)}
        match |= {} if config is None else {"config": config}
        match |= {} if data is None else {"data": data}
        match |= {} if profiles is None else {"profiles": dict(profiles)}
        try:
            pack(key)
            packed = pack(match, FRAME_LIMIT_BYTES)
        except CodecError as error:
            return self._refuse_here(error)
        frame = CreateMatch(0, key, game, version, packed)
        if key in self._created:
            asked, known = self._created[key]
            return known if asked == frame else runtime_refusal("key_reused")
        name = match_id(self.principal, key)
        answer = await self._write(frame, name, timeout_s, key)
        if isinstance(answer, Refusal):
            return answer
        assert isinstance(answer, Created), f"{answer!r} answers a CreateMatch"
        return self._remember(frame, RemoteMatch(self, answer))

    def join(self, match: str, epoch: int, seats: Sequence[str] = ()) -> RemoteMatch:
        """A match that somebody else created: its id and its creation epoch."""
        return RemoteMatch(self, Created(0, match, epoch, "", "", tuple(seats)))

    def statistics(self) -> ClientStatistics:
        return ClientStatistics(
            self._core.waiting, self._asked, self._refused_here, self._expired
        )

    # --- for client_match

    async def _write(
        self, frame: Request, match: str, timeout_s: float | None, key: int | str
    ) -> Response | Refusal:
        """Ask until it is answered.

        Raises:
            OutcomeUnknown: The deadline passed, and it may have happened.
            ClusterUnreachable: The deadline passed, and nothing could be sent.
        """
        answer = await self._ask(frame, match, timeout_s)
        if not isinstance(answer, Expired):
            return answer
        if answer.doubt:
            raise OutcomeUnknown(
                f"{type(frame).__name__} of match {match} had no answer in time; "
                "ask again with the same key, or resync",
                key,
            )
        return answer.refusal or _unreachable()

    async def _read(
        self, frame: Request, match: str, timeout_s: float | None
    ) -> Response | Refusal:
        """Ask until it is answered.

        Raises:
            NoAnswer: The deadline passed.
            ClusterUnreachable: The deadline passed, and nothing could be sent.
        """
        answer = await self._ask(frame, match, timeout_s)
        if not isinstance(answer, Expired):
            return answer
        if answer.doubt:
            raise NoAnswer(
                f"{type(frame).__name__} about match {match} had no answer in time"
            )
        return answer.refusal or _unreachable()

    async def _ask(
        self, frame: Request, match: str, timeout_s: float | None
    ) -> Response | Refusal | Expired:
        now = anyio.current_time()
        timeout_s = self._options.timeout_s if timeout_s is None else timeout_s
        try:
            ticket = self._core.ask(now, frame, match=match, deadline=now + timeout_s)
        except TooManyQuestions:
            self._refused_here += 1
            return runtime_refusal("busy", "This client has too much unanswered.")
        self._asked += 1
        waiter = self._answers[ticket] = _Waiter()
        try:
            self._carry_out()
            await waiter.settled.wait()
        finally:
            del self._answers[ticket]
            self._core.forget(ticket)
        assert waiter.answer is not None
        return waiter.answer

    def _watch(self, wanted: Watch) -> Watch | Refusal:
        try:
            watch = self._core.watch(anyio.current_time(), wanted)
        except TooManyQuestions:
            self._refused_here += 1
            return runtime_refusal("busy", "This client watches too many seats.")
        self._carry_out()
        return watch

    def _unwatch(self, watch: Watch) -> None:
        self._core.unwatch(anyio.current_time(), watch)
        if watch.readers <= 0:
            self._watchers.pop(watch, None)
            self._listeners.pop(watch, None)
        self._carry_out()

    def _hold(
        self, match: str, epoch: int, seat: str, session: int, token: str
    ) -> None:
        """Show `token` to whoever does not know that the session is ours."""
        self._core.memory.holds(match, epoch, seat, session, token)

    async def _news(self, watch: Watch) -> None:
        """Wait until something may have changed about `watch`."""
        event = self._watchers.get(watch)
        if event is None:
            event = self._watchers[watch] = anyio.Event()
        await event.wait()

    def _listen(self, watch: Watch, call: Callable[[], None]) -> None:
        """Call it once when something may have changed about `watch`."""
        self._listeners.setdefault(watch, set()).add(call)

    def _listen_no_more(self, watch: Watch, call: Callable[[], None]) -> None:
        listening = self._listeners.get(watch)
        if listening is not None:
            listening.discard(call)

    def _refuse_here(self, error: CodecError) -> Refusal:
        """What the codec does not write is refused before anything is sent."""
        self._refused_here += 1
        return Refusal(error.code, str(error))

    # --- the shell

    def _remember(self, frame: CreateMatch, match: RemoteMatch) -> RemoteMatch:
        while len(self._created) >= self._options.created_max:
            del self._created[next(iter(self._created))]
        self._created[frame.key] = (frame, match)
        return match

    async def _joined(self) -> None:
        self._lost.set()
        with anyio.move_on_after(self._options.timeout_s):
            await self._table_known.wait()
            return
        raise ClusterUnreachable(
            f"no node of the cluster answered within {self._options.timeout_s:g} s"
        )

    async def _receive(self) -> None:
        while True:
            events = await self._endpoint.receive()
            now = anyio.current_time()
            for event in events:
                self._on_event(now, event)
            if self._core.routing.table is not None:
                self._table_known.set()
            self._carry_out()

    def _on_event(self, now: float, event: LinkEvent) -> None:
        if isinstance(event, Arrival):
            self._core.arrived(now, event.process, event.frame)
        elif isinstance(event, PeerUp):
            self._core.peer_up(now, event.peer.process)
        else:
            self._core.peer_down(now, event.process)

    async def _keep_time(self) -> None:
        while True:
            self._timer = anyio.Event()
            self._timer_at = self._core.next_due
            with anyio.CancelScope(deadline=self._timer_at):
                await self._timer.wait()
            self._core.tick(anyio.current_time())
            self._carry_out()

    async def _keep_located(self) -> None:
        while True:
            await self._lost.wait()
            self._lost = anyio.Event()
            addresses = await self._locate()
            self._core.located(anyio.current_time(), addresses)
            self._carry_out()

    def _carry_out(self) -> None:
        while effects := self._core.effects():
            for effect in effects:
                self._do(effect)
        if self._core.next_due < self._timer_at:
            self._timer.set()

    def _do(self, effect: Effect) -> None:
        if isinstance(effect, Send):
            self._send(effect)
        elif isinstance(effect, Settled):
            self._wake(effect.ticket, effect.answer)
        elif isinstance(effect, Viewed | WatchRefused):
            event = self._watchers.pop(effect.watch, None)
            if event is not None:
                event.set()
            for call in self._listeners.pop(effect.watch, ()):
                call()
        elif isinstance(effect, Reach):
            self._endpoint.connect(effect.address)
        elif isinstance(effect, Expired):
            self._expired += 1
            self._wake(effect.ticket, effect)
        else:
            assert isinstance(effect, Locate)
            self._lost.set()

    def _send(self, effect: Send) -> None:
        try:
            self._endpoint.send(effect.process, effect.frame)
        except LinkError as error:
            refusal = runtime_refusal("busy", str(error))
            self._core.not_sent(anyio.current_time(), effect.frame.request, refusal)
        except CodecError as error:
            refusal = self._refuse_here(error)
            self._core.not_sent(anyio.current_time(), effect.frame.request, refusal)

    def _wake(self, ticket: int, answer: Response | Refusal | Expired) -> None:
        waiter = self._answers.get(ticket)
        if waiter is not None:
            waiter.answer = answer
            waiter.settled.set()


def _unreachable() -> NoReturn:
    raise ClusterUnreachable("no node of the cluster could be reached in time")


class _Waiter:
    """A task that waits for the answer to one question."""

    __slots__ = ("answer", "settled")

    def __init__(self) -> None:
        self.settled = anyio.Event()
        self.answer: Response | Refusal | Expired | None = None
