"""A node's traffic: what arrived on links goes to matches, owners or clients.

One drain of the inbox is taken as a whole: what belongs here is handed to the
supervisor in one batch, the rest is forwarded, returned or answered. The switchboard
holds no match and decides no ownership.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import ClassVar, Protocol, get_args

import msgspec

from ..runtime.codec import decode_frame, encode_frame
from ..runtime.errors import CodecError, LinkError
from ..runtime.frame import (
    ClientGone,
    FetchTable,
    Forwarded,
    Frame,
    Request,
    Returned,
)
from ..runtime.link import (
    Arrival,
    Endpoint,
    Identity,
    LinkDownReason,
    LinkEvent,
    PeerDown,
    PeerUp,
)
from ..runtime.replication import message as replication
from ..runtime.route import Outlet, Route
from ..runtime.translate import refused
from .router import Answer, Forward, Router
from .telemetry import get_logger

__all__ = ["Matches", "Replicas", "Switchboard", "SwitchboardStatistics"]

REQUESTS: tuple[type, ...] = get_args(Request)
REPLICATION: tuple[type, ...] = get_args(replication.Message)

log = get_logger()

Batch = list[tuple[Route, Request]]


class Matches(Protocol):
    """What the switchboard asks of the supervisor."""

    def handle_batch(self, requests: Iterable[tuple[Route, Request]]) -> None: ...

    def peer_gone(self, peer: str) -> None: ...

    def client_gone(self, peer: str, client: str) -> None: ...


class Replicas(Protocol):
    """What the switchboard tells whoever keeps copies of shards with other nodes."""

    def batch(self) -> AbstractContextManager[None]: ...

    def received(self, node: str, message: replication.Message) -> None: ...

    def link_up(self, node: str, inbox: str) -> None: ...

    def link_down(self, node: str, reason: LinkDownReason) -> None: ...


@dataclass(frozen=True, slots=True)
class SwitchboardStatistics:
    """Frames since the start. `misplaced`: no frame for a node from that peer."""

    GAUGES: ClassVar[frozenset[str]] = frozenset()

    kept: int
    forwarded: int
    returned: int
    answered: int
    misplaced: int
    replicated: int


class Switchboard:
    """Sorts what one node receives."""

    def __init__(
        self,
        endpoint: Endpoint,
        outlet: Outlet,
        router: Router,
        matches: Matches,
        replicas: Replicas | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._outlet = outlet
        self._router = router
        self._matches = matches
        self._replicas = replicas
        self._peers: dict[str, Identity] = {}
        # For each client of ours: the owners that we forwarded its frames to.
        self._asked: defaultdict[str, set[str]] = defaultdict(set)
        self._kept = self._forwarded = self._returned = 0
        self._answered = self._misplaced = self._replicated = 0

    def take(self, events: Iterable[LinkEvent]) -> None:
        """Sort all that one drain of the inbox brought."""
        with nullcontext() if self._replicas is None else self._replicas.batch():
            self._sort(events)

    def _sort(self, events: Iterable[LinkEvent]) -> None:
        batch: Batch = []
        for event in events:
            if isinstance(event, Arrival):
                self._arrived(event, batch)
            elif isinstance(event, PeerUp):
                self._up(event)
            else:
                self._flush(batch)
                self._down(event)
        self._flush(batch)

    def reached(self, processes: Iterable[str]) -> bool:
        """Whether each of these has proved itself on a link to us."""
        return all(process in self._peers for process in processes)

    def statistics(self) -> SwitchboardStatistics:
        return SwitchboardStatistics(
            self._kept,
            self._forwarded,
            self._returned,
            self._answered,
            self._misplaced,
            self._replicated,
        )

    def _flush(self, batch: Batch) -> None:
        if batch:
            self._kept += len(batch)
            self._matches.handle_batch(batch)
            batch.clear()

    def _arrived(self, arrival: Arrival, batch: Batch) -> None:
        peer = self._peers.get(arrival.process)
        if peer is None:
            return  # its link went down within this drain
        frame = arrival.frame
        if isinstance(frame, REQUESTS):
            route = Route(peer.process, None, peer.principal)
            self._request(route, frame, batch)  # type: ignore[arg-type]
        elif peer.kind == "node":
            self._from_node(peer, frame, batch)
        else:
            self._misplace(peer, frame)

    def _from_node(self, peer: Identity, frame: Frame, batch: Batch) -> None:
        if isinstance(frame, REPLICATION) and self._replicas is not None:
            self._replicated += 1
            self._replicas.received(peer.process, frame)  # type: ignore[arg-type]
        elif isinstance(frame, Forwarded):
            try:
                inner = decode_frame(frame.frame)
            except CodecError as error:
                self._misplace(peer, frame, error)
                return
            if not isinstance(inner, REQUESTS):
                self._misplace(peer, inner)
                return
            route = Route(peer.process, frame.client, frame.principal)
            self._request(route, inner, batch)  # type: ignore[arg-type]
        elif isinstance(frame, Returned):
            self._return(peer, frame)
        elif isinstance(frame, ClientGone):
            self._matches.client_gone(peer.process, frame.client)
        else:
            self._misplace(peer, frame)

    def _request(self, route: Route, frame: Request, batch: Batch) -> None:
        if isinstance(frame, FetchTable):
            self._answered += 1
            table = self._router.table
            self._outlet.deliver(
                route,
                refused(frame.request, "no_owner", "This node is still starting.")
                if table is None
                else table.snapshot(frame.request),
            )
            return
        verdict = self._router.route(
            frame, route.principal, forwarded=route.client is not None
        )
        if isinstance(verdict, Answer):
            self._answered += 1
            self._outlet.deliver(route, verdict.frame)
        elif isinstance(verdict, Forward):
            self._forward(route, frame, verdict.owner)
        else:
            batch.append((route, frame))

    def _forward(self, route: Route, frame: Request, owner: str) -> None:
        raw = msgspec.Raw(encode_frame(frame))
        try:
            self._endpoint.send(owner, Forwarded(route.peer, route.principal, raw))
        except CodecError as error:
            self._outlet.deliver(route, refused(frame.request, error.code, str(error)))
        except LinkError as error:
            code = "busy" if error.code == "busy" else "no_owner"
            self._outlet.deliver(route, refused(frame.request, code))
        else:
            self._forwarded += 1
            self._asked[route.peer].add(owner)

    def _return(self, peer: Identity, frame: Returned) -> None:
        if frame.client not in self._peers:
            self._tell(peer.process, ClientGone(frame.client))
            return
        try:
            inner = decode_frame(frame.frame)
            self._endpoint.send(frame.client, inner)
        except CodecError as error:
            self._misplace(peer, frame, error)
        except LinkError as error:
            log.debug("answer_dropped", peer=frame.client, code=error.code)
        else:
            self._returned += 1

    def _up(self, event: PeerUp) -> None:
        self._peers[event.peer.process] = event.peer
        if event.peer.kind == "node" and self._replicas is not None:
            self._replicas.link_up(event.peer.process, event.address.inbox)

    def _down(self, event: PeerDown) -> None:
        peer = self._peers.pop(event.process, None)
        if peer is not None and peer.kind == "node" and self._replicas is not None:
            self._replicas.link_down(event.process, event.reason)
        self._matches.peer_gone(event.process)
        for owner in self._asked.pop(event.process, ()):
            self._tell(owner, ClientGone(event.process))

    def _tell(self, process: str, frame: Frame) -> None:
        try:
            self._endpoint.send(process, frame)
        except LinkError as error:
            # A node that cannot be told will find our link down, and forget all
            # that came through it.
            log.debug("answer_dropped", peer=process, code=error.code)

    def _misplace(
        self, peer: Identity, frame: Frame, error: CodecError | None = None
    ) -> None:
        self._misplaced += 1
        log.warning(
            "frame_misplaced",
            peer=peer.process,
            kind=peer.kind,
            frame=type(frame).__name__,
            error=None if error is None else str(error),
        )
