"""The first layout of shards on nodes."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.runtime.placement import initial_layout

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
