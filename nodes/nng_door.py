"""The door for commands: one request, one answer, over nng's REQ and REP.

REP contexts have no poll descriptor, so the server, and only it, uses asend and
arecv: with nng's own timeouts and never where a cancel scope can reach them, which
would leak messages and lose completions. What waits in them is ended by closing its
context. The client drives one socket by its descriptors, as links do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any

import anyio
import anyio.to_thread
import pynng
import structlog
from anyio.abc import TaskGroup

from ..runtime.errors import LinkError, LinkRefused
from ..runtime.wire import current_post
from .nng import post_quietly

__all__ = [
    "DOOR_CONCURRENCY",
    "DOOR_FAILED",
    "DOOR_MESSAGE_BYTES_MAX",
    "Answer",
    "DoorServer",
    "DoorTimeout",
    "DoorUnreachable",
    "door_request",
]

# Name of a log event.
DOOR_FAILED = "door_failed"

# Bytes of a request or an answer. nng drops the connection of a larger one.
DOOR_MESSAGE_BYTES_MAX = 1024 * 1024

# Requests answered at one time; further ones wait in nng, a connection each.
DOOR_CONCURRENCY = 8

# Seconds in which one request must be answered, and in which an answer must leave.
DOOR_ANSWER_S = 30.0
_SEND_MS = 2000

# The answer to a request that could not be answered: nil in msgpack.
_FAILED = b"\xc0"

Answer = Callable[[bytes], Awaitable[bytes]]

log = structlog.get_logger()


class DoorUnreachable(LinkError):
    """Nobody listens at the door, or they went away before answering."""

    code = "door_unreachable"


class DoorTimeout(LinkError):
    """The door is there but did not answer in time."""

    code = "door_timeout"


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
        self._socket = pynng.Rep0(
            recv_max_size=DOOR_MESSAGE_BYTES_MAX, send_timeout=_SEND_MS
        )
        try:
            listener = self._socket.listen(self._listen)
        except pynng.NNGException as error:
            self._socket.close()
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
        self._socket.close()
        # The tasks end by themselves: what they wait in is closed.
        self._tasks.cancel_scope.shield = True
        if not isinstance(error, anyio.get_cancelled_exc_class()):
            # Ours is not the caller's task group: their error leaves as it is.
            kind = error = traceback = None
        await self._tasks.__aexit__(kind, error, traceback)

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
                return _FAILED
            finally:
                self._under_way.discard(scope)
        log.warning(DOOR_FAILED, detail="the request took too long")
        return _FAILED


async def door_request(address: str, request: bytes, timeout_s: float) -> bytes:
    """Send one request to a door and return its answer.

    May be cancelled; the request may have been carried out all the same.

    Raises:
        DoorUnreachable: Nobody listens there, it is no address, or they went away
            before answering, or could not answer this request.
        DoorTimeout: No answer within `timeout_s`.
    """
    # resend -1: a request is asked once.
    socket: Any = pynng.Req0(recv_max_size=DOOR_MESSAGE_BYTES_MAX, resend_time=-1)
    # The descriptors do not tell that the connection was lost; the pipe does.
    lost = anyio.CancelScope()
    post = current_post()
    socket.add_post_pipe_remove_cb(lambda pipe: post_quietly(post, lost.cancel))
    descriptors: list[int] = []
    answer = _FAILED
    try:
        with anyio.fail_after(timeout_s), lost:
            # Dialling blocks until it is clear whether somebody is there.
            dial = partial(socket.dial, address, block=True)
            await anyio.to_thread.run_sync(dial, abandon_on_cancel=True)
            descriptors += (socket.send_fd, socket.recv_fd)
            await _when_ready(
                partial(socket.send, request, block=False), descriptors[0]
            )
            answer = await _when_ready(
                partial(socket.recv, block=False), descriptors[1]
            )
    except TimeoutError:
        if not descriptors:
            raise DoorUnreachable(f"nobody answers at {address}") from None
        raise DoorTimeout(f"{address} did not answer in {timeout_s:g} s") from None
    except pynng.NNGException as error:
        raise DoorUnreachable(f"cannot reach {address}: {error}") from error
    finally:
        for descriptor in descriptors:
            anyio.notify_closing(descriptor)
        socket.close()
    if lost.cancelled_caught:
        raise DoorUnreachable(f"{address} closed the connection before answering")
    if answer == _FAILED:
        raise DoorUnreachable(f"{address} failed on this request; see its log")
    return answer


async def _when_ready(action: Callable[[], Any], descriptor: int) -> Any:
    while True:
        try:
            return action()
        except pynng.TryAgain:
            await anyio.wait_readable(descriptor)
