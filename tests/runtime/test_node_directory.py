"""Registered nodes, from news in whatever order."""

from __future__ import annotations

from hotseat.runtime.control_plane import Keys, NodeRecord, encode_record
from hotseat.runtime.coordinator import ABSENT, Write
from hotseat.runtime.node_directory import NodeDirectory
from hotseat.runtime.testing.memory_store import MemoryStore

KEYS = Keys("c")


def record(node: str, boot: str = "b") -> NodeRecord:
    return NodeRecord(node=node, boot=boot, inbox=f"tcp://{node}")


def put(store: MemoryStore, node: str, boot: str | None) -> int:
    """Write or delete a node's key; the revision."""
    entries = {entry.key: entry.revision for entry in store.list("").entries}
    value = None if boot is None else encode_record(record(node, boot))
    key = KEYS.node(node)
    store.apply([Write(key, entries.get(key, ABSENT), value)])
    return store.revision


def test_listing_and_changes_agree() -> None:
    """What a listing shows and what the watch tells is one picture."""
    store, directory = MemoryStore(), NodeDirectory(KEYS)
    at = put(store, "n1", "a")
    assert directory.listing(store.list(KEYS.prefix))
    assert not directory.listing(store.list(KEYS.prefix))
    put(store, "n2", "a")
    put(store, "n1", None)
    for _, changes in store.changes_after(KEYS.prefix, at):
        assert directory.changed(changes)
    assert dict(directory.records) == {"n2": record("n2", "a")}
    assert not directory.listing(store.list(KEYS.prefix))


def test_older_news_change_nothing() -> None:
    """Neither a late listing nor a late change brings a node back."""
    store, directory = MemoryStore(), NodeDirectory(KEYS)
    first = put(store, "n1", "a")
    old_listing = store.list(KEYS.prefix)
    put(store, "n1", None)
    changes = store.changes_after(KEYS.prefix, 0)
    for _, change in changes:
        directory.changed(change)
    assert not directory.listing(old_listing)
    assert dict(directory.records) == {}
    directory.listing(store.list(KEYS.prefix))
    assert first == changes[0][0]
    assert not directory.changed(changes[0][1])
    assert dict(directory.records) == {}


def test_a_record_that_cannot_be_read_is_reported_and_left_out() -> None:
    """Junk at one node's key costs that entry only."""
    store, directory = MemoryStore(), NodeDirectory(KEYS)
    put(store, "n1", "a")
    store.apply([Write(KEYS.node("n2"), ABSENT, b"junk")])
    assert directory.listing(store.list(KEYS.prefix))
    assert list(directory.records) == ["n1"]
    (fault,) = directory.take_faults()
    assert KEYS.node("n2") in fault
    assert directory.take_faults() == []
