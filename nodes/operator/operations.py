"""The door's operations that show shards and matches, joined to a node's parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...runtime.match_id import is_match_id
from ...runtime.pin_table import PinTable
from ..node.hosting import Hosting
from ..node.router import Router
from .door import DoorError, Operation
from .match_page import give_matches
from .match_report import give_match
from .shard_report import give_shards
from .trace_report import TraceReport

__all__ = ["operator_operations"]


def operator_operations(
    hosting: Hosting,
    router: Router,
    pins: PinTable,
    shards: int,
    now_ms: Callable[[], int],
) -> dict[str, Operation]:
    """By name. They read, and change nothing."""
    traces = hosting.traces
    report = None
    if traces is not None:
        report = TraceReport(router.node, traces, pins, now_ms())

    def of_shards(asked: Mapping[str, Any]) -> dict[str, Any]:
        runner = hosting.replicator.runner
        replicas = None if runner is None else runner.core
        return give_shards(replicas, hosting.states, shards, asked, pins)

    def of_matches(asked: Mapping[str, Any]) -> dict[str, Any]:
        return give_matches(hosting.states, router.owned, now_ms(), asked)

    def of_match(asked: Mapping[str, Any]) -> dict[str, Any]:
        find = hosting.supervisor.actor
        return give_match(hosting.states, find, pins.shard_of, now_ms(), asked)

    def locate(asked: Mapping[str, Any]) -> dict[str, Any]:
        match = asked.get("match")
        if not isinstance(match, str) or not is_match_id(match):
            raise DoorError("malformed_request", "`match` is no id of a match.")
        shard, table = pins.shard_of(match), router.table
        epoch, owner = router.owned.get(shard, 0), router.node
        if not epoch:
            epoch = 0 if table is None else table.epoch(shard)
            owner = "" if table is None else table.owner(shard)
        return {"shard": shard, "epoch": epoch, "owner": owner}

    def of_action(asked: Mapping[str, Any]) -> dict[str, Any]:
        if report is None:
            raise DoorError("no_traces", "This node remembers no actions.")
        runner = hosting.replicator.runner
        replicas = None if runner is None else runner.core
        return report.give(replicas, now_ms(), asked)

    return {
        "action": of_action,
        "locate": locate,
        "match": of_match,
        "matches": of_matches,
        "shards": of_shards,
    }
