"""Which nodes are registered, from listings and watches in whatever order they come.

Registration is a hint: it says where a node is, and perhaps that it lives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from .control_plane import Keys, NodeRecord, decode_record
from .coordinator import Change, Listing
from .errors import ControlRecordInvalid

__all__ = ["NodeDirectory"]


class NodeDirectory:
    """The `node/` keys of a cluster. Older news than the known changes nothing."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._records: dict[str, NodeRecord] = {}
        self._revisions: dict[str, int] = {}  # of nodes, and of deletes not yet listed
        self._listed = 0  # a listing of this revision has told everything before it
        self._faults: list[str] = []

    @property
    def records(self) -> Mapping[str, NodeRecord]:
        """The registered nodes by id; read-only, and kept up to date."""
        return MappingProxyType(self._records)

    def take_faults(self) -> list[str]:
        """What could not be read since the last call, a sentence each."""
        faults, self._faults = self._faults, []
        return faults

    def listing(self, listing: Listing) -> bool:
        """Everything under the cluster's prefix, as read; True if nodes changed."""
        before = dict(self._records)
        found: set[str] = set()
        for entry in listing.entries:
            node = self._keys.node_of(entry.key)
            if node is not None:
                found.add(node)
                self._observe(node, entry.revision, entry.value)
        for node in [node for node in self._revisions if node not in found]:
            self._observe(node, listing.revision, None)
            if self._revisions[node] <= listing.revision:
                del self._revisions[node]
        self._listed = max(self._listed, listing.revision)
        return before != self._records

    def changed(self, changes: Sequence[Change]) -> bool:
        """One transaction, as a watch told of it; True if nodes changed."""
        before = dict(self._records)
        for change in changes:
            node = self._keys.node_of(change.key)
            if node is not None and change.revision > self._listed:
                self._observe(node, change.revision, change.value)
        return before != self._records

    def _observe(self, node: str, revision: int, value: bytes | None) -> None:
        if revision <= self._revisions.get(node, 0):
            return
        self._revisions[node] = revision
        self._records.pop(node, None)
        if value is None:
            return
        try:
            record = decode_record(NodeRecord, self._keys.node(node), value)
        except ControlRecordInvalid as error:
            self._faults.append(str(error))
            return
        self._records[node] = record
