"""The coordinator in etcd v3, for clusters of several machines.

Over the JSON gateway: nothing that is maintained speaks gRPC on trio. A session is a
lease. Leases are kept alive by calls, not by a stream, and expire late: when etcd
changes its leader, each starts anew.

Rules: a compare-and-swap that was tried more than once is `CasOk` if a try says so,
and otherwise `CasUnknown`, since the keys may have been moved by an earlier try. The
store's revision is etcd's own: other users of the same etcd move it too.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import anyio

from ...runtime.coordinator import (
    CasConflict,
    CasOutcome,
    CasUnknown,
    Change,
    Listing,
    Write,
    check_writes,
)
from ...runtime.coordinator_address import etcd_endpoints
from ...runtime.errors import CoordinatorUnavailable
from ..block_failure import BlockFailure
from ..telemetry import get_logger
from .etcd_client import (
    LEASE_GONE,
    LEASE_THERE,
    TOTAL_S,
    TRY_S,
    EtcdClient,
    EtcdRefused,
)
from .etcd_watch import SILENT_S, EtcdWatch
from .etcd_wire import (
    Answer,
    GrantAnswer,
    KeepAliveLine,
    MalformedAnswer,
    RangeAnswer,
    TxnAnswer,
    grant_request,
    lease_request,
    range_request,
    read_listing,
    read_txn,
    txn_request,
)
from .kept_session import kept_session

__all__ = ["EtcdCoordinator", "EtcdSession"]

RANGE_PATH = "/v3/kv/range"
TXN_PATH = "/v3/kv/txn"
GRANT_PATH = "/v3/lease/grant"
KEEP_ALIVE_PATH = "/v3/lease/keepalive"
REVOKE_PATH = "/v3/lease/revoke"

LEASE_BITS = 62
"""Of an id that we draw: positive as an int64."""

REVOKE_S = 1.0
"""How long the end of a session may take; else the lease runs out by itself."""

log = get_logger()


class EtcdCoordinator:
    """Implements `Coordinator`. It may be entered before etcd is there."""

    def __init__(
        self,
        address: str,
        *,
        try_s: float = TRY_S,
        total_s: float = TOTAL_S,
        silent_s: float = SILENT_S,
    ) -> None:
        """`address`: `etcd://HOST:PORT[,HOST:PORT...]`.

        Raises:
            ValueError: It is no such address.
        """
        self._client = EtcdClient(etcd_endpoints(address), try_s=try_s, total_s=total_s)
        self._silent_s = silent_s
        self._is_open = False

    async def __aenter__(self) -> EtcdCoordinator:
        await self._client.__aenter__()
        self._is_open = True
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._is_open = False
        await self._client.__aexit__(*exc_info)

    async def list(self, prefix: str) -> Listing:
        """Linearizable read of all keys under `prefix`.

        Raises:
            CoordinatorUnavailable: No answer in time, or no quorum.
        """
        try:
            answered = await self._client.call(
                RANGE_PATH, range_request(prefix), RangeAnswer, linearizable=True
            )
        except EtcdRefused as error:
            raise _refused(error) from error
        return read_listing(answered.answer)

    async def cas_many(self, writes: Sequence[Write]) -> CasOutcome:
        """Apply all writes or none.

        Raises:
            ValueError: See `Coordinator.cas_many`.
        """
        check_writes(writes)
        try:
            answered = await self._client.call(
                TXN_PATH, txn_request(writes), TxnAnswer, linearizable=True
            )
            outcome: CasOutcome = read_txn(answered.answer, writes)
            doubtful = answered.doubtful
        except (CoordinatorUnavailable, MalformedAnswer) as error:
            return CasUnknown(str(error))
        except EtcdRefused as error:
            held = tuple(write.key for write in writes if write.session is not None)
            if error.code != LEASE_GONE or not held:
                return CasUnknown(f"etcd refuses: {error}")
            outcome, doubtful = CasConflict(held), error.doubtful
        if doubtful and isinstance(outcome, CasConflict):
            return CasUnknown("it was tried more than once, and an earlier try counted")
        return outcome

    @asynccontextmanager
    async def session(self, ttl_s: float) -> AsyncIterator[EtcdSession]:
        """A lease of whole seconds, kept alive until the block ends.

        Raises:
            CoordinatorUnavailable: The lease cannot be had.
        """
        session = EtcdSession(str(secrets.randbits(LEASE_BITS) + 1))
        await self._grant(session, math.ceil(ttl_s))
        renew = partial(self._renew, period_s=ttl_s / 3)
        async with kept_session(session, renew, self._end):
            yield session

    @asynccontextmanager
    async def watch(
        self, prefix: str, from_revision: int
    ) -> AsyncIterator[AsyncIterator[tuple[Change, ...]]]:
        """Changes under `prefix` after `from_revision`; see `Coordinator.watch`."""
        if not self._is_open:
            raise CoordinatorUnavailable("the connection to etcd is closed")
        watch = EtcdWatch(self._client, prefix, from_revision, silent_s=self._silent_s)
        with BlockFailure() as failure:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(watch.read)
                    with failure.kept():
                        yield watch
                    tasks.cancel_scope.cancel()
            finally:
                watch.close()

    async def _grant(self, session: EtcdSession, ttl_s: int) -> None:
        try:
            await self._client.call(
                GRANT_PATH, grant_request(session.id, ttl_s), GrantAnswer
            )
        except EtcdRefused as error:
            # an earlier try was carried out after all
            if not (error.doubtful and error.code == LEASE_THERE):
                raise _refused(error) from error

    async def _renew(self, session: EtcdSession, period_s: float) -> None:
        while not session.lost:
            await anyio.sleep(period_s)
            try:
                answered = await self._client.call(
                    KEEP_ALIVE_PATH,
                    lease_request(session.id),
                    KeepAliveLine,
                    total_s=period_s,
                )
            except (CoordinatorUnavailable, EtcdRefused) as error:
                log.warning("session_not_renewed", session=session.id, error=str(error))
            else:
                kept = answered.answer.result
                session.lost = kept is None or kept.TTL <= 0

    async def _end(self, session: EtcdSession) -> None:
        session.lost = True
        try:
            await self._client.call(
                REVOKE_PATH, lease_request(session.id), Answer, total_s=REVOKE_S
            )
        except EtcdRefused as error:
            if error.code != LEASE_GONE:
                log.warning(
                    "session_left_to_expire", session=session.id, error=str(error)
                )
        except CoordinatorUnavailable as error:
            log.warning("session_left_to_expire", session=session.id, error=str(error))


class EtcdSession:
    """Implements `Session`. `id` is the lease's, in decimal."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.lost = False


def _refused(error: EtcdRefused) -> CoordinatorUnavailable:
    return CoordinatorUnavailable(f"etcd refuses: {error}")
