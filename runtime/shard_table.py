"""The shard table: what routers hold to find a shard's owner by arithmetic.

A cache and a hint: whoever is asked at a wrong place says so. It never goes back:
a row of a lower epoch, or a snapshot of a lower revision, changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from .control_plane import SHARDS_MAX
from .frame import NodeEntry, PinEntry, ShardEntry, TableSnapshot
from .pin_table import PinTable

__all__ = ["ShardTable", "ShardTableStatistics"]

_SPARE_ROWS = 64
"""Of pinned shards that are no more, or not known to be pinned yet."""


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
    """Owner and epoch of each shard, those of pinned matches too, and where the nodes
    are. `len` and `snapshot` count the fixed ones."""

    def __init__(self, shards: int, pins: PinTable | None = None) -> None:
        """`pins` is whose else keeps it up to date; None: snapshots do."""
        if shards < 1:
            raise ValueError(f"a table has at least one shard, not {shards}")
        self._rows = [ShardEntry(shard, "", 0) for shard in range(shards)]
        self.pins = PinTable(shards) if pins is None else pins
        self._follows_pins = pins is None
        self._pinned: dict[int, ShardEntry] = {}
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
        if shard >= SHARDS_MAX:
            return self._pinned.get(shard) or ShardEntry(shard, "", 0)
        return self._rows[shard]

    def shard_of(self, match: str) -> int:
        """The shard that a match is in, as far as is known."""
        return self.pins.shard_of(match)

    def owner(self, shard: int) -> str:
        """The owner's node id, "" while there is none."""
        return self[shard].owner

    def epoch(self, shard: int) -> int:
        """0 until the shard has first been owned."""
        return self[shard].epoch

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
            if row.shard >= SHARDS_MAX:
                changed |= self._apply_pinned(row)
                continue
            if not 0 <= row.shard < len(self._rows):
                raise ValueError(f"shard {row.shard} is not in 0..{len(self) - 1}")
            known = self._rows[row.shard]
            if row.epoch >= known.epoch and row != known:
                self._rows[row.shard] = row
                changed = True
        self._revision = max(self._revision, revision)
        return changed

    def _apply_pinned(self, row: ShardEntry) -> bool:
        known = self._pinned.get(row.shard)
        if known is not None and (row.epoch < known.epoch or row == known):
            return False
        if len(self._pinned) >= 2 * len(self.pins) + _SPARE_ROWS:
            gone = [s for s in self._pinned if self.pins.match_of(s) is None]
            for shard in gone:
                del self._pinned[shard]
        self._pinned[row.shard] = row
        return True

    def _follow_pins(self, pins: Iterable[PinEntry]) -> bool:
        """The pins are these, and no others."""
        found = {pin.match: pin.shard for pin in pins}
        known = dict(self.pins)
        if found == known:
            return False
        for match in known.keys() - found.keys():
            self._pinned.pop(known[match], None)
            self.pins.unpin(match)
        for match, shard in found.items():
            self.pins.pin(match, shard)
        return True

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
        rows = [ShardEntry(pin.shard, pin.owner, pin.epoch) for pin in snapshot.pins]
        changed |= self.apply(rows)
        if newer and self._follows_pins:
            changed |= self._follow_pins(snapshot.pins)
        return (newer and self.set_nodes(snapshot.nodes)) or changed

    def snapshot(self, request: int) -> TableSnapshot:
        """The whole table as a frame that answers `request`."""
        return TableSnapshot(
            request=request,
            revision=self._revision,
            shards=tuple(self._rows),
            nodes=tuple(self._nodes[name] for name in sorted(self._nodes)),
            pins=tuple(
                PinEntry(match, shard, self.owner(shard), self.epoch(shard))
                for match, shard in sorted(self.pins)
            ),
        )

    def statistics(self) -> ShardTableStatistics:
        return ShardTableStatistics(
            shards=len(self._rows),
            unowned=sum(1 for row in self._rows if not row.owner),
            nodes=len(self._nodes),
            revision=self._revision,
        )
