"""The door for commands: one request, one answer, over nng's REP.

REP contexts have no poll descriptor, so the door, and only it, uses asend and arecv:
with nng's own timeouts and never where a cancel scope can reach them, which would leak
messages and lose completions. What waits in them is ended by closing its context.

It is asked by `door_client.py`, or by nng's REQ.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

import anyio
import pynng
import structlog
from anyio.abc import TaskGroup

from ..runtime.errors import LinkRefused
from .door_client import DOOR_MESSAGE_BYTES_MAX, NO_ANSWER
from .nng_sockets import close_socket, open_socket

__all__ = [
    "DOOR_CONCURRENCY",
    "DOOR_FAILED",
    "Answer",
    "DoorServer",
]

# Name of a log event.
DOOR_FAILED = "door_failed"

# Requests answered at one time; further ones wait in nng, a connection each.
DOOR_CONCURRENCY = 8

# Seconds in which one request must be answered, and in which an answer must leave.
DOOR_ANSWER_S = 30.0
_SEND_MS = 2000

# Seconds that the socket is waited for when the door closes.
_CLOSE_S = 2.0

Answer = Callable[[bytes], Awaitable[bytes]]

log = structlog.get_logger()


class DoorServer:
    """Answers requests at one address. Use it as an async context manager.

    `answer` turns a request into an answer, which is not nil. If it raises or takes
    too long, that is logged and the asker is told that it failed.
    """

    def __init__(
        self,
        address: str,
        answer: Answer,
        *,
        concurrency: int = DOOR_CONCURRENCY,
        answer_s: float = DOOR_ANSWER_S,
    ) -> None:
        self._listen = address
        self._answer = answer
        self._concurrency = concurrency
        self._answer_s = answer_s
        self._socket: Any = None
        self._contexts: list[Any] = []
        self._under_way: set[anyio.CancelScope] = set()
        self._address = address
        self._closing = False
        self._tasks: TaskGroup

    @property
    def address(self) -> str:
        """Where it listens (with the port that was taken, once entered)."""
        return self._address

    async def __aenter__(self) -> DoorServer:
        """Open the door.

        Raises:
            LinkRefused: It cannot be opened there.
        """
        self._socket = open_socket(
            pynng.Rep0, recv_max_size=DOOR_MESSAGE_BYTES_MAX, send_timeout=_SEND_MS
        )
        try:
            listener = self._socket.listen(self._listen)
        except pynng.NNGException as error:
            close_socket(self._socket)
            raise LinkRefused(
                f"cannot open a door at {self._listen}: {error}"
            ) from error
        if self._listen.startswith("tcp://"):
            self._address = f"tcp://{listener.local_address}"
        self._tasks = await anyio.create_task_group().__aenter__()
        for _ in range(self._concurrency):
            context = self._socket.new_context()
            self._contexts.append(context)
            self._tasks.start_soon(self._serve, context)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing = True
        for scope in self._under_way:
            scope.cancel()
        for context in self._contexts:  # before the socket, or nng complains
            context.close()
        closing = close_socket(self._socket)
        # The tasks end by themselves: what they wait in is closed.
        self._tasks.cancel_scope.shield = True
        if not isinstance(error, anyio.get_cancelled_exc_class()):
            # Ours is not the caller's task group: their error leaves as it is.
            kind = error = traceback = None
        try:
            await self._tasks.__aexit__(kind, error, traceback)
        finally:
            closing.wait(_CLOSE_S)  # its address is free after that

    async def _serve(self, context: Any) -> None:
        with anyio.CancelScope(shield=True), suppress(pynng.Closed):
            while not self._closing:
                request = await context.arecv()
                answer = await self._judge(request)
                if self._closing:
                    return
                try:
                    await context.asend(answer)
                except (pynng.Timeout, pynng.MessageTooLarge) as error:
                    log.warning(DOOR_FAILED, detail=str(error))

    async def _judge(self, request: bytes) -> bytes:
        with anyio.CancelScope(deadline=anyio.current_time() + self._answer_s) as scope:
            self._under_way.add(scope)
            try:
                return await self._answer(request)
            except Exception:
                # One request must not close the door to all.
                log.exception(DOOR_FAILED, detail="the request raised")
                return NO_ANSWER
            finally:
                self._under_way.discard(scope)
        log.warning(DOOR_FAILED, detail="the request took too long")
        return NO_ANSWER
