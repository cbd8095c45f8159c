"""Whole nodes: a disk that refuses, a process that dies, and the players of both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from hotseat.nodes.client.match import RemoteMatch, Seat
from hotseat.nodes.client.outcome import Accepted, OutcomeUnknown, Refusal
from hotseat.nodes.client.shell import Client
from hotseat.nodes.client.view import View
from hotseat.runtime.match_id import shard_of

from .node_world import SHARDS, NodeWorld, node_world

CELLS = (4, 0, 8, 2, 6)
"""Played in this order, nobody wins for a while."""


class Table:
    """Two players at a match of tic-tac-toe; they play in turn."""

    def __init__(self, match: str, seats: tuple[Seat, Seat]) -> None:
        self.match = match
        self.seats = seats
        self.played = 0

    async def play(self, timeout_s: float = 10.0) -> Accepted | Refusal:
        seat = self.seats[self.played % 2]
        cell = CELLS[self.played]
        answer = await seat.dispatch("place", {"cell": cell}, timeout_s=timeout_s)
        self.played += isinstance(answer, Accepted)
        return answer

    async def plays(self) -> None:
        """The next action is taken, and it is the only one since the last."""
        answer = await self.play()
        assert isinstance(answer, Accepted), answer
        view = await self.seats[0].resync()
        assert isinstance(view, View), view
        assert view.revision == self.played


async def table_at(world: NodeWorld, client: Client, owner: str) -> Table:
    """A match that this node owns."""
    for number in range(100):
        match = await client.create("tic-tac-toe", players=["0", "1"], key=f"{number}")
        assert isinstance(match, RemoteMatch), match
        if shard_of(match.id, SHARDS) in world.serves(owner):
            one, two = await match.take("0"), await match.take("1")
            assert isinstance(one, Seat)
            assert isinstance(two, Seat)
            return Table(match.id, (one, two))
    raise AssertionError(f"{owner} serves nothing")


async def until(condition: Callable[[], object]) -> None:
    """Of several nodes, with no event of their own."""
    with anyio.fail_after(60):
        while not condition():  # noqa: ASYNC110
            await anyio.sleep(0.05)


async def test_a_node_whose_disk_refuses_hands_over_and_comes_back(
    tmp_path: Path, autojump_clock: object
) -> None:
    """The player's action is taken once, by the node that can keep it."""
    async with node_world(tmp_path, "n1", "n2") as world, world.client() as client:
        table = await table_at(world, client, "n1")
        await table.plays()
        world.disks["n1"].failing = "disk_full"
        await table.plays()
        assert shard_of(table.match, SHARDS) in world.serves("n2")
        world.disks["n1"].failing = ""
        await until(lambda: world.nodes["n1"].ready)
        await world.kill("n2")  # what n1 holds now is all there is
        await table.plays()


async def test_a_lone_node_takes_nothing_while_its_disk_refuses(
    tmp_path: Path, autojump_clock: object
) -> None:
    """Nothing is taken while the disk refuses; with the same key the action is taken
    once the disk takes writes."""
    async with node_world(tmp_path, "n1") as world, world.client() as client:
        table = await table_at(world, client, "n1")
        world.disks["n1"].failing = "disk_full"
        with pytest.raises(OutcomeUnknown):  # it asked till the end
            await table.play(timeout_s=5)
        world.disks["n1"].failing = ""
        await until(lambda: world.nodes["n1"].ready)
        await table.plays()


async def test_a_killed_node_costs_no_action(
    tmp_path: Path, autojump_clock: object
) -> None:
    """Its follower goes on; it is back in sync; then it is the other's turn to die."""
    async with node_world(tmp_path, "n1", "n2") as world, world.client() as client:
        table = await table_at(world, client, "n1")
        for name in ("n1", "n2", "n1"):
            await world.kill(name)
            await table.plays()
            await world.start(name)


async def test_nodes_that_are_all_killed_come_back_with_all_that_was_told(
    tmp_path: Path, autojump_clock: object
) -> None:
    """Power lost: what the disks had synced is all that was acknowledged, at least."""
    async with node_world(tmp_path, "n1", "n2") as world, world.client() as client:
        table = await table_at(world, client, "n1")
        for _ in range(3):
            await table.plays()
        for name in ("n1", "n2"):
            await world.kill(name)
        await world.start("n1", "n2")
        await table.plays()


async def test_a_node_that_is_cut_off_is_passed_over_and_rejoins(
    tmp_path: Path, autojump_clock: object
) -> None:
    """It cannot acknowledge without its follower, which goes on."""
    async with node_world(tmp_path, "n1", "n2") as world, world.client() as client:
        table = await table_at(world, client, "n1")
        await table.plays()
        world.isolate("n1")
        await table.plays()
        world.heal("n1")
        await until(lambda: all(node.ready for node in world.nodes.values()))
        await world.kill("n2")
        await table.plays()
