"""Which moves are withdrawn since they do not come off, and when."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hotseat.runtime.control_plane import Move, ShardRecord
from hotseat.runtime.fleet import Fleet
from hotseat.runtime.placement import WantEdit
from hotseat.runtime.replication.overdue_moves import OverdueMoves

UP = frozenset({"n1", "n2"})


def record(to: str, op: str) -> ShardRecord:
    """A shard of n1 that is to go to `to`."""
    isr = (("n1", "i1"),)
    move = Move(to, op)
    return ShardRecord(owner="n1", epoch=1, isr=isr, want=("n1",), claim="c", move=move)


@pytest.mark.parametrize(
    ("to", "op", "after_s"),
    [
        ("n2", "rebalance-1", 5),
        ("n2", "drain-1", 30),
        ("n2", "fitness-1", 30),
        ("n2", "fold", 30),
        ("n2", "0190000000012345678", 3_600),
        ("n3", "0190000000012345678", 5),
        ("n3", "fold", 5),
    ],
)
def test_each_has_its_time(to: str, op: str, after_s: int) -> None:
    """Little if its node is gone; enough for a copy, or for a command, if not."""
    moves, records, fleet = OverdueMoves(), {7: record(to, op)}, Fleet(UP)
    assert moves.edits(records, fleet, 1_000) == []
    assert moves.edits(records, fleet, 999 + after_s * 1_000) == []
    withdrawn = [WantEdit(7, ("n1",), "")]
    assert moves.edits(records, fleet, 1_000 + after_s * 1_000) == withdrawn


def test_a_node_that_leaves_is_gone() -> None:
    """What is on its way there does not arrive."""
    moves, records = OverdueMoves(), {7: record("n2", "fold")}
    for fleet in (
        Fleet(UP, draining=frozenset({"n2"})),
        Fleet(UP, restarting=frozenset({"n2"})),
    ):
        moves = OverdueMoves()
        assert not moves.edits(records, fleet, 0)
        assert moves.edits(records, fleet, 5_000)


def test_it_is_timed_anew_when_something_has_happened() -> None:
    """The record was written again, or had no move meanwhile."""
    moves, old = OverdueMoves(), record("n2", "fold")
    assert not moves.edits({7: old}, Fleet(UP), 0)
    assert not moves.edits({7: replace(old, claim="d")}, Fleet(UP), 30_000)
    assert not moves.edits({7: replace(old, move=None)}, Fleet(UP), 31_000)
    assert not moves.edits({7: replace(old, claim="d")}, Fleet(UP), 60_000)
    assert moves.edits({7: replace(old, claim="d")}, Fleet(UP), 90_000)
