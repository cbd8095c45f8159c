"""Shards are moved, and a node is drained, at a cluster of real processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .shell import Operator, running_cluster
from .test_up import wait_until

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A folder with a cluster of three nodes in `.hotseat`."""
    with running_cluster(tmp_path, "--nodes", "3", "--shards", "6"):
        yield tmp_path


def test_shards_are_moved_and_a_node_is_drained(home: Path, operator: Operator) -> None:
    """As JSON and for people; without a yes nothing is done; a plan tells why not."""
    plan = operator.told("rebalance", "--dry-run", cwd=home)
    assert plan["on"]
    assert sum(share["owns"] for share in plan["shares"]) == 6
    assert plan["reasons"] or plan["changes"]
    assert operator.run("rebalance", "--off", "--yes", cwd=home).status == 0
    shard = operator.told("shard", "show", "0", cwd=home)["shard"]
    to = next(node for node in ("n1", "n2", "n3") if node != shard["owner"])
    asked = ("shard", "move", "0", "--to", to)
    assert operator.run(*asked, cwd=home).status == 2
    moved = operator.told(*asked, "--yes", cwd=home)["outcome"]
    assert (moved["from"], moved["to"]) == (shard["owner"], to)
    assert moved["pause_ms"] is not None
    again = operator.run(*asked, "--yes", cwd=home)
    assert (again.status, "already_there" in again.stderr) == (1, True)

    drained = operator.run("node", "drain", "n1", "--yes", cwd=home)
    assert drained.status == 0
    assert "n1 is drained: " in drained.stdout
    wait_until(lambda: operator.run("node", "list", cwd=home).status == 0)
    nodes = operator.told("node", "list", cwd=home)["nodes"]
    assert [node["state"] for node in nodes] == ["draining", "up", "up"]
    assert nodes[0]["shards"] == 0
    told = operator.run("rebalance", "--dry-run", cwd=home).stdout
    assert "rebalancing is off" in told
    assert "node_draining (n1)" in told
    assert operator.run("node", "drain", "--yes", cwd=home).status == 2
    undrained = operator.run("node", "undrain", "n1", "--yes", cwd=home)
    assert "n1 drains no more" in undrained.stdout
    spread = operator.run("rebalance", "--yes", cwd=home)
    assert spread.status == 0, spread
    assert " -> n1" in spread.stdout
