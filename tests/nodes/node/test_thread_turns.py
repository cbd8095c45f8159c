"""Threads of a node take short turns, and only of a node."""

from __future__ import annotations

import sys

from hotseat.nodes.node.thread_turns import TURN_S, short_turns


def test_turns_are_short_while_a_node_runs() -> None:
    """A program that runs a node within has its own setting back afterwards."""
    before_s = sys.getswitchinterval()
    with short_turns():
        assert round(sys.getswitchinterval(), 6) == TURN_S < before_s
    assert sys.getswitchinterval() == before_s
