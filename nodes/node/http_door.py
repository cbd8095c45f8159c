"""A small HTTP door for those who watch a node: GET of a few fixed paths.

Players never come here. One request per connection, which is bounded in time and
size; what a page says is made on the event loop, so it is of one moment. h11 knows
the protocol; this file moves its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType

import anyio
import h11
from anyio.abc import Listener, SocketAttribute, SocketStream, TaskGroup

from ...runtime.errors import LinkRefused

__all__ = ["HttpDoor", "Page"]

REQUEST_BYTES_MAX = 16 * 1024
RECEIVE_BYTES = 4096

ANSWER_S = 5.0
"""Seconds in which a request must come and its answer leave."""

CONNECTIONS_MAX = 32
"""At a time; one more is closed at once."""


@dataclass(frozen=True, slots=True)
class Page:
    """An answer."""

    body: bytes
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"


class HttpDoor:
    """Serves pages at one address. Use it as an async context manager.

    A page that raises is answered with status 500, and the error is given to `failed`.
    """

    def __init__(
        self,
        address: str,
        pages: Mapping[str, Callable[[], Page]],
        *,
        failed: Callable[[str, Exception], None],
    ) -> None:
        """`address` is HOST:PORT; port 0 takes a free one."""
        self._host, _, port = address.rpartition(":")
        self._port = int(port)
        self._pages = dict(pages)
        self._failed = failed
        self._open = 0
        self._tasks: TaskGroup

    @property
    def url(self) -> str:
        """Where it listens (with the port that was taken, once entered)."""
        return f"http://{self._host}:{self._port}"

    async def __aenter__(self) -> HttpDoor:
        """Open the door.

        Raises:
            LinkRefused: It cannot be opened there.
        """
        host = self._host.removeprefix("[").removesuffix("]")
        try:
            listener = await anyio.create_tcp_listener(
                local_host=host, local_port=self._port
            )
        except OSError as error:
            raise LinkRefused(
                f"cannot open {self.url} for metrics: {error.strerror or error}"
            ) from error
        self._port = listener.extra(SocketAttribute.local_port)
        self._tasks = await anyio.create_task_group().__aenter__()
        self._tasks.start_soon(self._listen, listener)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._tasks.cancel_scope.cancel()
        if not isinstance(error, anyio.get_cancelled_exc_class()):
            # Ours is not the caller's task group: their error leaves as it is, and no
            # cancellation from further out takes its place.
            self._tasks.cancel_scope.shield = error is not None
            kind = error = traceback = None
        await self._tasks.__aexit__(kind, error, traceback)

    async def _listen(self, listener: Listener[SocketStream]) -> None:
        async with listener:
            await listener.serve(self._serve)

    async def _serve(self, stream: SocketStream) -> None:
        async with stream:
            if self._open >= CONNECTIONS_MAX:
                return
            self._open += 1
            try:
                with anyio.move_on_after(ANSWER_S):
                    await self._answer(stream)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass  # they went away
            finally:
                self._open -= 1

    async def _answer(self, stream: SocketStream) -> None:
        connection = h11.Connection(
            h11.SERVER, max_incomplete_event_size=REQUEST_BYTES_MAX
        )
        request: h11.Request | None = None
        try:
            while True:
                event = connection.next_event()
                if event is h11.NEED_DATA:
                    connection.receive_data(await _received(stream))
                elif isinstance(event, h11.Request):
                    request = event
                elif isinstance(event, h11.EndOfMessage) and request is not None:
                    page = self._page(request)
                    break
                elif isinstance(event, h11.ConnectionClosed):
                    return
        except h11.RemoteProtocolError as error:
            page = Page(b"malformed request\n", error.error_status_hint)
        headers = [
            ("content-type", page.content_type),
            ("content-length", str(len(page.body))),
            ("connection", "close"),
        ]
        head = request is not None and request.method == b"HEAD"
        response = h11.Response(status_code=page.status, headers=headers)
        parts: list[h11.Event] = [response]
        parts += [] if head else [h11.Data(data=page.body)]
        parts.append(h11.EndOfMessage())
        await stream.send(b"".join(connection.send(part) or b"" for part in parts))

    def _page(self, request: h11.Request) -> Page:
        path = request.target.decode("ascii", "replace").partition("?")[0]
        make = self._pages.get(path)
        if make is None:
            known = ", ".join(sorted(self._pages))
            return Page(f"there is {known}\n".encode(), 404)
        if request.method not in (b"GET", b"HEAD"):
            return Page(b"only GET\n", 405)
        try:
            return make()
        except Exception as error:
            self._failed(path, error)  # one bad page must not end the node
            return Page(b"this page failed; the node's log says why\n", 500)


async def _received(stream: SocketStream) -> bytes:
    try:
        return await stream.receive(RECEIVE_BYTES)
    except anyio.EndOfStream:
        return b""
