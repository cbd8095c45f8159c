"""Which nodes are registered, and which of them drain, from listings and watches in
whatever order they come.

Registration is a hint: it says where a node is, and perhaps that it lives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace

from .control_plane import (
    ControlRecord,
    DrainRecord,
    Keys,
    NodeRecord,
    RebalanceRecord,
    decode_record,
)
from .coordinator import Change, Listing
from .errors import ControlRecordInvalid
from .fleet import Fleet

__all__ = ["NodeDirectory"]


class NodeDirectory:
    """The keys about nodes of a cluster. Older news than the known changes nothing."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._values: dict[str, ControlRecord] = {}  # by key
        self._revisions: dict[str, int] = {}  # of keys, and of deletes not yet listed
        self._listed = 0  # a listing of this revision has told everything before it
        self._faults: list[str] = []
        self._nodes: dict[str, NodeRecord] = {}

    @property
    def records(self) -> Mapping[str, NodeRecord]:
        """The registered nodes by id, each with the state that it is in; read-only,
        and kept up to date."""
        return MappingProxyType(self._nodes)

    @property
    def fleet(self) -> Fleet:
        """The nodes as the replication core is told of them."""
        nodes = self._nodes
        drains = (self._keys.drain_of(key) for key in self._values)
        away = {node for node in drains if node is not None and node not in nodes}
        switch = self._values.get(self._keys.rebalance)
        return Fleet(
            registered=frozenset(nodes),
            draining=frozenset(
                [n for n, record in nodes.items() if record.state == "draining"]
                + [node for node in away if not self._drain(node).boot]
            ),
            restarting=frozenset(
                n for n, record in nodes.items() if record.state == "restarting"
            ),
            full=frozenset(n for n, record in nodes.items() if not record.room),
            games={n: frozenset(record.games) for n, record in nodes.items()},
            rebalance=not isinstance(switch, RebalanceRecord) or switch.on,
        )

    def take_faults(self) -> list[str]:
        """What could not be read since the last call, a sentence each."""
        faults, self._faults = self._faults, []
        return faults

    def listing(self, listing: Listing) -> bool:
        """Everything under the cluster's prefix, as read; True if something changed."""
        before = dict(self._values)
        found: set[str] = set()
        for entry in listing.entries:
            if self._kind(entry.key) is not None:
                found.add(entry.key)
                self._observe(entry.key, entry.revision, entry.value)
        for key in [key for key in self._revisions if key not in found]:
            self._observe(key, listing.revision, None)
            if self._revisions[key] <= listing.revision:
                del self._revisions[key]
        self._listed = max(self._listed, listing.revision)
        return self._has_changed(before)

    def changed(self, changes: Sequence[Change]) -> bool:
        """One transaction, as a watch told of it; True if something changed."""
        before = dict(self._values)
        for change in changes:
            if self._kind(change.key) is not None and change.revision > self._listed:
                self._observe(change.key, change.revision, change.value)
        return self._has_changed(before)

    def _kind(
        self, key: str
    ) -> type[NodeRecord | DrainRecord | RebalanceRecord] | None:
        if self._keys.node_of(key) is not None:
            return NodeRecord
        if self._keys.drain_of(key) is not None:
            return DrainRecord
        return RebalanceRecord if key == self._keys.rebalance else None

    def _observe(self, key: str, revision: int, value: bytes | None) -> None:
        if revision <= self._revisions.get(key, 0):
            return
        self._revisions[key] = revision
        self._values.pop(key, None)
        kind = self._kind(key)
        if value is None or kind is None:
            return
        try:
            self._values[key] = decode_record(kind, key, value)
        except ControlRecordInvalid as error:
            self._faults.append(str(error))

    def _has_changed(self, before: Mapping[str, ControlRecord]) -> bool:
        if before == self._values:
            return False
        self._nodes.clear()
        for key, record in self._values.items():
            node = self._keys.node_of(key)
            if node is not None and isinstance(record, NodeRecord):
                self._nodes[node] = self._in_its_state(node, record)
        return True

    def _in_its_state(self, node: str, record: NodeRecord) -> NodeRecord:
        if self._keys.drain(node) not in self._values:
            return replace(record, state="up")
        boot = self._drain(node).boot
        if not boot:
            return replace(record, state="draining")
        return replace(record, state="restarting" if boot == record.boot else "up")

    def _drain(self, node: str) -> DrainRecord:
        drain = self._values[self._keys.drain(node)]
        assert isinstance(drain, DrainRecord), drain
        return drain
