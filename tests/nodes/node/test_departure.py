"""A node that is told to stop: nobody waits for it, before its end or after."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from hotseat.nodes.client.match import RemoteMatch, Seat
from hotseat.nodes.client.outcome import Accepted
from hotseat.nodes.node.memory_room import MIB, MemoryRoom
from hotseat.runtime.control_plane import ShardRecord, decode_record

from .node_world import SHARDS, NodeWorld, node_world

SOON_S = 2.0


@pytest.fixture
async def world(tmp_path: Path, autojump_clock: object) -> AsyncIterator[NodeWorld]:
    async with node_world(tmp_path / "c", "n1", "n2", "n3") as world:
        yield world


def records(world: NodeWorld) -> list[ShardRecord]:
    entries = world.store.list("").entries
    return [
        decode_record(ShardRecord, entry.key, entry.value)
        for entry in entries
        if "/shard/" in entry.key
    ]


def members(world: NodeWorld) -> set[str]:
    """Who is in sync in any shard."""
    return {node for record in records(world) for node, _ in record.isr}


async def test_what_it_owned_is_handed_over_before_it_ends(
    world: NodeWorld, autojump_clock: object
) -> None:
    """Its last act is no takeover: each shard is served by another node when it is
    gone, it is in no in-sync set, and players go on at once."""
    async with world.client() as client:
        seats = []
        for number in range(12):
            match = await client.create(
                "tic-tac-toe", players=["0", "1"], key=f"{number}"
            )
            assert isinstance(match, RemoteMatch)
            seat = await match.take("0")
            assert isinstance(seat, Seat)
            seats.append(seat)
        for name in "n1", "n2":
            assert world.serves(name)
            began_s = anyio.current_time()
            await world.stop(name)
            assert anyio.current_time() - began_s < SOON_S
            served = [shard for node in world.nodes for shard in world.serves(node)]
            assert sorted(served) == list(range(SHARDS))
            assert name not in members(world)
        for seat in seats:
            began_s = anyio.current_time()
            assert isinstance(await seat.dispatch("place", {"cell": 4}), Accepted)
            assert anyio.current_time() - began_s < 0.5


async def test_after_the_restart_it_owns_its_share_again(
    world: NodeWorld, autojump_clock: object
) -> None:
    """What said that it leaves was about that process."""
    await world.stop("n1")
    await world.start("n1")
    with anyio.fail_after(10):
        while not world.serves("n1"):  # noqa: ASYNC110  # several nodes make it so
            await anyio.sleep(0.05)


async def test_a_whole_cluster_ends_at_once(
    world: NodeWorld, autojump_clock: object
) -> None:
    """Nobody waits for anybody to take something."""
    began_s = anyio.current_time()
    async with anyio.create_task_group() as tasks:
        for name in list(world.nodes):
            tasks.start_soon(world.stop, name)
    assert anyio.current_time() - began_s < SOON_S
    await world.start()
    assert sum(len(world.serves(name)) for name in world.nodes) == SHARDS


async def test_without_the_coordinator_it_ends_all_the_same(
    world: NodeWorld, autojump_clock: object
) -> None:
    """Nothing can be handed over then."""
    world.coordinators["n1"].down = True
    began_s = anyio.current_time()
    await world.stop("n1")
    assert anyio.current_time() - began_s < 2 * SOON_S


async def test_asked_twice_it_ends_at_once(
    world: NodeWorld, autojump_clock: object
) -> None:
    """As Ctrl-C twice."""
    for other in "n2", "n3":  # so that nothing can be handed over
        world.network.cut("n1", other)
        world.network.cut(other, "n1")
    await anyio.sleep(1)
    began_s = anyio.current_time()
    async with anyio.create_task_group() as tasks:
        node = world.nodes["n1"]
        tasks.start_soon(world.stop, "n1")
        await anyio.sleep(0.5)
        node.stop()
    assert anyio.current_time() - began_s < 1


def test_room_is_told_with_some_play() -> None:
    """It does not flicker about the limit."""
    memory = MemoryRoom(100)
    changes = [memory.judge(held * MIB) for held in (84, 86, 84, 76, 74, 84)]
    assert changes == [False, True, False, False, True, False]
    assert memory.room
    assert MemoryRoom(1).look()
    assert not MemoryRoom(1 << 30).look()
