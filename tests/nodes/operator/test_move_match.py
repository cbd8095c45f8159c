"""An operator moves single matches while they are played."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from hotseat.config import Config, load_config
from hotseat.nodes.client import Accepted
from hotseat.nodes.operator_error import OperatorError

from ..node.node_world import SHARDS, NodeWorld, node_world
from .operated import DUEL, DUEL_SPEC, Operated, play

SECOND = replace(DUEL, version="2")
SECOND_SPEC = f"{__name__}:SECOND"


@pytest.fixture
async def world(
    tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[NodeWorld]:
    """Where a pin that gains nothing ends soon."""

    def config(self: NodeWorld, name: str) -> Config:
        return load_config(
            files=[self.home.config_path],
            flags={
                "--dir": ("node.dir", str(self.home.path)),
                "--node": ("node.id", name),
                "--pin-idle": ("replication.pin_idle_ms", "3000"),
            },
        )

    monkeypatch.setattr(NodeWorld, "_config", config)
    async with node_world(tmp_path / "c", "n1", "n2", "n3", games=[DUEL_SPEC]) as w:
        yield w


def others(world: NodeWorld, owner: str) -> list[str]:
    return [name for name in world.nodes if name != owner]


async def shard_of(operator: Operated, match: str) -> int:
    node = next(iter(operator.world.nodes))
    return int((await operator.ask_door(node, "locate", match=match))["shard"])


async def refused(operator: Operated, match: str, **args: Any) -> OperatorError:
    with pytest.raises(OperatorError) as caught:
        await operator.operate("match.move", match, args, match=match, timeout_s=100)
    return caught.value


async def test_a_match_is_moved_alone_while_it_is_played(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """No action is refused, lost, doubled or put after a later one."""
    async with world.client() as client, anyio.create_task_group() as tasks:
        match, seat = await play(client)
        other, _ = await play(client)
        source, stays = await operator.owner(match), await operator.owner(other)
        to = others(world, source)[0]
        answers: list[object] = []

        async def acts() -> None:
            while True:
                answers.append(await seat.dispatch("add", 1))
                await anyio.sleep(0.005)

        tasks.start_soon(acts)
        await anyio.sleep(0.2)
        done = await operator.about("match.move", match, to=to)
        assert (done["match"], done["from"], done["to"]) == (match, source, to)
        assert done["pause_ms"] <= 100
        assert done["pinned_ms"] is not None
        assert await operator.owner(match) == to
        assert await operator.owner(other) == stays
        await anyio.sleep(0.5)
        tasks.cancel_scope.cancel()
        assert len(answers) > 8
        assert all(isinstance(answer, Accepted) for answer in answers)
        revisions = [a.revision for a in answers if isinstance(a, Accepted)]
        assert revisions == list(range(revisions[0], revisions[0] + len(revisions)))


async def test_it_may_be_moved_on_and_is_at_home_again_in_time(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """A pin that gains nothing any more ends by itself."""
    async with world.client() as client:
        match, seat = await play(client)
        home = await operator.owner(match)
        first, second = others(world, home)
        for to in (first, second, home):
            done = await operator.about("match.move", match, to=to)
            assert (done["pinned_ms"] is None) == (to != first)
            assert isinstance(await seat.dispatch("add", 1), Accepted)
            assert (await refused(operator, match, to=to)).code == "already_there"
        assert await shard_of(operator, match) >= SHARDS
        with anyio.fail_after(20):
            while await shard_of(operator, match) >= SHARDS:  # noqa: ASYNC110
                await anyio.sleep(0.5)
        assert isinstance(await seat.dispatch("add", 1), Accepted)
        assert await operator.owner(match) == home
        shard = await shard_of(operator, match)
        await operator.operate("shard.move", str(shard), {"to": first})
        assert await operator.owner(match) == first
        assert isinstance(await seat.dispatch("add", 1), Accepted)


async def test_what_cannot_be_moved_is_refused(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """Each with its code; the match is where it was, and has no shard of its own."""
    async with world.client() as client:
        match, seat = await play(client)
        source = await operator.owner(match)
        to = others(world, source)[0]
        assert (await refused(operator, match, to="n9")).code == "no_such_node"
        assert (await refused(operator, match, to=3)).code == "malformed_request"
        error = await refused(operator, match, to=to, timeout_s=0)
        assert error.code == "malformed_request"
        error = await refused(operator, "a" * 26, to=to)
        assert error.code in ("no_such_match", "already_there")
        await operator.operate("node.drain", to, node=to)
        assert (await refused(operator, match, to=to)).code == "node_draining"
        assert await operator.owner(match) == source
        assert isinstance(await seat.dispatch("resign"), Accepted)
        await operator.operate("node.undrain", to, node=to)
        await anyio.sleep(2)
        assert (await refused(operator, match, to=to)).code == "ended"


async def test_a_move_that_does_not_come_off_leaves_the_match_where_it_was(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """It is withdrawn; the match goes on, and is not moved later."""
    async with world.client() as client:
        match, seat = await play(client)
        source = await operator.owner(match)
        to = others(world, source)[0]
        world.network.cut(source, to)
        world.network.cut(to, source)
        await anyio.sleep(2)
        error = await refused(operator, match, to=to, timeout_s=0.5)
        assert error.code == "move_timed_out"
        assert isinstance(await seat.dispatch("add", 1), Accepted)
        world.network.heal(source, to)
        world.network.heal(to, source)
        await anyio.sleep(4)
        assert await operator.owner(match) == source
        assert isinstance(await seat.dispatch("add", 1), Accepted)


async def test_only_a_node_with_the_version_of_the_game_is_given_a_match(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """Neither the match nor its shard goes to another; whatever else a node has."""
    await operator.operate("rebalance", "", {"do": "off"})
    await world.kill("n3")
    with anyio.fail_after(30):  # so that no match begins where its game is not
        while sum(len(world.serves(name)) for name in world.nodes) < SHARDS:  # noqa: ASYNC110
            await anyio.sleep(0.05)
    world.games = ()
    await world.start("n3")
    async with world.client() as client:
        match, seat = await play(client)
        owner = await operator.owner(match)
        assert owner != "n3"
        shard = str(await shard_of(operator, match))
        error = await refused(operator, match, to="n3")
        assert (error.code, "duel 1" in error.message) == ("lacks_games", True)
        with pytest.raises(OperatorError) as caught:
            await operator.operate("shard.move", shard, {"to": "n3"}, timeout_s=100)
        assert caught.value.code == "lacks_games"
        await world.kill("n3")
        world.games = (DUEL_SPEC, SECOND_SPEC)
        await world.start("n3")
        await operator.about("match.move", match, to="n3")
        assert await operator.owner(match) == "n3"
        assert isinstance(await seat.dispatch("add", 1), Accepted)
