"""Where results go: a file, a web service. One delivery at a time is one call.

A sink may be given the same result again: at least once is the promise. Its key,
`MATCH:INDEX` (the record that ended the match), is the same each time, wherever it
comes from.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import anyio.to_thread

from ...engine.frozen import thaw
from ...engine.jsonvalue import Json
from ...runtime.match_state import MatchState

if TYPE_CHECKING:
    import httpx

__all__ = [
    "KEY_HEADER",
    "FileSink",
    "MatchResult",
    "ResultNotDelivered",
    "ResultSink",
    "WebhookSink",
    "result_of",
]

KEY_HEADER = "Idempotency-Key"
"""Of a POST: the result's key. Who has seen it answers 2xx, and does nothing."""

_REASON_LENGTH_MAX = 200


class ResultNotDelivered(Exception):
    """The sink does not have the result, or did not say that it has."""


@dataclass(frozen=True, slots=True)
class MatchResult:
    """What is told of a match that ended."""

    key: str
    match: str
    index: int
    """Of the record that ended it."""
    game: str
    version: str
    seats: tuple[str, ...]
    result: Json
    revision: int
    ended_ms: int

    def to_json(self) -> dict[str, Any]:
        """Fields as a receiver gets them."""
        return asdict(self) | {"seats": list(self.seats)}


def result_of(state: MatchState) -> MatchResult:
    """The result of a match that ended and is not reported."""
    game = state.machine.game
    return MatchResult(
        key=f"{state.match}:{state.index}",
        match=state.match,
        index=state.index,
        game=game.name,
        version=game.version,
        seats=tuple(state.seats),
        result=thaw(state.snapshot.meta.result),
        revision=state.revision,
        ended_ms=state.time_ms,
    )


class ResultSink(Protocol):
    """Takes results. Use it as an async context manager."""

    @property
    def name(self) -> str:
        """As log lines call it."""

    async def __aenter__(self) -> ResultSink: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool | None: ...

    async def deliver(self, result: MatchResult) -> None:
        """Return when the receiver has it.

        Raises:
            ResultNotDelivered: It has not, or does not say so.
        """


class FileSink:
    """Appends lines of JSON; returns when they are on the disk. Mode 0600."""

    name = "file"

    def __init__(self, path: Path) -> None:
        self.path = path

    async def __aenter__(self) -> FileSink:
        self._one = anyio.CapacityLimiter(1)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    async def deliver(self, result: MatchResult) -> None:
        """Append a line and sync the file.

        Raises:
            ResultNotDelivered: It cannot be written.
        """
        line = json.dumps(result.to_json(), ensure_ascii=False).encode() + b"\n"
        try:
            await anyio.to_thread.run_sync(self._append, line, limiter=self._one)
        except OSError as error:
            raise ResultNotDelivered(f"{self.path}: {error}") from error

    def _append(self, line: bytes) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        file = os.open(self.path, flags, 0o600)
        try:
            end = os.fstat(file).st_size
            if end and os.pread(file, 1, end - 1) != b"\n":
                line = b"\n" + line  # what was torn stays a line of its own
            if os.write(file, line) != len(line):
                raise OSError("the line was written in part only")
            os.fsync(file)
            if not end:
                self._keep_name()
        finally:
            os.close(file)

    def _keep_name(self) -> None:
        """The name of a file that is new must be durable too."""
        folder = os.open(self.path.absolute().parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class WebhookSink:
    """POSTs JSON to a URL; any 2xx says that the receiver has it."""

    name = "webhook"

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._transport = transport

    async def __aenter__(self) -> WebhookSink:
        import httpx  # only where a webhook is configured: it costs a start 70 ms

        self._failures = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError)
        self._client = httpx.AsyncClient(
            timeout=self._timeout_s, transport=self._transport, follow_redirects=False
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self._client.aclose()

    async def deliver(self, result: MatchResult) -> None:
        """POST the result.

        Raises:
            ResultNotDelivered: No 2xx came in time.
        """
        headers = {KEY_HEADER: result.key}
        try:
            # httpx's timeout is for each step; this one is for all of it.
            with anyio.fail_after(self._timeout_s):
                # Only the status: what a receiver says more is not read at all.
                async with self._client.stream(
                    "POST", self._url, json=result.to_json(), headers=headers
                ) as response:
                    status = response.status_code
        except TimeoutError as error:
            raise ResultNotDelivered(f"no answer in {self._timeout_s:g} s") from error
        except self._failures as error:
            why = str(error)[:_REASON_LENGTH_MAX] or type(error).__name__
            raise ResultNotDelivered(why) from error
        if not 200 <= status < 300:
            raise ResultNotDelivered(f"the receiver answered {status}")
