"""Planned work on a cluster under play: every shard is moved to one node, one after the
other; then that node is drained, and drains no more.

What it tells is the nodes' own account: how long each shard was served by nobody. What
the players noticed, they know.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..cluster_dir import ClusterDir
from ..operator.ask import operate
from ..operator_error import OperatorError

__all__ = ["Migration", "drain", "gather_at"]

DRAIN_S = 60.0
WHO = "chaos"

NOT_MOVED = frozenset({"already_there", "ended", "game_over", "match_ended"})
"""It is there, or has ended just now."""


@dataclass(frozen=True, slots=True)
class Migration:
    """Pauses are (milliseconds, matches that they befell) of each shard."""

    node: str
    moves: tuple[tuple[int, int], ...] = ()
    matches: tuple[tuple[int, int], ...] = ()
    """Of matches that were moved one by one: pinned, and handed over."""
    drained: Mapping[str, Any] = field(default_factory=dict)
    """What `node.drain` said."""
    drain_s: float = 0.0


async def gather_at(
    home: ClusterDir, node: str, owners: Mapping[int, str]
) -> tuple[tuple[int, int], ...]:
    """Move every shard there, while nothing moves them back; the pauses.

    Raises:
        OperatorError: A move did not come off.
    """
    await operate(home, "rebalance", "", {"do": "off"}, who=WHO)
    pauses = []
    for shard, owner in sorted(owners.items()):
        if owner == node:
            continue
        try:
            moved = await operate(home, "shard.move", str(shard), {"to": node}, who=WHO)
        except OperatorError as error:
            if error.code not in NOT_MOVED:  # it may have been spread there meanwhile
                raise
            continue
        told = moved.outcome
        if told["pause_ms"] is not None:
            pauses.append((int(told["pause_ms"]), int(told["matches"])))
    return tuple(pauses)


async def move_matches(
    home: ClusterDir, node: str, matches: Sequence[str]
) -> tuple[tuple[int, int], ...]:
    """Move matches there, each alone; the longer of its two pauses, for its pin and for
    its handover: it is played in between."""
    pauses = []
    for match in matches:
        try:
            moved = await operate(
                home, "match.move", match, {"to": node}, match=match, who=WHO
            )
        except OperatorError as error:
            if error.code not in NOT_MOVED:
                raise
            continue
        told = moved.outcome
        if told["pause_ms"] is not None:
            pauses.append((max(int(told["pause_ms"]), int(told["pinned_ms"] or 0)), 1))
    return tuple(pauses)


async def drain(
    home: ClusterDir,
    node: str,
    moves: tuple[tuple[int, int], ...],
    matches: tuple[tuple[int, int], ...] = (),
) -> Migration:
    """Drain it, and undo that: shards spread evenly again.

    Raises:
        OperatorError: It could not be drained in time.
    """
    began_s = time.monotonic()
    args = {"timeout_s": DRAIN_S}
    done = await operate(
        home, "node.drain", node, args, node=node, who=WHO, timeout_s=None
    )
    drain_s = time.monotonic() - began_s
    await operate(home, "node.undrain", node, who=WHO)
    await operate(home, "rebalance", "", {"do": "on"}, who=WHO)
    return Migration(node, moves, matches, done.outcome, drain_s)
