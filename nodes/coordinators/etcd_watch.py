"""One watch on etcd: its own connection, read by a task of its own.

Rules: a watch begins after a revision, so that it may be opened again from the last
change it gave, and misses nothing. etcd is silent when nothing changes, and so is a
connection that leads nowhere: after `SILENT_S` it is opened anew. It insists on a
member that has a leader: another one would be silent for ever. It ends by closing
the connection; the gateway knows no other way.
"""

from __future__ import annotations

from contextlib import aclosing

import anyio
import httpx
import msgspec

from ...runtime.coordinator import Change
from ...runtime.errors import CoordinatorError, CoordinatorUnavailable, WatchCompacted
from .etcd_client import EtcdClient, post
from .etcd_wire import (
    WatchAnswer,
    WatchLine,
    decode,
    read_changes,
    read_error,
    watch_request,
)

__all__ = ["SILENT_S", "EtcdWatch"]

SILENT_S = 5.0
"""Without a word for so long, a connection is not trusted any more."""

WAITING_MAX = 1024
"""Transactions read ahead of who watches; with one more the watch breaks."""

WATCH_PATH = "/v3/watch"
INSIST_ON_LEADER = {"Grpc-Metadata-hasleader": "true"}


class EtcdWatch:
    """An async iterator over transactions. `read` must run beside it."""

    def __init__(
        self, client: EtcdClient, prefix: str, revision: int, *, silent_s: float
    ) -> None:
        self._client = client
        self._prefix = prefix
        self._revision = revision
        self._timeout = httpx.Timeout(client.try_s, read=silent_s)
        self._failure: CoordinatorError | None = None
        self._send, self._receive = anyio.create_memory_object_stream[
            tuple[Change, ...]
        ](WAITING_MAX)

    def __aiter__(self) -> EtcdWatch:
        return self

    async def __anext__(self) -> tuple[Change, ...]:
        try:
            return await self._receive.receive()
        except anyio.EndOfStream:
            assert self._failure is not None
            raise self._failure from None

    def close(self) -> None:
        self._send.close()
        self._receive.close()

    async def read(self) -> None:
        """Read until it breaks or is cancelled; whoever iterates gets the error."""
        try:
            async with self._client.open_http() as http:
                while True:
                    await self._read_one(http)
        except CoordinatorError as error:
            self._failure = error
        finally:
            self._send.close()

    async def _read_one(self, http: httpx.AsyncClient) -> None:
        """Read one connection; return when it has been silent for too long."""
        endpoint = self._client.endpoint
        created = False
        failure: CoordinatorError | None = None
        body = msgspec.json.encode(watch_request(self._prefix, self._revision))
        request = post(endpoint + WATCH_PATH, body, self._timeout, INSIST_ON_LEADER)
        try:
            with anyio.CancelScope() as scope:
                response = await http.send(request, stream=True)
                async with aclosing(response):
                    # Nothing may wait or break out in here: httpx's generators are
                    # nested, and only an end or a cancelled read unwinds all of them.
                    async for line in response.aiter_lines():
                        if failure is not None:
                            continue
                        try:
                            created |= self._take(endpoint, line)
                        except CoordinatorError as error:
                            failure = error
                            scope.cancel()
        except httpx.ReadTimeout as error:
            if created:
                return
            failure = CoordinatorUnavailable(f"{endpoint} does not open a watch")
            failure.__cause__ = error
        except httpx.HTTPError as error:
            words = str(error) or type(error).__name__
            failure = CoordinatorUnavailable(f"the watch on {endpoint} broke: {words}")
            failure.__cause__ = error
        if not isinstance(failure, WatchCompacted):
            self._client.leave(endpoint)
        raise failure or CoordinatorUnavailable(f"{endpoint} ended the watch")

    def _take(self, endpoint: str, line: str) -> bool:
        """Hand on what one line tells; whether it says that the watch is open.

        Raises:
            CoordinatorError: As `_understand`; or nobody takes what was handed on.
        """
        answer = self._understand(endpoint, line)
        for changes in read_changes(answer):
            try:
                self._send.send_nowait(changes)
            except anyio.WouldBlock:
                raise CoordinatorUnavailable(
                    f"a watch is {WAITING_MAX} transactions behind: list again"
                ) from None
            self._revision = changes[-1].revision
        return answer.created

    def _understand(self, endpoint: str, line: str) -> WatchAnswer:
        """
        Raises:
            WatchCompacted: What it should begin with is gone.
            CoordinatorUnavailable: It ends, or is none.
        """
        refused = read_error(line)
        if refused is not None:
            raise CoordinatorUnavailable(f"etcd at {endpoint} says: {refused.message}")
        try:
            answer = decode(line, WatchLine).result
        except msgspec.MsgspecError as error:
            raise CoordinatorUnavailable(
                f"{endpoint} does not answer as etcd 3.4 or later: {error}"
            ) from error
        if answer is None:
            raise CoordinatorUnavailable(f"{endpoint} said nothing: {line[:80]!r}")
        self._client.check_cluster(endpoint, answer.header)
        if answer.compact_revision:
            raise WatchCompacted(
                f"changes after {self._revision} are gone, the oldest kept is"
                f" {answer.compact_revision}: list again"
            )
        if answer.canceled:
            raise CoordinatorUnavailable(
                f"etcd at {endpoint} cancelled the watch: {answer.cancel_reason}"
            )
        return answer
