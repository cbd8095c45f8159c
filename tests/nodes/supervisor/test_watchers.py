"""Who watches what, both ways round."""

from __future__ import annotations

from hotseat.nodes.supervisor.watchers import Watchers


def test_each_way_is_forgotten_by_itself() -> None:
    """A client alone; a process with all clients behind it; a match with all of its."""
    watchers = Watchers()
    watchers.add("gateway", "ann", "m1")
    watchers.add("gateway", "ann", "m2")
    watchers.add("gateway", "bob", "m1")
    watchers.add("direct", None, "m1")
    assert len(watchers) == 3
    assert watchers.forget_client("gateway", "ann") == {"m1", "m2"}
    assert watchers.forget_client("gateway", "ann") == set()
    watchers.forget_match("m1")
    assert list(watchers.forget_peer("gateway")) == []
    watchers.add("direct", None, "m3")
    assert list(watchers.forget_peer("direct")) == [(None, "m3")]
    assert len(watchers) == 0
