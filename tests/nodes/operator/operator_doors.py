"""Doors of a cluster without processes: what the operator's commands ask of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hotseat.nodes.cluster_dir import ClusterDir
from hotseat.nodes.operator import ask_cluster, doors, match_search, survey
from hotseat.nodes.operator.ask_door import DoorRefused, DoorUnreachable
from hotseat.nodes.operator.door import DoorError
from hotseat.nodes.operator.match_page import give_matches
from hotseat.nodes.operator.match_report import give_match
from hotseat.nodes.operator.rows import ReplicaRow, row_json
from hotseat.runtime.pin_table import PinTable

from ...runtime.states.stage import SHARD, Log, Node

__all__ = ["NOW_MS", "SHARDS", "Doors", "PretendedNode"]

SHARDS = 4
NOW_MS = 61_000


class PretendedNode:
    """One node's answers. Change its fields to change them."""

    def __init__(self, *shards: ReplicaRow, log: Log | None = None) -> None:
        """It holds what is in `log`, and serves what its `shards` say."""
        self.shards = {row.shard: row for row in shards}
        self.node = Node()
        self.log = log or Log()
        for entry in self.log.entries:
            self.node.states.apply(SHARD, entry)
        self.pins = PinTable(SHARDS)
        self.ready = True
        self.set_apart: list[dict[str, Any]] = []
        self.committed = 0
        self.statistics: dict[str, dict[str, Any]] = {}
        self.others: dict[str, dict[str, Any]] = {}
        """What it knows of nodes that are not of this folder."""
        self.silent = False
        self.old = False
        """Of a build that knows none of these operations."""

    def answer(self, op: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """As its door would."""
        states = self.node.states
        if op == "status":
            return self._status()
        if self.old:
            raise DoorError("unknown_op", "This node knows: status.")
        if op == "nodes":
            return {"nodes": self.others}
        if op == "shards":
            wanted = asked.get("shard")
            rows = [r for s, r in self.shards.items() if wanted in (None, s)]
            return {"shards": [row_json(row) for row in rows], "next": None}
        if op == "matches":
            served = {s: r.epoch for s, r in self.shards.items() if r.serving}
            return give_matches(states, served, NOW_MS, asked)
        assert op == "match", op
        return give_match(states, lambda match: None, self.pins.shard_of, NOW_MS, asked)

    def _status(self) -> dict[str, Any]:
        serving = [shard for shard, row in self.shards.items() if row.serving]
        going_on, ended = self.node.states.counts(serving)
        return {
            "ready": self.ready,
            "shards": serving,
            "following": len(self.shards) - len(serving),
            "matches": going_on,
            "ended": ended,
            "set_apart": self.set_apart,
            "statistics": {"committer": {"committed": self.committed}}
            | self.statistics,
        }


class Doors:
    """The doors of some nodes; `home` is their cluster's folder."""

    def __init__(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, **nodes: PretendedNode
    ) -> None:
        self.nodes = nodes
        self.home = ClusterDir.open(path / "c", SHARDS, tuple(nodes))
        self._by_door = {self.home.door(name): node for name, node in nodes.items()}
        for name in nodes:
            self.home.pid_path(name).touch()
        for module in (ask_cluster, doors, match_search, survey):
            monkeypatch.setattr(module, "ask_door", self.ask)

    async def ask(self, address: str, op: str, **fields: Any) -> dict[str, Any]:
        """In place of `ask_door`."""
        node = self._by_door[address]
        if node.silent:
            raise DoorUnreachable(f"nobody answers at {address}")
        try:
            return dict(node.answer(op, fields))
        except DoorError as error:
            raise DoorRefused(error.code, error.message) from error
