"""The first layout of shards on nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from types import MappingProxyType

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.runtime.control_plane import Move, ShardRecord
from hotseat.runtime.placement import WantEdit, initial_layout, repair

NAMES = st.lists(st.sampled_from("abcdefghij"), min_size=1, unique=True)


@given(shards=st.integers(1, 300), nodes=NAMES, copies=st.integers(1, 4))
def test_spread_evenly(shards: int, nodes: list[str], copies: int) -> None:
    """Owners are within one of each other, and so are each owner's followers."""
    layout = initial_layout(shards, nodes, copies)
    assert len(layout) == shards
    for want in layout:
        assert len(want) == len(set(want)) == min(copies, len(nodes))
        assert set(want) <= set(nodes)
    owners = Counter(dict.fromkeys(nodes, 0))
    owners.update(want[0] for want in layout)
    assert max(owners.values()) - min(owners.values()) <= 1
    if len(nodes) > 1 and copies > 1:
        for owner in nodes:
            seconds = Counter({node: 0 for node in nodes if node != owner})
            seconds.update(want[1] for want in layout if want[0] == owner)
            assert max(seconds.values()) - min(seconds.values()) <= 1


@given(shards=st.integers(1, 50), nodes=NAMES)
def test_depends_on_the_names_alone(shards: int, nodes: list[str]) -> None:
    """Every node computes the same layout, in whatever order it knows the others."""
    assert initial_layout(shards, nodes, 2) == initial_layout(shards, nodes[::-1], 2)


def test_of_three_nodes() -> None:
    """The layout that a local cluster starts with, written out."""
    assert initial_layout(7, ["n3", "n1", "n2"], 2) == (
        ("n1", "n2"),
        ("n2", "n3"),
        ("n3", "n1"),
        ("n1", "n3"),
        ("n2", "n1"),
        ("n3", "n2"),
        ("n1", "n2"),
    )


@pytest.mark.parametrize(
    ("shards", "nodes", "copies"),
    [(0, ["a"], 1), (1, [], 1), (1, ["a", "a"], 1), (1, ["a"], 0)],
)
def test_refuses_what_cannot_be_laid_out(
    shards: int, nodes: list[str], copies: int
) -> None:
    """No nodes, no shards, no copies or one name twice is an error."""
    with pytest.raises(ValueError, match="must be"):
        initial_layout(shards, nodes, copies)


GRACE_MS = 1000


def record(want: tuple[str, ...], owner: str | None = None) -> ShardRecord:
    """A shard's record; what is not said does not matter here."""
    isr = () if owner is None else ((owner, "x"),)
    return ShardRecord(
        owner=owner, epoch=0 if owner is None else 3, isr=isr, want=want, claim="c"
    )


def repaired(
    records: dict[int, ShardRecord],
    up: str,
    gone: str,
    copies: int = 2,
    limit: int = 99,
    now_ms: int = GRACE_MS,
    unfit: Mapping[int, str] = MappingProxyType({}),
    outgrown: Mapping[int, str] = MappingProxyType({}),
    shards: Collection[int] | None = None,
) -> tuple[WantEdit, ...]:
    """Edits when the nodes of `gone` have been absent since time 0."""
    return repair(
        records,
        up=frozenset(up),
        absent_since_ms=dict.fromkeys(gone, 0),
        now_ms=now_ms,
        copies=copies,
        grace_ms=GRACE_MS,
        limit=limit,
        unfit=lambda shard: unfit.get(shard, ""),
        outgrown=outgrown,
        shards=shards,
    )


@given(
    wants=st.lists(st.lists(st.sampled_from("abcdef"), unique=True, max_size=4)),
    up=st.sets(st.sampled_from("abcdef")),
    gone=st.sets(st.sampled_from("abcdef")),
    copies=st.integers(1, 4),
    limit=st.integers(0, 5),
    data=st.data(),
)
def test_repair_only_ever_mends(
    wants: list[list[str]],
    up: set[str],
    gone: set[str],
    copies: int,
    limit: int,
    data: st.DataObject,
) -> None:
    """No replica is lost, none doubled, owners stay, and mending comes to an end."""
    owners = [data.draw(st.sampled_from([None, *want])) for want in wants]
    records = {
        shard: record(tuple(want), owner)
        for shard, (want, owner) in enumerate(zip(wants, owners, strict=True))
    }
    asked = ("".join(sorted(up)), "".join(sorted(gone)), copies)
    edits = repaired(records, *asked, limit=limit)
    assert len(edits) <= limit
    for _ in range(len(wants) + 1):
        edits = repaired(records, *asked, limit=max(limit, 1))
        for edit in edits:
            before = records[edit.shard]
            assert len(set(edit.want)) == len(edit.want) >= len(before.want)
            assert set(before.want) - set(edit.want) <= gone - up - {before.owner}
            assert set(edit.want) - set(before.want) <= up
            records[edit.shard] = record(edit.want, before.owner)
    assert repaired(records, *asked, limit=max(limit, 1)) == ()
    for number, mended in records.items():
        spare = up - set(mended.want)
        assert len(mended.want) >= copies or not spare, number
        assert not (gone - up - {mended.owner}) & set(mended.want) or not spare


def test_the_emptiest_node_takes_the_place() -> None:
    """A dead follower is replaced where it stood, by who holds least."""
    records = {
        0: record(("a", "x"), "a"),
        1: record(("b", "a"), "b"),
        2: record(("x", "b"), "b"),
    }
    assert repaired(records, "abc", "x") == (
        WantEdit(0, ("a", "c")),
        WantEdit(2, ("c", "b")),
    )


def test_nobody_is_replaced_in_haste_or_while_it_owns() -> None:
    """A node may be away for the grace; an absent owner is for a takeover to solve."""
    records = {0: record(("a", "x"), "a"), 1: record(("x", "b"), "x")}
    assert repaired(records, "abc", "x", now_ms=GRACE_MS - 1) == ()
    assert repaired(records, "abc", "x") == (WantEdit(0, ("a", "c")),)


def test_missing_copies_are_added_as_nodes_come() -> None:
    """A cluster that began with one node spreads when others join it."""
    records = {shard: record(("a",), "a") for shard in range(4)}
    added = [edit.want for edit in repaired(records, "abc", "")]
    assert added == [("a", "b"), ("a", "c"), ("a", "b"), ("a", "c")]
    assert repaired(records, "abc", "", limit=1) == (WantEdit(0, ("a", "b")),)


def test_a_shard_that_was_moved_stays_where_it_is() -> None:
    """Its new owner is wanted there, in place of another; not while it drains."""
    records = {0: record(("a", "b"), "c")}
    assert repaired(records, "abc", "") == (WantEdit(0, ("c", "a")),)
    assert repaired(records, "ab", "") == ()
    moving = msgspec.structs.replace(records[0], move=Move("a", "op"))
    assert repaired({0: moving}, "abc", "") == ()


def test_who_lacks_a_game_is_passed_over() -> None:
    """However little it holds; but a copy that cannot be played yet is one, too."""
    records = {0: record(("a", "x"), "a"), 1: record(("a", "b"), "a")}
    assert repaired(records, "abc", "x", unfit={0: "c"}) == (WantEdit(0, ("a", "b")),)
    assert repaired(records, "ac", "x", unfit={0: "c"}) == (WantEdit(0, ("a", "c")),)


def test_who_has_lost_its_fitness_makes_way_for_a_fit_node() -> None:
    """Never for another unfit one, never the owner; and no other shard is looked at."""
    records = {0: record(("a", "b"), "a"), 1: record(("a", "x"), "a")}
    unfit = {0: "abd"}
    for up, edits in ("abcd", (WantEdit(0, ("a", "c")),)), ("abd", ()):
        assert (
            repaired(records, up, "x", unfit=unfit, outgrown={0: "ab"}, shards=[0])
            == edits
        )
