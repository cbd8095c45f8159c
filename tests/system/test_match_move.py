"""A single match is moved between real nodes, while it is played."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import anyio
import pytest

from hotseat.nodes.chaos.cluster import ClusterPlan
from hotseat.nodes.client import Accepted
from hotseat.nodes.operator.ask import operate
from hotseat.nodes.operator_error import OperatorError

from ..scenarios.live_table import PATIENT_S, Table, table

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(180)]


async def move_match(it: Table, to: str) -> dict[str, Any]:
    match = it.match.id
    done = await operate(
        it.cluster.home, "match.move", match, {"to": to}, match=match, timeout_s=60
    )
    return dict(done.outcome)


async def test_a_match_goes_round_all_nodes_while_it_is_played() -> None:
    """Nothing is refused, lost, doubled or reordered; a shard's other matches stay."""
    accepted: list[Accepted] = []
    outcomes: list[dict[str, Any]] = []
    async with table(ClusterPlan(nodes=3)) as it:
        home = await it.owner()
        others = [node for node in it.cluster.nodes if node != home]
        for to in (*others, home, others[1], others[0], home):
            async with anyio.create_task_group() as tasks:

                async def moves(to: str = to) -> None:
                    outcomes.append(await move_match(it, to))

                tasks.start_soon(moves)
                for _ in range(2):
                    accepted.append(await it.move())
        assert [done["to"] for done in outcomes[-2:]] == [others[0], home]
        assert all(done["pause_ms"] < 1_000 for done in outcomes), outcomes
        assert await it.owner() == home
        await it.check(accepted)


async def test_a_nodes_death_leaves_a_moved_match_to_its_copies() -> None:
    """It is taken over like any; the operator moves it on."""
    async with table(ClusterPlan(nodes=3)) as it:
        home = await it.owner()
        first, second = (node for node in it.cluster.nodes if node != home)
        accepted = [await it.move()]
        await move_match(it, first)
        accepted.append(await it.move())
        it.cluster.processes.kill([first])
        accepted.append(await it.move())
        await it.cluster.until_full(PATIENT_S)
        with suppress(OperatorError):  # it may be there already
            await move_match(it, second)
        accepted.append(await it.move())
        await it.check(accepted)
