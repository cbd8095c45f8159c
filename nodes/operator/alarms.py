"""What an operator must look at, by what the nodes say. Pure: no clock, no door."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..operator_error import OperatorError
from .rows import ReplicaRow
from .survey_rows import AlarmRow, NodeRow, ShardRow

__all__ = ["ALARMS", "find_alarms"]

ALARMS: Mapping[str, str] = {
    "node_silent": "A node does not answer at its door.",
    "node_not_ready": "A node does not serve and follow all that is meant for it yet.",
    "coordinator_down": "A node gets no answer from the coordinator.",
    "node_unregistered": "A node gets no lease: the coordinator may take no writes.",
    "disk_broken": "A node's disk takes no writes: it acknowledges nothing.",
    "results_failing": "Results of matches do not reach their sinks.",
    "shard_unserved": "A shard is served by no node that answers.",
    "shard_degraded": "A shard takes no actions, for lack of copies in sync.",
    "shard_short": "A shard has fewer copies in sync than it shall have.",
    "replica_stopped": "A node stopped its replica of a shard; its log says why.",
    "match_set_apart": "A match is set apart; it answers with the code.",
}
"""Every code, most urgent of a kind first."""

Statuses = Mapping[str, dict[str, Any] | OperatorError]


def find_alarms(
    statuses: Statuses,
    nodes: Sequence[NodeRow],
    shards: Sequence[ShardRow],
    replicas: Mapping[str, Mapping[int, ReplicaRow]],
) -> Iterator[AlarmRow]:
    """All of them, of nodes first, then of shards, then of matches."""
    for node in nodes:
        yield from _of_node(node, statuses[node.node])
    for shard in shards:
        yield from _of_shard(shard)
    for name, rows in replicas.items():
        for row in rows.values():
            if row.stopped:
                yield _alarm(
                    "replica_stopped", f"shard {row.shard}", f"at {name}: {row.stopped}"
                )
    told: set[str] = set()
    for name, status in statuses.items():
        for one in () if isinstance(status, OperatorError) else status["set_apart"]:
            if one["match"] not in told:
                told.add(one["match"])
                yield _alarm(
                    "match_set_apart", one["match"], f"at {name}: {one['code']}"
                )


def _of_node(
    node: NodeRow, status: dict[str, Any] | OperatorError
) -> Iterator[AlarmRow]:
    if isinstance(status, OperatorError):
        if not node.elsewhere:
            yield _alarm("node_silent", node.node, status.code)
        return
    if not node.ready:
        yield _alarm("node_not_ready", node.node)
    parts = status.get("statistics", {})
    keeper = parts.get("keeper", {})
    if not keeper.get("coordinator_up", True):
        yield _alarm("coordinator_down", node.node)
    elif not keeper.get("registered", True):
        yield _alarm("node_unregistered", node.node)
    if parts.get("replicator", {}).get("journal", {}).get("broken"):
        yield _alarm("disk_broken", node.node)
    failing = parts.get("results", {}).get("failing", 0)
    if failing:
        yield _alarm("results_failing", node.node, f"{failing} of them")


def _of_shard(shard: ShardRow) -> Iterator[AlarmRow]:
    at = f"shard {shard.shard}"
    if not shard.serving:
        owner = f"by the record it is {shard.owner}'s" if shard.owner else ""
        yield _alarm("shard_unserved", at, owner)
    elif shard.degraded:
        yield _alarm("shard_degraded", at)
    if shard.short:
        yield _alarm("shard_short", at, f"{shard.short} missing")


def _alarm(code: str, at: str, detail: str = "") -> AlarmRow:
    text = ALARMS[code].rstrip(".")
    return AlarmRow(code=code, at=at, message=f"{text}: {detail}" if detail else text)
