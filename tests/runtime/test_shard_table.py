"""The shard table that routers hold."""

from __future__ import annotations

import msgspec
import pytest

from hotseat.runtime.control_plane import SHARDS_MAX
from hotseat.runtime.frame import NodeEntry, ShardEntry, TableSnapshot
from hotseat.runtime.pin_table import PinTable
from hotseat.runtime.shard_table import ShardTable

N1 = NodeEntry("n1", "tcp://127.0.0.1:1", "boot-1")
N2 = NodeEntry("n2", "tcp://127.0.0.1:2", "boot-1")


def test_begins_with_nobody() -> None:
    """A fresh table knows of no owner and no node."""
    table = ShardTable(3)
    assert [table.owner(shard) for shard in range(3)] == ["", "", ""]
    assert table.epoch(2) == 0
    assert table.statistics().unowned == 3
    with pytest.raises(ValueError, match="at least one"):
        ShardTable(0)


def test_never_goes_back() -> None:
    """A row of a lower epoch changes nothing, however late it comes."""
    table = ShardTable(2)
    assert table.apply([ShardEntry(1, "n1", 4)], revision=9)
    assert not table.apply([ShardEntry(1, "n2", 3)], revision=7)
    assert table[1] == ShardEntry(1, "n1", 4)
    assert table.revision == 9
    assert not table.apply([ShardEntry(1, "n1", 4)])
    assert table.apply([ShardEntry(1, "n2", 5)])
    assert table.owned_by("n2") == [1]
    assert table.owned_by("n1") == []


@pytest.mark.parametrize("shard", [-1, 2])
def test_refuses_a_shard_that_it_does_not_have(shard: int) -> None:
    """A row about another cluster's shard is an error."""
    with pytest.raises(ValueError, match="not in"):
        ShardTable(2).apply([ShardEntry(shard, "n1", 1)])


def test_travels_as_a_frame() -> None:
    """A table sent and read back is the same table."""
    table = ShardTable(2)
    table.apply([ShardEntry(0, "n1", 1), ShardEntry(1, "n2", 2)], revision=5)
    table.set_nodes([N2, N1])
    frame = table.snapshot(request=8)
    assert frame.request == 8
    assert [entry.node for entry in frame.nodes] == ["n1", "n2"]
    copy = ShardTable.from_snapshot(frame)
    assert copy.snapshot(8) == frame
    assert dict(copy.nodes) == {"n1": N1, "n2": N2}


def test_merges_only_what_is_newer() -> None:
    """An old snapshot brings neither old owners nor old addresses back."""
    table = ShardTable(2)
    table.apply([ShardEntry(0, "n2", 2)], revision=5)
    table.set_nodes([N2])
    rows = (ShardEntry(0, "n1", 1), ShardEntry(1, "n1", 1))
    assert table.merge(TableSnapshot(1, 4, rows, (N1,)))
    assert [table.owner(0), table.owner(1)] == ["n2", "n1"]
    assert list(table.nodes) == ["n2"]
    assert table.merge(TableSnapshot(1, 6, rows, (N1,)))
    assert list(table.nodes) == ["n1"]
    with pytest.raises(ValueError, match="rows"):
        table.merge(TableSnapshot(1, 7, rows[1:], ()))
    with pytest.raises(ValueError, match="rows"):
        ShardTable.from_snapshot(TableSnapshot(1, 7, rows[1:], ()))


def test_the_largest_table_fits_into_a_frame() -> None:
    """A cluster of the most shards can still send its table."""
    table = ShardTable(SHARDS_MAX)
    name = "a-node-with-a-long-name-" + "x" * 40
    table.apply(ShardEntry(n, name, 2**40) for n in range(SHARDS_MAX))
    assert len(msgspec.msgpack.encode(table.snapshot(1))) < 1024 * 1024


def test_rows_of_pins_that_are_no_more_do_not_pile_up() -> None:
    """As many matches are pinned and folded back as anybody likes."""
    pins = PinTable(2)
    table = ShardTable(2, pins)
    for number in range(1_000):
        shard = SHARDS_MAX + number
        pins.pin("m", shard)
        table.apply([ShardEntry(shard, "n1", 1)])
        assert table.owner(shard) == "n1"
        pins.unpin("m")
    assert len(table._pinned) <= 70
