"""An operator moves shards, drains and removes nodes, and spreads shards evenly."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from hotseat.nodes.client import Accepted
from hotseat.nodes.operator.balance_rows import BalanceRow
from hotseat.nodes.operator.rows import read_row
from hotseat.nodes.operator_error import OperatorError
from hotseat.runtime.control_plane import Keys, ShardRecord, decode_record

from ..node.node_world import SHARDS, NodeWorld, node_world
from .operated import DUEL_SPEC, Operated, play


@pytest.fixture
async def world(tmp_path: Path, autojump_clock: object) -> AsyncIterator[NodeWorld]:
    async with node_world(tmp_path / "c", "n1", "n2", "n3", games=[DUEL_SPEC]) as world:
        yield world


def owners(world: NodeWorld) -> dict[int, str]:
    return {shard: name for name in world.nodes for shard in world.serves(name)}


def holds(world: NodeWorld, name: str) -> int:
    """Copies of others' shards that it holds in sync."""
    following: int = world.nodes[name].tell.status({})["following"]
    return following


def moving_to(world: NodeWorld) -> dict[int, str]:
    """By shard: who is to own it, by the coordinator's record."""
    keys = Keys(world.home.cluster)
    found = {}
    for entry in world.store.list(keys.prefix).entries:
        shard = keys.shard_of(entry.key)
        if shard is not None:
            record = decode_record(ShardRecord, entry.key, entry.value)
            if record.move is not None:
                found[shard] = record.move.to
    return found


async def until(condition: Callable[[], object], within_s: float = 30) -> None:
    with anyio.fail_after(within_s):
        while not condition():  # noqa: ASYNC110  # it depends on several nodes
            await anyio.sleep(0.02)


async def refused(
    operator: Operated, verb: str, target: str, **args: Any
) -> OperatorError:
    node = args.pop("node", None)
    with pytest.raises(OperatorError) as caught:
        await operator.operate(verb, target, args, node=node, timeout_s=100)
    return caught.value


async def test_a_shard_is_moved_and_stays_there(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """To a node that held no copy, too; whichever node is asked; players go on."""
    async with world.client() as client:
        seats = [(await play(client))[1] for _ in range(8)]
        before = owners(world)
        counts = Counter(before.values())
        source = max(counts, key=counts.__getitem__)
        to = next(name for name in world.nodes if counts[name] < counts[source])
        shard = world.serves(source)[-1]
        done = (await operator.operate("shard.move", str(shard), {"to": to})).outcome
        assert (done["from"], done["to"]) == (source, to)
        assert done["pause_ms"] <= 100
        assert owners(world) == before | {shard: to}
        for seat in seats:
            assert isinstance(await seat.dispatch("add", 1), Accepted)
        assert done["epoch"] == 2
        error = await refused(operator, "shard.move", str(shard), to=to)
        assert error.code == "already_there"
        await anyio.sleep(4)
        assert owners(world)[shard] == to


async def test_moves_that_cannot_be_are_refused(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """Each with its code, and nothing is done."""
    before = owners(world)
    other = next(n for n in world.nodes if n != before[0])
    assert (await refused(operator, "shard.move", "0", to="n9")).code == "no_such_node"
    assert (await refused(operator, "shard.move", "77", to=other)).code == (
        "no_such_shard"
    )
    for args in {"to": 3}, {"to": other, "timeout_s": -1}, {}:
        error = await refused(operator, "shard.move", "0", **args)
        assert error.code == "malformed_request"
    await operator.operate("node.drain", other, node=other)
    error = await refused(operator, "shard.move", "0", to=other)
    assert error.code == "node_draining"
    assert owners(world)[0] == before[0]


async def test_a_move_that_does_not_come_off_is_withdrawn(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """The shard stays, goes on, and is not moved later; why is said."""
    before = owners(world)
    other = next(n for n in world.nodes if n != before[0])
    world.network.cut(before[0], other)
    world.network.cut(other, before[0])
    await anyio.sleep(1)
    error = await refused(operator, "shard.move", "0", to=other, timeout_s=0.3)
    assert error.code == "move_timed_out"
    assert f"It stays at {before[0]}" in error.message
    world.network.heal(before[0], other)
    world.network.heal(other, before[0])
    await anyio.sleep(4)
    assert owners(world)[0] == before[0]
    done = await operator.operate("shard.move", "0", {"to": other}, timeout_s=60)
    assert done.outcome["to"] == other


async def test_a_move_is_withdrawn_as_soon_as_the_coordinator_is_back(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """It did not come off, and the coordinator went away: nothing of it is left."""
    owner = owners(world)[0]
    other = next(n for n in world.nodes if n != owner)
    world.network.cut(owner, other)
    world.network.cut(other, owner)
    await anyio.sleep(1)
    async with anyio.create_task_group() as tasks:

        async def moves() -> None:
            error = await refused(operator, "shard.move", "0", to=other, timeout_s=1)
            assert error.code == "move_timed_out"
            tasks.cancel_scope.cancel()

        tasks.start_soon(moves)
        await until(lambda: moving_to(world) == {0: other})
        world.coordinators[owner].down = True
        await anyio.sleep(10)
        assert moving_to(world) == {0: other}
        world.coordinators[owner].down = False
        await anyio.sleep(60)
        pytest.fail("it is not told how that ended")
    assert moving_to(world) == {}


async def test_a_node_is_drained_under_play_and_may_come_back(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """No action is refused; it is given nothing, after a restart neither."""
    async with world.client() as client, anyio.create_task_group() as tasks:
        seats = [(await play(client))[1] for _ in range(6)]
        answers: list[object] = []

        async def acts(seat: Any) -> None:
            while True:
                answers.append(await seat.dispatch("add", 1))
                await anyio.sleep(0.01)

        for seat in seats:
            tasks.start_soon(acts, seat)
        await anyio.sleep(1)
        done = (await operator.operate("node.drain", "n2", node="n2")).outcome
        assert done["node"] == "n2"
        assert done["shards"] == done["pauses"]["shards"] >= 1
        assert done["pauses"]["max_ms"] <= 100
        assert world.serves("n2") == []
        assert len(owners(world)) == SHARDS
        await anyio.sleep(1)
        tasks.cancel_scope.cancel()
        assert len(answers) > 100
        assert all(isinstance(answer, Accepted) for answer in answers)
    await until(lambda: holds(world, "n2") == 0)
    await world.stop("n2")
    await world.start("n2")
    await anyio.sleep(4)
    assert (world.serves("n2"), holds(world, "n2")) == ([], 0)
    done = (await operator.operate("node.undrain", "n2")).outcome
    assert done == {"drained": True}
    await until(lambda: len(world.serves("n2")) >= 1)
    assert (await operator.operate("node.undrain", "n2")).outcome == {"drained": False}


async def test_a_drain_before_a_restart_ends_with_the_restart(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """Its copies stay, and then it owns its share again."""
    following = holds(world, "n1") + len(world.serves("n1"))
    args = {"until_restart": True}
    done = (await operator.operate("node.drain", "n1", args, node="n1")).outcome
    assert (done["until_restart"], done["copies_kept"]) == (True, following)
    await anyio.sleep(4)
    assert world.serves("n1") == []
    await world.stop("n1")
    await world.start("n1")
    await until(lambda: len(world.serves("n1")) >= 1)


async def test_a_drain_that_takes_too_long_says_what_is_left(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """Shard by shard; the node serves them, and drains on."""
    left = world.serves("n1")
    for other in "n2", "n3":
        world.network.cut("n1", other)
        world.network.cut(other, "n1")
    await anyio.sleep(1)
    error = await refused(operator, "node.drain", "n1", node="n1", timeout_s=0.2)
    assert error.code == "drain_timed_out"
    assert all(f"shard {shard}: " in error.message for shard in left)
    assert world.serves("n1") == left
    for other in "n2", "n3":
        world.network.heal("n1", other)
        world.network.heal(other, "n1")
    await until(lambda: world.serves("n1") == [] and len(owners(world)) == SHARDS)


async def test_a_node_that_is_gone_is_removed(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """Others hold its copies, and its data are a stranger's should it come back."""
    error = await refused(operator, "node.remove", "n3")
    assert error.code == "node_in_use"
    assert (await refused(operator, "node.remove", "n9")).code == "no_such_node"
    await world.kill("n3")
    await until(lambda: len(owners(world)) == SHARDS)
    await anyio.sleep(3)
    done = (await operator.operate("node.remove", "n3", timeout_s=60)).outcome
    assert done["node"] == "n3"
    await until(lambda: holds(world, "n1") + holds(world, "n2") == SHARDS)
    with anyio.fail_after(20):
        await world.start("n3")
    await until(lambda: holds(world, "n3") + len(world.serves("n3")) >= SHARDS // 2)


async def test_a_node_that_runs_is_not_removed(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """Drained or not: it is to be stopped first, and is told of as long as it runs."""
    await operator.operate("node.drain", "n2", node="n2", timeout_s=100)
    error = await refused(operator, "node.remove", "n2")
    assert (error.code, "stop it" in error.message) == ("node_in_use", True)
    await world.stop("n2")
    await anyio.sleep(4)
    await operator.operate("node.remove", "n2", timeout_s=60)
    assert not [e.key for e in world.store.list("").entries if "drain" in e.key]


async def test_the_only_copy_is_not_removed(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """Whatever the operator says."""
    await world.kill("n1", "n3")
    await anyio.sleep(4)
    lost = [shard for shard in range(SHARDS) if shard not in owners(world)]
    assert lost
    errors = [await refused(operator, "node.remove", name) for name in ("n1", "n3")]
    assert (
        {"last_copy"}
        <= {error.code for error in errors}
        <= {
            "last_copy",
            "node_in_use",
        }
    )


async def test_shards_are_spread_when_asked_or_by_themselves(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """Turned off, nothing moves but by an operator's round; a plan tells both."""
    assert (await operator.operate("rebalance", "", {"do": "off"})).outcome == {
        "on": False
    }
    await world.kill("n1")
    await until(lambda: len(owners(world)) == SHARDS)
    await world.start("n1")
    await anyio.sleep(4)
    assert world.serves("n1") == []
    answer = await operator.ask_door("n2", "balance")
    plan = read_row(BalanceRow, answer["plan"])
    assert not plan.on
    assert [change.to for change in plan.changes] == ["n1"] * len(plan.changes)
    assert {share.node: share.owns for share in plan.shares}["n1"] == 0

    done = (await operator.operate("rebalance", "", {"do": "round"})).outcome
    assert done["left"] == 0
    assert len(done["changes"]) == len(plan.changes) >= 1
    counts = Counter(owners(world).values())
    assert max(counts.values()) - min(counts.values()) <= 1
    assert (await operator.operate("rebalance", "", {"do": "on"})).outcome == {
        "on": True
    }
    assert (await refused(operator, "rebalance", "", do="what")).code == (
        "malformed_request"
    )
