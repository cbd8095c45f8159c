"""Where a request goes: to this node, to the owner, or nowhere.

Sans-I/O. The router knows the shard table and its own name; it is told what came
from whom and says what to do. A message is forwarded at most once: one that was
forwarded here and does not belong here is answered `moved`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...runtime.frame import CreateMatch, FetchTable, Moved, Refused, Request
from ...runtime.match_id import match_id
from ...runtime.pin_table import PinTable
from ...runtime.shard_table import ShardTable
from ...runtime.translate import refused

__all__ = ["Answer", "Forward", "Keep", "Router", "Verdict", "Wait"]


@dataclass(frozen=True, slots=True)
class Keep:
    """It belongs here."""

    shard: int


@dataclass(frozen=True, slots=True)
class Forward:
    """Send it to the owner, once."""

    shard: int
    epoch: int
    owner: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Nobody serves the shard now; somebody will soon, as far as can be known."""

    shard: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer it without asking a match."""

    frame: Moved | Refused


Verdict = Keep | Forward | Wait | Answer


class Router:
    """Decides by the shard table; `owned` holds the epochs that this node serves.

    `owned` is what this node itself has claimed, and wins over the table: the
    table is a hint that may be behind.
    """

    def __init__(self, node: str, shards: int, pins: PinTable | None = None) -> None:
        """`pins` says where pinned matches are; the caller keeps it up to date."""
        self._node = node
        self._pins = PinTable(shards) if pins is None else pins
        self._table: ShardTable | None = None
        self.owned: dict[int, int] = {}

    @property
    def node(self) -> str:
        """Who routes."""
        return self._node

    @property
    def table(self) -> ShardTable | None:
        """The newest table told, or None before the first."""
        return self._table

    def table_changed(self, table: ShardTable) -> None:
        """Route by this table from now on."""
        self._table = table

    def shard(self, frame: Request, principal: str) -> int:
        """The shard of the match that `frame` is about."""
        if isinstance(frame, CreateMatch):
            return self._pins.shard_of(match_id(principal, frame.key))
        if isinstance(frame, FetchTable):
            raise TypeError("FetchTable is about no match; answer it directly")
        return self._pins.shard_of(frame.match)

    def route(self, frame: Request, principal: str, *, forwarded: bool) -> Verdict:
        """Say what to do with one request about a match."""
        shard = self.shard(frame, principal)
        if shard in self.owned:
            return Keep(shard)
        table = self._table
        owner = table.owner(shard) if table is not None else ""
        if owner == self._node:
            # The record says so, but the claim of this boot has not landed yet.
            owner = ""
        if table is None:
            return Answer(refused(frame.request, "no_owner"))
        if not owner:
            return Wait(shard)
        if not forwarded:
            return Forward(shard, table.epoch(shard), owner)
        return Answer(Moved(frame.request, shard, table.epoch(shard), owner))
