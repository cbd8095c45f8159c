"""A gateway: what all connections share. It holds nothing that a match needs.

A seat has one connection at a time; a newer one ends the older. The cluster's nodes see
to that between gateways, this file between the connections of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

import anyio

from ...config import GatewayConfig
from ...runtime.clock import Clock, SystemClock
from ...runtime.games import GameRegistry
from ..client import Client
from ..lobby.door import Doors
from ..tokens import Grant, TokenError, Tokens
from .bucket import Buckets
from .close_code import CloseCode
from .origins import Origins
from .replays import Replays

__all__ = ["Connected", "Counts", "Gateway", "GatewayStatistics"]

ADDRESSES_MAX = 10_000
"""Whose wrong tokens are remembered; beyond it, those seen longest ago are not."""

TOKEN_FAILURES_BURST = 10

JOINS_PER_S, JOINS_BURST = 0.2, 20
"""How often a seat may be taken anew: each time is a record in the match's log."""

LOBBIES_BURST = 10


@dataclass(frozen=True, slots=True)
class GatewayStatistics:
    """Some are of now, those of `GAUGES`; the others count since the start."""

    GAUGES: ClassVar[frozenset[str]] = frozenset({"connections", "seats", "lobbies"})

    connections: int
    seats: int
    """Of the connections, those that play."""
    lobbies: int
    """Lobbies in which somebody is who has a connection here."""
    opened: int
    """Connections that were let in."""
    refused: int
    """Connections that were not: no good token, or no room."""
    replaced: int
    """Connections whose seat a newer one has."""
    let_go: int
    """Connections of who did not read, gave no sign of life, or said far too much."""
    messages_in: int
    messages_out: int
    bytes_in: int
    bytes_out: int
    batches: int
    """`batch_applied` told, of connections that have ended."""
    snapshots: int
    """Snapshots told, of connections that have ended."""
    rejected: int
    """`action_rejected` told, of connections that have ended."""
    busy: int
    """Messages and requests that came too fast."""
    requests: int
    """Of the HTTP API."""


@dataclass(slots=True)
class Counts:
    """What connections and pages add to, since the start."""

    opened: int = 0
    refused: int = 0
    replaced: int = 0
    let_go: int = 0
    messages_in: int = 0
    messages_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    batches: int = 0
    snapshots: int = 0
    rejected: int = 0
    busy: int = 0
    requests: int = 0


class Connected(Protocol):
    """A connection that is served."""

    place: tuple[str, str]
    """Match and seat; a spectator's seat is "". """
    session: int

    def end(self, code: CloseCode, reason: str) -> None: ...


class Gateway:
    """The parts of one gateway, joined. `url` is where players reach it."""

    def __init__(
        self,
        client: Client,
        tokens: Tokens,
        seat_secret: Callable[[str, str], str],
        games: GameRegistry,
        options: GatewayConfig,
        url: str,
        clock: Clock | None = None,
        place: Path | None = None,
    ) -> None:
        """`place` is the folder of the cluster; without one there is nothing of the
        cluster to show to operators."""
        self.client = client
        self.games = games
        self.place = place
        self.clock = clock or SystemClock()
        self.tokens = tokens
        self.seat_secret = seat_secret
        self.options = options
        self.replays = Replays(games)
        self.doors = Doors(client, seat_secret)
        self.url = url
        self.own_bots: tuple[str, ...] = ()
        """Bots that lobbies may have beside ours, by id."""
        self.origins = Origins(options.allowed_origins, options.public_url)
        self.counts = Counts()
        self.stopping = False
        self._failures = Buckets(
            options.token_failures_per_min / 60, TOKEN_FAILURES_BURST, ADDRESSES_MAX
        )
        self.requests = Buckets(
            options.messages_per_s, options.messages_burst, ADDRESSES_MAX
        )
        """How often each token may ask the API."""
        self.joins = Buckets(JOINS_PER_S, JOINS_BURST, ADDRESSES_MAX)
        self.lobbies = Buckets(
            options.lobbies_per_min / 60, LOBBIES_BURST, ADDRESSES_MAX
        )
        """How often an address may open a lobby without a token."""
        self._connections: set[Connected] = set()
        self._seats: dict[tuple[str, str], Connected] = {}
        self._empty = anyio.Event()  # set: it stops, and the last player has left

    def admit(self, token: str | None, address: str) -> Grant:
        """What the token grants. A good one always does: behind a proxy many players
        have one address. Wrong ones are counted against it.

        Raises:
            TokenError: It is not accepted.
            TooManyFailures: The same, after too many wrong ones of that address.
        """
        try:
            return self.tokens.read(token)
        except TokenError as error:
            if self._failures.take(address, anyio.current_time()):
                raise
            raise TooManyFailures from error

    @property
    def ready(self) -> bool:
        """Whether players may come: it reaches the cluster, and does not stop."""
        return self.client.reachable and not self.stopping

    @property
    def full(self) -> bool:
        return len(self._connections) >= self.options.connections_max

    def enter(self, connection: Connected) -> None:
        """Serve it. Of two connections of a seat the one with the newer session stays;
        the other is ended."""
        self._connections.add(connection)
        place = connection.place
        if not place[1]:
            return
        other = self._seats.get(place)
        if other is not None and other.session > connection.session:
            self.replace(connection)
            return
        self._seats[place] = connection
        if other is not None:
            self.replace(other)

    def replace(self, connection: Connected) -> None:
        """A newer connection has its seat."""
        self.counts.replaced += 1
        connection.end(CloseCode.REPLACED, "replaced")

    def leave(self, connection: Connected) -> None:
        """It is served no more. Idempotent."""
        self._connections.discard(connection)
        if self._seats.get(connection.place) is connection:
            del self._seats[connection.place]
        if self.stopping and not self._connections:
            self._empty.set()

    async def stop(self) -> None:
        """Let all players go: they find another gateway, or this one's successor."""
        self.stopping = True
        for connection in tuple(self._connections):
            connection.end(CloseCode.RESTART, "stopping")
        if self._connections:
            await self._empty.wait()

    def statistics(self) -> GatewayStatistics:
        counts = self.counts
        return GatewayStatistics(
            len(self._connections),
            len(self._seats),
            len(self.doors),
            *(getattr(counts, name) for name in Counts.__slots__),
        )


class TooManyFailures(Exception):
    """Too many wrong tokens came from one address: not even why is told any more."""
