"""An operator lets a shard go on from an old copy, when nobody else has one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from hotseat.nodes.client import Accepted, Refusal, Seat, View
from hotseat.nodes.operator.rows import ReplicaRow, read_row
from hotseat.nodes.operator_error import OperatorError
from hotseat.runtime.testing.memory_journal import MemoryDisk

from ..node.node_world import SHARDS, NodeWorld, node_world
from .operated import DUEL_SPEC, Operated, play


@pytest.fixture
async def world(tmp_path: Path, autojump_clock: object) -> AsyncIterator[NodeWorld]:
    async with node_world(tmp_path / "c", "n1", "n2", "n3", games=[DUEL_SPEC]) as world:
        yield world


async def row(operator: Operated, node: str, shard: int) -> ReplicaRow:
    (found,) = (await operator.ask_door(node, "shards", shard=shard))["shards"]
    return read_row(ReplicaRow, found)


async def until(condition: Callable[[], Any], within_s: float = 60) -> None:
    with anyio.fail_after(within_s):
        while not await condition():  # noqa: ASYNC110  # it depends on several nodes
            await anyio.sleep(0.5)


async def refused(
    operator: Operated, node: str, verb: str, target: str, **args: Any
) -> str:
    with pytest.raises(OperatorError) as caught:
        await operator.operate(verb, target, args, node=node, timeout_s=100)
    return caught.value.code


async def test_a_stale_copy_is_recovered_when_all_that_were_in_sync_are_gone(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """Players go on from what it has; their views say that something was lost."""
    async with world.client() as client:
        match, seat = await play(client)
        located = await operator.ask_door("n1", "locate", match=match)
        shard, owner = located["shard"], located["owner"]
        stale = next(n for n in (await row(operator, owner, shard)).isr if n != owner)
        third = next(n for n in ("n1", "n2", "n3") if n not in (owner, stale))
        await world.kill(stale)

        async def third_is_in_sync() -> bool:
            isr = (await row(operator, owner, shard)).isr
            return set(isr) == {owner, third}

        await until(third_is_in_sync)
        for _ in range(3):
            assert isinstance(await seat.dispatch("add", 100), Accepted)
        seen = await seat.resync()
        assert isinstance(seen, View)
        assert seen.view == {"total": 304}
        await world.start(stale)
        await world.kill(owner, third)
        for name in (owner, third):
            world.disks[name] = MemoryDisk()
        await anyio.sleep(5)  # their registrations end
        args: dict[str, Any] = {"dead": [owner, third]}
        code = await refused(operator, stale, "shard.recover", str(shard), **args)
        assert code == "needs_unclean"
        args = {"unclean": True, "dead": [owner]}
        code = await refused(operator, stale, "shard.recover", str(shard), **args)
        assert code == "member_not_named"
        args["dead"].append(third)
        done = await operator.operate("shard.recover", str(shard), args, node=stale)
        assert done.outcome["serving"]
        assert done.outcome["history"] == done.outcome["epoch"] > 2
        assert done.outcome["matches"] == 1
        with anyio.fail_after(60):
            view = await seat.resync(timeout_s=50)
        assert isinstance(view, View)
        assert view.view == {"total": 4}
        assert view.history == done.outcome["history"]
        assert view.revision < seen.revision
        assert isinstance(await seat.dispatch("add", 1, timeout_s=50), Accepted)
        latest = await seat.resync()
        assert isinstance(latest, View)
        assert latest.view == {"total": 5}
        records = await operator.audit()
        codes = sorted(r["code"] for r in records)  # within a millisecond: in any order
        assert codes == ["", "member_not_named", "needs_unclean"]
        code = await refused(operator, stale, "shard.recover", str(shard), **args)
        assert code == "not_needed"
        with anyio.move_on_after(10):  # other shards are still lost: they wait
            await world.start(owner, third)

        async def has_a_copy_again() -> bool:
            return len((await row(operator, stale, shard)).isr) == 2

        await until(has_a_copy_again)
        assert isinstance(await seat.dispatch("add", 1), Accepted)


async def test_what_is_not_in_the_copy_is_gone_and_its_players_are_told(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """A seat that was taken since is taken anew by who holds its token; a match that
    was created since is lost. A shard without any copy begins with nothing."""
    async with world.client() as client:
        match, seat = await play(client)
        located = await operator.ask_door("n1", "locate", match=match)
        shard, owner = located["shard"], located["owner"]
        stale = next(n for n in (await row(operator, owner, shard)).isr if n != owner)
        third = next(n for n in ("n1", "n2", "n3") if n not in (owner, stale))
        await world.kill(stale)

        async def third_is_in_sync() -> bool:
            return third in (await row(operator, owner, shard)).isr

        await until(third_is_in_sync)
        other = await seat.match.take("1")
        assert isinstance(other, Seat)
        assert isinstance(await other.dispatch("add", 100), Accepted)
        late = (await play(client))[1]
        await world.start(stale)
        await world.kill(owner, third)
        for name in (owner, third):
            world.disks[name] = MemoryDisk()
        await anyio.sleep(5)
        args = {"unclean": True, "empty": True, "dead": [owner, third]}
        for number in range(SHARDS):
            if not (await row(operator, stale, number)).serving:
                await operator.operate("shard.recover", str(number), args, node=stale)
        assert isinstance(await other.dispatch("add", 1, timeout_s=50), Accepted)
        view = await other.resync(timeout_s=50)
        assert isinstance(view, View)
        assert view.view == {"total": 5}
        lost = await late.dispatch("add", 1, timeout_s=50)
        assert isinstance(lost, Refusal)
        assert lost.code == "match_lost"
        await world.start(owner, third)  # all shards are served again


async def test_what_cannot_be_recovered_is_refused(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """Each with its code; the shard goes on as it did."""
    located = await row(operator, "n1", 0)
    owner = located.owner
    other = next(n for n in located.isr if n != owner)
    third = next(n for n in ("n1", "n2", "n3") if n not in located.isr)
    full = {"unclean": True, "dead": list(located.isr)}
    for node, args, code in (
        (owner, full, "not_needed"),
        (other, full, "not_needed"),
        (third, full, "member_lives"),
        (third, {"restored": True}, "not_needed"),
        (third, {"dead": "n1"}, "malformed_request"),
        (third, {"above": -1}, "malformed_request"),
        (third, {"empty": 1}, "malformed_request"),
    ):
        assert await refused(operator, node, "shard.recover", "0", **args) == code
    assert await refused(operator, third, "shard.recover", "99", **full) == (
        "no_such_shard"
    )
    assert await refused(operator, third, "node.trust", third) == "not_needed"
    assert (await row(operator, owner, 0)).serving


async def test_a_coordinator_from_a_backup_is_led_out_of(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """Nodes that started since the backup are vouched for; epochs are raised."""
    async with world.client() as client:
        match, seat = await play(client)
        located = await operator.ask_door("n1", "locate", match=match)
        shard, first = located["shard"], located["owner"]
        backup = world.store.image()
        await world.kill(first)
        assert isinstance(await seat.dispatch("add", 10, timeout_s=50), Accepted)
        second = (await operator.ask_door(_any(world, first), "locate", match=match))[
            "owner"
        ]
        await world.start(first)
        await anyio.sleep(5)
        for name in ("n1", "n2", "n3"):
            await world.kill(name)
        world.store.restore(backup)
        with anyio.move_on_after(10):
            await world.start()
        assert (
            await refused(operator, first, "shard.recover", str(shard), restored=True)
            == "not_ready"
        )
        done = await operator.operate("node.trust", first, {}, node=first)
        assert done.outcome["node"] == first
        assert not (await row(operator, second, shard)).serving
        args = {"restored": True}
        done = await operator.operate("shard.recover", str(shard), args, node=second)
        assert done.outcome["serving"]
        view = await seat.resync(timeout_s=50)
        assert isinstance(view, View)
        assert view.view == {"total": 14}
        assert isinstance(await seat.dispatch("add", 1, timeout_s=50), Accepted)


def _any(world: NodeWorld, but: str) -> str:
    return next(name for name in world.nodes if name != but)
