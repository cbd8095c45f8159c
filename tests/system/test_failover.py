"""A cluster that dies, in part or as a whole, and what its operator finds after it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from hotseat.nodes.client import Accepted, RemoteMatch, Seat, View, connect
from tests.system.test_up import Operator, wait_until

pytestmark = [pytest.mark.system, pytest.mark.slow]

MATCHES = 12
"""Enough that some shard of every node has one."""


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Operator]:
    operator = Operator(tmp_path)
    yield operator
    assert operator.run("down").returncode == 0


async def begin(home: Path) -> list[tuple[str, int]]:
    """Some matches of tic-tac-toe, each with one mark in the middle."""
    begun: list[tuple[str, int]] = []
    async with connect(home) as client:
        for number in range(MATCHES):
            match = await client.create(
                "tic-tac-toe", players=["0", "1"], key=f"match-{number}"
            )
            assert isinstance(match, RemoteMatch)
            seat = await match.take("0")
            assert isinstance(seat, Seat)
            assert isinstance(await seat.dispatch("place", {"cell": 4}), Accepted)
            begun.append((match.id, match.epoch))
    return begun


async def go_on(home: Path, begun: list[tuple[str, int]]) -> None:
    """The other player finds the mark, and answers it."""
    async with connect(home) as client:
        for name, epoch in begun:
            match = client.join(name, epoch, ["0", "1"])
            seat = await match.take("1")
            assert isinstance(seat, Seat), seat
            view = await seat.resync()
            assert isinstance(view, View), view
            assert view.revision == 1
            assert isinstance(await seat.dispatch("place", {"cell": 0}), Accepted)


def whole(operator: Operator) -> bool:
    """Every node is ready, and every shard has both copies in sync."""
    shown = operator.status()
    ready = all(node["ready"] for node in shown["nodes"])
    return ready and shown["shards_in_sync"] == shown["shards"]


def kill(operator: Operator, *nodes: str) -> None:
    pids = [operator.pid(node) for node in nodes]
    for pid in pids:
        assert pid
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("how", ["down", "kill"])
def test_a_whole_cluster_comes_back_with_its_matches(
    how: str, operator: Operator
) -> None:
    """Stopped in order or killed at once, as by a power cut: the disks have it all."""
    assert operator.run("up", "--nodes", "2", "--detach").returncode == 0
    begun = anyio.run(begin, operator.home)
    if how == "kill":
        kill(operator, "up", "n1", "n2")
    else:
        assert operator.run("down").returncode == 0
    up = operator.run("up", "--detach")
    assert (up.returncode, up.stderr) == (0, "")
    anyio.run(go_on, operator.home, begun)
    wait_until(lambda: whole(operator))


def test_memory_survives_a_clean_stop_of_all(operator: Operator) -> None:
    """Without durability the disk only follows; a clean stop waits for it."""
    memory = ("--nodes", "2", "--durability", "memory")
    up = operator.run("up", *memory, "--detach")
    assert (up.returncode, up.stderr) == (0, "")
    begun = anyio.run(begin, operator.home)
    assert operator.run("down").returncode == 0
    assert operator.run("up", "--detach").returncode == 0
    anyio.run(go_on, operator.home, begun)
    wait_until(lambda: whole(operator))


def test_a_killed_node_is_back_in_sync_and_can_take_over_again(
    operator: Operator,
) -> None:
    """One node after the other: each time the others go on with its matches."""
    assert operator.run("up", "--detach").returncode == 0
    begun = anyio.run(begin, operator.home)
    for node in ("n1", "n2", "n3"):
        wait_until(lambda: whole(operator))
        kill(operator, node)
    anyio.run(go_on, operator.home, begun)
    wait_until(lambda: whole(operator))


def test_nodes_that_stop_hand_over_before_they_go(operator: Operator) -> None:
    """A node that is told to stop resigns: its shards are served at once elsewhere."""
    assert operator.run("up", "--detach").returncode == 0
    begun = anyio.run(begin, operator.home)
    wait_until(lambda: whole(operator))
    pid = operator.pid("n1")
    assert pid
    os.kill(pid, signal.SIGTERM)
    anyio.run(go_on, operator.home, begun)


def test_a_lone_node_keeps_its_matches(operator: Operator) -> None:
    """One copy on disk survives its process."""
    assert operator.run("up", "--nodes", "1", "--detach").returncode == 0
    assert operator.status()["copies"] == 1
    begun = anyio.run(begin, operator.home)
    kill(operator, "n1")
    anyio.run(go_on, operator.home, begun)
