"""Where a client sends what: the shard table as far as it is known.

Pure. It knows no time and no links; who is up is told to it. Newer knowledge wins:
a shard's owner by its epoch, an address by being told last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...runtime.control_plane import SHARDS_MAX
from ...runtime.frame import Moved, ShardEntry, TableSnapshot
from ...runtime.link import PeerAddress
from ...runtime.shard_table import ShardTable

__all__ = ["Routing"]


class Routing:
    """Owners of shards and addresses of nodes."""

    def __init__(self, *, direct: bool) -> None:
        self._direct = direct
        self._table: ShardTable | None = None
        self._addresses: dict[str, PeerAddress] = {}
        self._home = ""

    @property
    def home(self) -> str:
        """The node for everything that has no better place; "" if none is known."""
        return self._home

    @property
    def table(self) -> ShardTable | None:
        """The newest table told; None before the first."""
        return self._table

    def address(self, process: str) -> PeerAddress | None:
        return self._addresses.get(process)

    def located(self, addresses: Iterable[PeerAddress]) -> None:
        """Doors told these addresses."""
        for address in addresses:
            self._addresses[address.process] = address
            self._home = self._home or address.process

    def learn(self, snapshot: TableSnapshot) -> None:
        """Take over what is new in a table that a node sent."""
        if not snapshot.shards:
            return  # a node that knows nothing yet
        if self._table is None or len(self._table) != len(snapshot.shards):
            self._table = ShardTable.from_snapshot(snapshot)
        elif not self._table.merge(snapshot):
            return
        for node, entry in self._table.nodes.items():
            self._addresses[node] = PeerAddress(node, entry.inbox, entry.incarnation)

    def moved(self, moved: Moved) -> bool:
        """Take over one shard's owner. True: that was news."""
        if self._table is None:
            return False
        if not 0 <= moved.shard < len(self._table) and moved.shard < SHARDS_MAX:
            return False
        return self._table.apply((ShardEntry(moved.shard, moved.owner, moved.epoch),))

    def knows(self, shard: int) -> bool:
        """Whether it is known what is in the shard: of a pinned one, which match."""
        if self._table is None or shard < SHARDS_MAX:
            return True
        return self._table.pins.match_of(shard) is not None

    def owner(self, match: str) -> str:
        """The owner of a match's shard; "" if nobody is known to own it."""
        if self._table is None:
            return ""
        return self._table.owner(self._table.shard_of(match))

    def tenure(self, match: str) -> int:
        """The epoch in which that owner owns the match's shard; 0 if none is known."""
        if self._table is None:
            return 0
        return self._table.epoch(self._table.shard_of(match))

    def choose(
        self, match: str | None, usable: Callable[[str], bool], avoid: str = ""
    ) -> str | None:
        """Where to send a message about `match` (None: any node will do).

        The owner first, if it may be asked directly, then home, then the others
        by name. A node that is not `usable`, or the one to `avoid`, comes last; if
        none is usable, any but that one may have come back unseen. None: no node is
        known at all.
        """
        order: list[str] = []
        if self._direct and match is not None:
            owner = self.owner(match)
            if owner in self._addresses:
                order.append(owner)
        if self._home:
            order.append(self._home)
        order += sorted(self._addresses)
        for process in order:
            if process != avoid and usable(process):
                return process
        for process in order:
            if usable(process):
                return process
        others = [process for process in order if process != avoid]
        return next(iter(others or order), None)
