"""B69, B70: a planned change of owners that is cut short; a drain that takes long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from hotseat.nodes.chaos.cluster import ChaosCluster, ClusterPlan, chaos_cluster
from hotseat.nodes.client import (
    Accepted,
    Client,
    ClientOptions,
    RemoteMatch,
    Seat,
    connect,
)
from hotseat.nodes.operator.ask import Outcome, operate
from hotseat.nodes.operator.ask_cluster import ask_cluster
from hotseat.nodes.operator.survey import survey
from hotseat.nodes.operator_error import OperatorError
from hotseat.runtime.match_id import shard_of

from .live_table import PATIENT_S, table

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(180)]

MATCHES = 500
SHARDS = 16
SHORT_S = 0.7
AWAY_S = 4.0
"""How long nodes that are killed are away: longer than a drain of so short a time."""

PATIENT = ClientOptions(timeout_s=PATIENT_S, requests_max=16_384)

MOVE_ENDS = {
    "already_there",
    "move_replaced",
    "move_timed_out",
    "no_such_node",
    "owner_changed",
}
"""What a move that did not come off says."""


async def test_b69_a_target_that_dies_half_way_leaves_one_owner() -> None:
    """Killed at one moment of the hand-off after another: the source goes on, or the
    shard is taken over; there is never nobody for long, and never two."""
    accepted: list[Accepted] = []
    async with table(ClusterPlan(nodes=3)) as it:
        for delay_ms in (0.0, 3.0, 6.0, 10.0, 15.0, 25.0):
            health = await it.cluster.until_full(PATIENT_S)
            source = health.owners[it.shard]
            target = next(n for n in health.in_sync[it.shard] if n != source)
            ends: list[str] = []

            async def move(target: str = target, ends: list[str] = ends) -> None:
                try:
                    done = await operate(
                        it.cluster.home,
                        "shard.move",
                        str(it.shard),
                        {"to": target, "timeout_s": 5.0},
                    )
                    ends.append(str(done.outcome["to"]))
                except OperatorError as error:
                    ends.append(error.code)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(move)
                await anyio.sleep(delay_ms / 1000)
                it.cluster.processes.kill([target])
                accepted.append(await it.move())
            assert ends[0] == target or ends[0] in MOVE_ENDS, ends
            accepted.append(await it.move())
            assert len(await owners(it.cluster, it.shard)) == 1
        await it.check(accepted)


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    """Other processes have no event to wait for: ask again until it is so."""
    with anyio.fail_after(PATIENT_S):
        while not await true():  # noqa: ASYNC110
            await anyio.sleep(0.02)


async def owners(cluster: ChaosCluster, shard: int) -> list[str]:
    """The nodes that say that they serve the shard."""
    answers = await ask_cluster(cluster.home, "status")
    return [
        n for n, a in answers.items() if isinstance(a, dict) and shard in a["shards"]
    ]


async def shards_of(cluster: ChaosCluster, node: str) -> set[int]:
    """What the node says that it serves."""
    answer = (await ask_cluster(cluster.home, "status"))[node]
    assert isinstance(answer, dict), answer
    return set(answer["shards"])


async def drain(cluster: ChaosCluster, timeout_s: float) -> Outcome:
    """As before a restart: what n1 owns goes, its copies stay."""
    args = {"timeout_s": timeout_s, "until_restart": True}
    home = cluster.home
    return await operate(home, "node.drain", "n1", args, node="n1", timeout_s=None)


async def created(client: Client, count: int) -> list[RemoteMatch]:
    """So many matches, begun as fast as the nodes take them."""
    matches: list[RemoteMatch] = []
    limit = anyio.CapacityLimiter(50)

    async def create() -> None:
        async with limit:
            match = await client.create("connect-four", players=["0", "1"])
        assert isinstance(match, RemoteMatch), match
        matches.append(match)

    async with anyio.create_task_group() as tasks:
        for _ in range(count):
            tasks.start_soon(create)
    return matches


async def played_on(matches: list[RemoteMatch]) -> None:
    """In each of them somebody sits down, and moves."""
    for match in matches:
        seat = await match.take("0")
        assert isinstance(seat, Seat), seat
        outcome = await seat.dispatch("drop", {"column": 3})
        assert isinstance(outcome, Accepted), outcome
        seat.close()


async def test_b70_a_drain_moves_every_match_while_a_deploy_waits() -> None:
    """Of 500 matches: none is left at the node, none is gone, and all are played on."""
    async with (
        chaos_cluster(ClusterPlan()) as cluster,
        connect(cluster.home, options=PATIENT) as client,
    ):
        await cluster.until_full(PATIENT_S)
        matches = await created(client, MATCHES)
        owned = await shards_of(cluster, "n1")
        there = [m for m in matches if shard_of(m.id, SHARDS) in owned]
        drained = await drain(cluster, 60.0)
        assert drained.outcome["shards"] == len(owned)
        assert drained.outcome["matches"] == len(there) > 0
        assert await shards_of(cluster, "n1") == set()
        await played_on(there[:50])
        found = await survey(cluster.home)
        assert found.cluster.matches == MATCHES


async def test_b70_what_is_left_when_the_time_is_up_is_named_and_served() -> None:
    """Nobody takes anything over: the drain says so, shard by shard, and ends nothing.
    It goes on by itself when it can."""
    async with (
        chaos_cluster(ClusterPlan(restart_s=AWAY_S)) as cluster,
        connect(cluster.home, options=PATIENT) as client,
    ):
        await cluster.until_full(PATIENT_S)
        matches = await created(client, 50)
        cluster.processes.kill(["n2", "n3"])

        async def is_alone() -> bool:
            return {*(await cluster.health()).in_sync.values()} == {("n1",)}

        await until(is_alone)
        owned = await shards_of(cluster, "n1")
        with pytest.raises(OperatorError) as caught:
            await drain(cluster, SHORT_S)
        assert await shards_of(cluster, "n1") == owned
        if caught.value.code == "last_node":  # the leases of the others had run out
            assert "No other node is up" in caught.value.message
        else:
            assert caught.value.code == "drain_timed_out"
            assert all(f"shard {shard}: " in caught.value.message for shard in owned)
        await played_on([m for m in matches if shard_of(m.id, SHARDS) in owned][:5])
        await cluster.until_full(PATIENT_S)
        if caught.value.code == "last_node":
            await drain(cluster, PATIENT_S)

        async def is_drained() -> bool:
            return not await shards_of(cluster, "n1")

        await until(is_drained)
        await played_on(matches[-5:])
