"""A node's traffic: what arrived on links goes to matches, owners or clients.

One drain of the inbox is taken as a whole: what belongs here is handed to the
supervisor in one batch, the rest is forwarded, returned or answered. What belongs to
nobody now, as its owner has just gone, waits for the next owner. The switchboard holds
no match and decides no ownership.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeGuard, get_args

import msgspec

from ...runtime.codec import decode_frame, encode_frame
from ...runtime.errors import CodecError, LinkError
from ...runtime.frame import (
    ClientGone,
    FetchTable,
    Forwarded,
    Frame,
    Moved,
    NodeEntry,
    Request,
    Returned,
)
from ...runtime.link import (
    Arrival,
    Endpoint,
    Identity,
    LinkDownReason,
    LinkEvent,
    PeerDown,
    PeerUp,
)
from ...runtime.replication import message as replication
from ...runtime.route import Outlet, Route
from ...runtime.shard_table import ShardTable
from ...runtime.traces import Traces
from ...runtime.translate import refused
from ..telemetry import get_logger
from .parked import Parked, ParkedStatistics
from .router import Answer, Forward, Keep, Router, Verdict, Wait

__all__ = ["Matches", "Replicas", "Switchboard", "SwitchboardStatistics"]

REQUESTS: tuple[type, ...] = get_args(Request)
REPLICATION: tuple[type, ...] = get_args(replication.Message)

IN_FLIGHT_MAX = 8192
"""Forwarded requests that are remembered for one owner: if it goes, who asked is told.
"""

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
    """Frames since the start. `misplaced`: no frame for a node from that peer.
    `abandoned`: forwarded to an owner that went before it answered."""

    GAUGES: ClassVar[frozenset[str]] = frozenset()

    kept: int
    forwarded: int
    returned: int
    answered: int
    misplaced: int
    replicated: int
    abandoned: int
    parked: ParkedStatistics


class Switchboard:
    """Sorts what one node receives."""

    def __init__(
        self,
        endpoint: Endpoint,
        outlet: Outlet,
        router: Router,
        matches: Matches,
        replicas: Replicas | None = None,
        clock: Callable[[], float] = time.monotonic,
        traces: Traces | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._outlet = outlet
        self._router = router
        self._matches = matches
        self._replicas = replicas
        self._peers: dict[str, Identity] = {}
        # For each client of ours: the owners that we forwarded its frames to.
        self._asked: defaultdict[str, set[str]] = defaultdict(set)
        # For each owner: the requests that were forwarded to it, without an answer.
        self._in_flight: defaultdict[str, dict[tuple[str, int], None]] = defaultdict(
            dict
        )
        # For each client of ours: the epochs of the owners that it was told of.
        self._told: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._announced: dict[int, int] = {}  # epochs, by shard
        self._nodes: dict[str, NodeEntry] = {}  # as clients were told last
        self._parked = Parked()
        self._clock = clock
        self._traces = traces
        self._kept = self._forwarded = self._returned = 0
        self._answered = self._misplaced = self._replicated = self._abandoned = 0

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

    def ownership_changed(self, shards: Collection[int] | None = None) -> None:
        """These shards (None: perhaps any) have another owner, or one is reached
        again: what waits for that goes on."""
        if not len(self._parked):
            return
        parked = self._parked
        batch: Batch = []
        for waiting in parked.take_all() if shards is None else parked.take(shards):
            verdict = self._verdict(waiting.route, waiting.frame)
            if self._must_wait(verdict):
                parked.put_back(waiting)
            else:
                self._obey(verdict, waiting.route, waiting.frame, batch)
        self._flush(batch)

    def table_changed(self, table: ShardTable) -> None:
        """Tell the clients here of every shard that has another owner, and where the
        nodes are when one has come or gone.

        They need not find out by asking one that hangs, or is gone.
        """
        clients = [peer for peer in self._peers.values() if peer.kind == "client"]
        if dict(table.nodes) != self._nodes:
            self._nodes = dict(table.nodes)
            for peer in clients:
                route = Route(peer.process, None, peer.principal)
                self._outlet.deliver(route, table.snapshot(0))
        for shard in range(len(table)):
            epoch, owner = table.epoch(shard), table.owner(shard)
            if epoch > self._announced.get(shard, 0):
                self._announced[shard] = epoch
                for peer in clients:
                    self._tell_owner(peer.process, shard, epoch, owner)

    def tick(self) -> None:
        """Answer what has waited too long. To be called a few times a second."""
        for late in self._parked.expired(self._clock()):
            self._answered += 1
            self._outlet.deliver(late.route, refused(late.frame.request, "no_owner"))

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
            self._abandoned,
            self._parked.statistics(),
        )

    def _flush(self, batch: Batch) -> None:
        if batch:
            self._kept += len(batch)
            if self._traces is not None:
                self._traces.note_arrived(batch)
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
        verdict = self._verdict(route, frame)
        if self._must_wait(verdict):
            if not self._parked.put(verdict.shard, route, frame, self._clock()):
                self._answered += 1
                self._outlet.deliver(route, refused(frame.request, "no_owner"))
        else:
            self._obey(verdict, route, frame, batch)

    def _verdict(self, route: Route, frame: Request) -> Verdict:
        return self._router.route(
            frame, route.principal, forwarded=route.client is not None
        )

    def _must_wait(self, verdict: Verdict) -> TypeGuard[Wait | Forward]:
        """Whether there is nobody now who could take it."""
        if isinstance(verdict, Forward):
            return verdict.owner not in self._peers
        return isinstance(verdict, Wait)

    def _obey(
        self, verdict: Verdict, route: Route, frame: Request, batch: Batch
    ) -> None:
        if isinstance(verdict, Answer):
            self._answered += 1
            self._outlet.deliver(route, verdict.frame)
        elif isinstance(verdict, Forward):
            self._forward(route, frame, verdict)
        elif isinstance(verdict, Keep):
            batch.append((route, frame))

    def _forward(self, route: Route, frame: Request, verdict: Forward) -> None:
        owner = verdict.owner
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
            if self._traces is not None:
                self._traces.note_forwarded(route, frame, owner)
            self._asked[route.peer].add(owner)
            in_flight = self._in_flight[owner]
            if len(in_flight) < IN_FLIGHT_MAX:
                in_flight[route.peer, frame.request] = None
            self._tell_owner(route.peer, verdict.shard, verdict.epoch, owner)

    def _tell_owner(self, client: str, shard: int, epoch: int, owner: str) -> None:
        """Once, so that it may ask the owner itself the next time."""
        told = self._told[client]
        if told.get(shard) != epoch:
            told[shard] = epoch
            self._tell(client, Moved(0, shard, epoch, owner))

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
            request = getattr(inner, "request", 0)
            self._in_flight[peer.process].pop((frame.client, request), None)

    def _up(self, event: PeerUp) -> None:
        self._peers[event.peer.process] = event.peer
        if event.peer.kind == "node" and self._replicas is not None:
            self._replicas.link_up(event.peer.process, event.address.inbox)
        if event.peer.kind == "node":
            self.ownership_changed()

    def _down(self, event: PeerDown) -> None:
        peer = self._peers.pop(event.process, None)
        if peer is not None and peer.kind == "node" and self._replicas is not None:
            self._replicas.link_down(event.process, event.reason)
        self._matches.peer_gone(event.process)
        self._parked.forget(event.process)
        self._told.pop(event.process, None)
        for client, request in self._in_flight.pop(event.process, ()):
            self._abandoned += 1
            if client in self._peers:
                self._outlet.deliver(Route(client), refused(request, "retry"))
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
