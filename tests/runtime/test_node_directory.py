"""Registered nodes, from news in whatever order."""

from __future__ import annotations

from hotseat.runtime.control_plane import (
    DrainRecord,
    Keys,
    NodeRecord,
    RebalanceRecord,
    encode_record,
)
from hotseat.runtime.coordinator import ABSENT, Write
from hotseat.runtime.fleet import Fleet
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


def write(store: MemoryStore, key: str, value: bytes | None) -> None:
    entries = {entry.key: entry.revision for entry in store.list("").entries}
    store.apply([Write(key, entries.get(key, ABSENT), value)])


def drained(node: str, boot: str = "") -> bytes:
    return encode_record(DrainRecord(node=node, boot=boot))


def states_of(fleet: Fleet) -> tuple[list[str], list[str], list[str]]:
    """Who drains, who is to be restarted, who is up."""
    return sorted(fleet.draining), sorted(fleet.restarting), sorted(fleet.up)


def test_a_node_is_in_the_state_that_its_drain_key_says() -> None:
    """For good, or as long as the process runs that it names; whatever its own record
    says, and in whatever order they come."""
    store, directory = MemoryStore(), NodeDirectory(KEYS)
    write(store, KEYS.drain("n1"), drained("n1"))
    write(store, KEYS.drain("n2"), drained("n2", boot="b2"))
    for node, boot in (("n1", "b1"), ("n2", "b2"), ("n3", "b3")):
        put(store, node, boot)
    assert directory.listing(store.list(KEYS.prefix))
    states = {node: found.state for node, found in directory.records.items()}
    assert states == {"n1": "draining", "n2": "restarting", "n3": "up"}
    fleet = directory.fleet
    assert fleet.registered == {"n1", "n2", "n3"}
    assert states_of(fleet) == (["n1"], ["n2"], ["n3"])
    at = store.revision
    put(store, "n2", "b4")
    put(store, "n1", None)
    for _, changes in store.changes_after(KEYS.prefix, at):
        assert directory.changed(changes)
    fleet = directory.fleet
    assert states_of(fleet) == (["n1"], [], ["n2", "n3"])
    at = store.revision
    write(store, KEYS.drain("n1"), None)
    for _, changes in store.changes_after(KEYS.prefix, at):
        assert directory.changed(changes)
    assert directory.fleet.draining == set()


def test_rebalancing_is_on_until_a_key_says_otherwise() -> None:
    """And a node says by itself that it has no room."""
    store, directory = MemoryStore(), NodeDirectory(KEYS)
    assert directory.fleet.rebalance
    for on in (False, True):
        write(store, KEYS.rebalance, encode_record(RebalanceRecord(on=on)))
        assert directory.listing(store.list(KEYS.prefix))
        assert directory.fleet.rebalance == on
    short = NodeRecord(node="n1", boot="b", inbox="tcp://n1", room=False)
    write(store, KEYS.node("n1"), encode_record(short))
    directory.listing(store.list(KEYS.prefix))
    assert directory.fleet.full == {"n1"}
