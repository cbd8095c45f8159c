"""Requests that wait for their shard to have an owner that can be reached.

When a node dies, its shards have another owner a moment later: who asks in between
waits here, instead of asking again and again. Bounded in number and in time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from ...runtime.frame import Request
from ...runtime.route import Route

__all__ = ["PARKED_MAX", "PARKED_S", "Parked", "ParkedRequest", "ParkedStatistics"]

PARKED_S = 1.5
"""Longer than a takeover after silence; shorter than a client waits for an answer."""

PARKED_MAX = 8192
"""Requests at one time; beyond, they are answered `no_owner` at once."""


@dataclass(frozen=True, slots=True)
class ParkedRequest:
    """One that waits, until when."""

    shard: int
    route: Route
    frame: Request
    until_s: float


@dataclass(frozen=True, slots=True)
class ParkedStatistics:
    """`waiting` is now; the others count since the start."""

    GAUGES: ClassVar[frozenset[str]] = frozenset({"waiting"})

    waiting: int
    parked: int
    expired: int


class Parked:
    """In the order in which they came. It knows no clock: time is an argument."""

    def __init__(self) -> None:
        self._waiting: list[ParkedRequest] = []
        self._parked = self._expired = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, shard: int, route: Route, frame: Request, now_s: float) -> bool:
        """Let it wait; False: too many do already."""
        if len(self._waiting) >= PARKED_MAX:
            return False
        self._parked += 1
        self._waiting.append(ParkedRequest(shard, route, frame, now_s + PARKED_S))
        return True

    def put_back(self, request: ParkedRequest) -> None:
        """It is not its turn yet after all."""
        self._waiting.append(request)

    def take(self, shards: Collection[int]) -> list[ParkedRequest]:
        """Those of these shards, which wait no longer."""
        taken = [request for request in self._waiting if request.shard in shards]
        if taken:
            self._waiting = [r for r in self._waiting if r.shard not in shards]
        return taken

    def take_all(self) -> list[ParkedRequest]:
        """All, which wait no longer."""
        taken, self._waiting = self._waiting, []
        return taken

    def expired(self, now_s: float) -> list[ParkedRequest]:
        """Those that have waited long enough."""
        late = [request for request in self._waiting if request.until_s <= now_s]
        if late:
            self._waiting = [r for r in self._waiting if r.until_s > now_s]
            self._expired += len(late)
        return late

    def forget(self, peer: str) -> None:
        """Nobody waits behind that link any more."""
        if self._waiting:
            self._waiting = [r for r in self._waiting if r.route.peer != peer]

    def statistics(self) -> ParkedStatistics:
        return ParkedStatistics(len(self._waiting), self._parked, self._expired)
