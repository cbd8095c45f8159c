"""A lobby whose node dies: the room is a match, and goes on as one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio

from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.lobby.room_game import game as room_game
from hotseat.runtime.match_id import shard_of

from ..node.node_world import NodeWorld, node_world
from .lobby_rig import OPEN, open_lobby
from .rig import Rig


def owner(world: NodeWorld, match: str) -> str:
    shard = shard_of(match, world.home.shards)
    return next(name for name in world.nodes if shard in world.serves(name))


@asynccontextmanager
async def before(world: NodeWorld) -> AsyncIterator[Rig]:
    """A gateway in front of that cluster."""
    async with world.client() as client, anyio.create_task_group() as tasks:
        made = Rig(cast(Any, None), tasks)
        made.add_gateway(client, [room_game, tic_tac_toe], OPEN)
        try:
            yield made
        finally:
            tasks.cancel_scope.cancel()
            for page in made.pages:
                page.close()


async def test_a_node_dies_while_a_lobby_gathers_and_while_it_starts(
    tmp_path: Path, autojump_clock: Any
) -> None:
    """Nobody's page is closed, nobody loses their seat, and what was asked in the
    meantime is done once."""
    async with node_world(tmp_path, "n1", "n2", "n3") as world, before(world) as made:
        lobby = await open_lobby(made)
        host, guest = await lobby.seated("Ada")
        await anyio.sleep(1)
        for person in (host, guest):
            await person.hear_all()
        first = owner(world, lobby.id)
        await world.kill(first)
        await guest.say("lobby:set_ready", ready=False)
        await host.seated(1, ready=False)
        await world.start(first)
        await guest.say("lobby:set_ready", ready=True)
        seats = (await host.state(canStart=True))["seats"]
        assert [seat["kind"] for seat in seats] == ["human", "human"]
        await host.say("lobby:start")
        await world.kill(owner(world, lobby.id))
        ways = [await one.hear_type("transition_to_game") for one in (host, guest)]
        assert ways[0]["roomID"] == ways[1]["roomID"]
        page = made.open(ways[1]["roomID"], ways[1]["roomToken"])
        assert (await page.hear())["playerID"] == "1"
