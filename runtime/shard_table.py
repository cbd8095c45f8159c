"""The shard table: what routers hold to find a shard's owner by arithmetic.

A cache and a hint: whoever is asked at a wrong place says so. It never goes back:
a row of a lower epoch, or a snapshot of a lower revision, changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from .frame import NodeEntry, ShardEntry, TableSnapshot

__all__ = ["ShardTable", "ShardTableStatistics"]


@dataclass(frozen=True, slots=True)
class ShardTableStatistics:
    """`unowned` counts the shards that nobody has ever owned, as far as known."""

    GAUGES: ClassVar[frozenset[str]] = frozenset(
        {"shards", "unowned", "nodes", "revision"}
    )

    shards: int
    unowned: int
    nodes: int
    revision: int


class ShardTable:
    """Owner and epoch of each shard, and where the nodes are."""

    def __init__(self, shards: int) -> None:
        if shards < 1:
            raise ValueError(f"a table has at least one shard, not {shards}")
        self._rows = [ShardEntry(shard, "", 0) for shard in range(shards)]
        self._nodes: dict[str, NodeEntry] = {}
        self._revision = 0

    @classmethod
    def from_snapshot(cls, snapshot: TableSnapshot) -> ShardTable:
        """The table that a node sent.

        Raises:
            ValueError: Its rows are not numbered 0, 1, 2…
        """
        table = cls(len(snapshot.shards))
        table.merge(snapshot)
        return table

    @property
    def revision(self) -> int:
        """The coordinator's revision up to which the table is known to be true."""
        return self._revision

    @property
    def nodes(self) -> Mapping[str, NodeEntry]:
        """The registered nodes by id; read-only."""
        return MappingProxyType(self._nodes)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, shard: int) -> ShardEntry:
        return self._rows[shard]

    def owner(self, shard: int) -> str:
        """The owner's node id, "" while there is none."""
        return self._rows[shard].owner

    def epoch(self, shard: int) -> int:
        """0 until the shard has first been owned."""
        return self._rows[shard].epoch

    def owned_by(self, node: str) -> list[int]:
        """The shards of one node, in order."""
        return [row.shard for row in self._rows if row.owner == node]

    def apply(self, rows: Iterable[ShardEntry], revision: int = 0) -> bool:
        """Take over rows of an epoch not lower than the known; True if one changed.

        Raises:
            ValueError: A row is about a shard that the table does not have.
        """
        changed = False
        for row in rows:
            if not 0 <= row.shard < len(self._rows):
                raise ValueError(f"shard {row.shard} is not in 0..{len(self) - 1}")
            known = self._rows[row.shard]
            if row.epoch >= known.epoch and row != known:
                self._rows[row.shard] = row
                changed = True
        self._revision = max(self._revision, revision)
        return changed

    def set_nodes(self, nodes: Iterable[NodeEntry]) -> bool:
        """Replace what is known of the nodes; True if it changed."""
        found = {entry.node: entry for entry in nodes}
        changed = found != self._nodes
        self._nodes = found
        return changed

    def merge(self, snapshot: TableSnapshot) -> bool:
        """Take over a snapshot from another process; True if something changed.

        Raises:
            ValueError: It is of a cluster with another number of shards.
        """
        numbers = [row.shard for row in snapshot.shards]
        if numbers != list(range(len(self))):
            raise ValueError(
                f"the snapshot's {len(numbers)} rows are not shards 0..{len(self) - 1}"
            )
        newer = snapshot.revision >= self._revision
        changed = self.apply(snapshot.shards, snapshot.revision)
        return (newer and self.set_nodes(snapshot.nodes)) or changed

    def snapshot(self, request: int) -> TableSnapshot:
        """The whole table as a frame that answers `request`."""
        return TableSnapshot(
            request=request,
            revision=self._revision,
            shards=tuple(self._rows),
            nodes=tuple(self._nodes[name] for name in sorted(self._nodes)),
        )

    def statistics(self) -> ShardTableStatistics:
        return ShardTableStatistics(
            shards=len(self._rows),
            unowned=sum(1 for row in self._rows if not row.owner),
            nodes=len(self._nodes),
            revision=self._revision,
        )
