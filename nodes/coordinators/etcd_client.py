"""Calls to the members of an etcd cluster, over its JSON gateway.

Rules: every try is short, and the next one asks the next member, until the whole call
is out of time; whoever answered last is asked first. A try that may have been carried
out, though no answer came, makes the answer of a later one `doubtful`. All members
must be of one cluster, and none may forget: what else is said is not believed.

No TLS and no passwords: etcd has to be on a network of its own.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import anyio
import httpx
import msgspec

from ...runtime.errors import CoordinatorUnavailable
from .etcd_wire import EtcdError, Header, decode, read_error

__all__ = ["Answered", "EtcdClient", "EtcdRefused", "LEASE_GONE", "LEASE_THERE", "post"]

TRY_S = 0.25
"""One try. A compare-and-swap takes 2 ms, a new leader 0.7 to 1.7 s; a member that
hangs costs this much."""

TOTAL_S = 2.0
"""A whole call: longer than the choice of a leader with etcd's own defaults."""

ROUND_PAUSE_S = 0.05
"""After all members have been asked in vain."""

CONNECTIONS_MAX = 32

INVALID, LEASE_GONE, LEASE_THERE, OUT_OF_RANGE = 3, 5, 9, 11
REFUSALS = frozenset({INVALID, LEASE_GONE, LEASE_THERE, OUT_OF_RANGE})
"""gRPC codes that say: understood, and not done. All others: not now, or not known."""


class Headed(Protocol):
    """An answer of etcd's."""

    @property
    def header(self) -> Header: ...


T = TypeVar("T", bound=Headed)


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """`doubtful`: an earlier try of this call may have been carried out too."""

    answer: T
    doubtful: bool


class EtcdRefused(Exception):
    """etcd understood, and did not do it."""

    def __init__(self, error: EtcdError, doubtful: bool) -> None:
        self.code = error.code or error.grpc_code
        self.doubtful = doubtful
        super().__init__(error.message)


class EtcdClient:
    """Use it as an async context manager."""

    def __init__(
        self,
        endpoints: Sequence[str],
        *,
        try_s: float = TRY_S,
        total_s: float = TOTAL_S,
    ) -> None:
        self._endpoints = tuple(endpoints)
        self._try_s = try_s
        self._total_s = total_s
        self._next = 0
        self._cluster_id = 0
        self._revision = 0
        self._http: httpx.AsyncClient | None = None

    async def __aenter__(self) -> EtcdClient:
        self._http = await self.open_http().__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        http, self._http = self._http, None
        if http is not None:
            with anyio.CancelScope(shield=True):
                await http.aclose()

    @property
    def endpoint(self) -> str:
        """The member that is asked first: `http://HOST:PORT`."""
        return self._endpoints[self._next]

    @property
    def try_s(self) -> float:
        return self._try_s

    def leave(self, endpoint: str) -> None:
        """It does not answer: ask the next one first, if nobody has said so yet."""
        if endpoint == self.endpoint:
            self._next = (self._next + 1) % len(self._endpoints)

    @staticmethod
    def open_http() -> httpx.AsyncClient:
        """Our settings: nothing of the environment's proxies, no certificates."""
        return httpx.AsyncClient(
            limits=httpx.Limits(max_connections=CONNECTIONS_MAX),
            trust_env=False,
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # trusts nobody; unused
        )

    def check_cluster(self, endpoint: str, header: Header) -> None:
        """
        Raises:
            CoordinatorUnavailable: It is of another cluster than those before.
        """
        if not header.cluster_id:
            raise CoordinatorUnavailable(f"{endpoint} does not say of which etcd it is")
        self._cluster_id = self._cluster_id or header.cluster_id
        if header.cluster_id != self._cluster_id:
            raise CoordinatorUnavailable(
                f"{endpoint} is of another etcd cluster ({header.cluster_id:x}) than"
                f" before ({self._cluster_id:x}): was it emptied, or a wrong address?"
            )

    def _check_revision(self, endpoint: str, revision: int, known: int) -> None:
        """An etcd with the same members has the same id, even when it was emptied.

        Raises:
            _TryFailed: It has forgotten what it had answered.
        """
        if revision < known:
            raise _TryFailed(
                f"etcd at {endpoint} has gone back from revision {known} to"
                f" {revision}: it was emptied, or restored from a backup. Stop the"
                " cluster before it is started on it",
                doubtful=True,
            )
        if known >= 0:
            self._revision = max(self._revision, revision)

    async def call(
        self,
        path: str,
        request: msgspec.Struct,
        answer: type[T],
        *,
        linearizable: bool = False,
        total_s: float | None = None,
    ) -> Answered[T]:
        """Ask one member after the other.

        `linearizable`: its answer's revision is never older than what was known.

        Raises:
            EtcdRefused: It cannot be done.
            CoordinatorUnavailable: No answer in time. It may have been done.
        """
        body = msgspec.json.encode(request)
        deadline_s = anyio.current_time() + (total_s or self._total_s)
        doubtful, tries = False, 0
        while True:
            endpoint = self.endpoint
            left_s = max(0.001, deadline_s - anyio.current_time())
            known = self._revision if linearizable else -1
            try:
                found = await self._try(endpoint, path, body, answer, left_s, doubtful)
                self._check_revision(endpoint, found.header.revision, known)
            except _TryFailed as failed:
                self.leave(endpoint)
                doubtful |= failed.doubtful
                tries += 1
                if anyio.current_time() + ROUND_PAUSE_S >= deadline_s:
                    raise CoordinatorUnavailable(str(failed)) from failed.__cause__
            else:
                return Answered(found, doubtful)
            if tries % len(self._endpoints) == 0:
                await anyio.sleep(ROUND_PAUSE_S)

    async def _try(
        self,
        endpoint: str,
        path: str,
        body: bytes,
        answer: type[T],
        left_s: float,
        doubtful: bool,
    ) -> T:
        if self._http is None:
            raise CoordinatorUnavailable("the connection to etcd is closed")
        try:
            timeout = httpx.Timeout(min(self._try_s, left_s))
            response = await self._http.send(post(endpoint + path, body, timeout))
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            reason = f"etcd at {endpoint} cannot be reached: {_words(error)}"
            raise _TryFailed(reason, doubtful=False) from error
        except httpx.HTTPError as error:
            reason = f"etcd at {endpoint} did not answer: {_words(error)}"
            raise _TryFailed(reason, doubtful=True) from error
        refused = read_error(response.content)
        if refused is not None:
            if (refused.code or refused.grpc_code) in REFUSALS:
                raise EtcdRefused(refused, doubtful)
            reason = f"etcd at {endpoint} says: {refused.message}"
            raise _TryFailed(reason, doubtful=True)
        try:
            if response.status_code != httpx.codes.OK:
                raise ValueError(f"status {response.status_code}")
            found = decode(response.content, answer)
            self.check_cluster(endpoint, found.header)
        except CoordinatorUnavailable as error:
            raise _TryFailed(str(error), doubtful=True) from error
        except ValueError as error:  # msgspec's are, too
            reason = f"{endpoint}{path} does not answer as etcd 3.4 or later: {error}"
            raise _TryFailed(reason, doubtful=True) from error
        return found


def post(
    url: str, body: bytes, timeout: httpx.Timeout, headers: dict[str, str] | None = None
) -> httpx.Request:
    """A request whose body is no async generator.

    httpx's own is one, and is left to the garbage collector when the connection
    breaks while it is sent: trio rightly warns.
    """
    own = {  # with a stream of ours, httpx adds none itself
        "Host": httpx.URL(url).netloc.decode("ascii"),
        "Content-Length": str(len(body)),
        "Content-Type": "application/json",
    }
    return httpx.Request(
        "POST",
        url,
        headers=own | (headers or {}),
        stream=_Body(body),
        extensions={"timeout": timeout.as_dict()},
    )


class _Body(httpx.AsyncByteStream):
    def __init__(self, body: bytes) -> None:
        self._body = body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _Once(self._body)


class _Once:
    def __init__(self, chunk: bytes) -> None:
        self._chunks = [chunk]

    def __aiter__(self) -> _Once:
        return self

    async def __anext__(self) -> bytes:
        if not self._chunks:
            raise StopAsyncIteration
        return self._chunks.pop()


class _TryFailed(Exception):
    """`doubtful`: it may have been carried out, or may be yet."""

    def __init__(self, reason: str, *, doubtful: bool) -> None:
        self.doubtful = doubtful
        super().__init__(reason)


def _words(error: httpx.HTTPError) -> str:
    return str(error) or type(error).__name__
