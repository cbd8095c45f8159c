"""B68: one match is moved again and again while it is played without a pause."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from hotseat.engine.record import RecordKind
from hotseat.nodes.chaos.cluster import (
    OPTIONS,
    ChaosCluster,
    ClusterPlan,
    chaos_cluster,
)
from hotseat.nodes.client import (
    Accepted,
    ClientOptions,
    RemoteMatch,
    Seat,
    View,
    connect,
)
from hotseat.nodes.operator.ask import operate
from hotseat.nodes.operator.match_feed import MatchFeed
from hotseat.nodes.operator.until_owned import until_owned
from hotseat.nodes.operator_error import OperatorError
from hotseat.runtime.match_id import shard_of

from .live_table import PATIENT_S

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(180)]

MOVES = 20
PACE_S = 0.005
PAUSE_S_MAX = 3.0
"""No action waits longer, on a machine that others use, too."""

PATIENT = ClientOptions(timeout_s=PATIENT_S)

ENDLESS = """
from hotseat.engine import define_game, event, state, transition, views

game = define_game(
    name="endless",
    max_players=1,
    events={"tick": event(int, public=True)},
    initial="play",
    setup=lambda ctx: {"ticks": []},
    states={"play": state(active_players=["0"])},
    transitions=[
        transition(
            "tick",
            "play",
            "play",
            lambda ctx: {"G": {"ticks": [*ctx.G["ticks"][-9:], ctx.event.payload]}},
        )
    ],
    views=views(public=lambda ctx: ctx.G),
)
"""


class Player:
    """Ticks, every few milliseconds, and notes what it is told."""

    def __init__(self, seat: Seat) -> None:
        self.seat = seat
        self.accepted: list[Accepted] = []
        self.longest_s = 0.0
        self.enough = anyio.Event()

    async def play(self) -> None:
        while not self.enough.is_set():
            began_s = anyio.current_time()
            outcome = await self.seat.dispatch("tick", len(self.accepted))
            assert isinstance(outcome, Accepted), outcome
            self.accepted.append(outcome)
            took_s = anyio.current_time() - began_s
            self.longest_s = max(self.longest_s, took_s)
            await anyio.sleep(max(0.0, PACE_S - took_s))


async def move(cluster: ChaosCluster, match: RemoteMatch, to: str, s: float) -> None:
    args = {"to": to, "timeout_s": s}
    home = cluster.home
    await operate(home, "match.move", match.id, args, match=match.id, timeout_s=60)


async def test_b68_a_match_is_moved_twenty_times_under_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost, doubled or reordered; a move that fails changes nothing."""
    (tmp_path / "endless.py").write_text(ENDLESS)
    path = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{path}")
    plan = ClusterPlan(options=OPTIONS + '[node]\ngames = ["endless:game"]\n')
    async with (
        chaos_cluster(plan) as cluster,
        connect(cluster.home, options=PATIENT) as client,
    ):
        owners = (await cluster.until_full(PATIENT_S)).owners
        match = await client.create("endless", players=["0"])
        assert isinstance(match, RemoteMatch), match
        seat = await match.take("0")
        assert isinstance(seat, Seat), seat
        player = Player(seat)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(player.play)
            nodes = cluster.nodes
            first = nodes.index(owners[shard_of(match.id, cluster.home.shards)]) + 1
            for number in range(first, first + MOVES):
                await move(cluster, match, nodes[number % len(nodes)], PATIENT_S)
            with pytest.raises(OperatorError) as caught:
                await move(cluster, match, "n9", 5.0)
            assert caught.value.code == "no_such_node"
            ticks = len(player.accepted)
            while len(player.accepted) < ticks + 20:  # noqa: ASYNC110  # it goes on
                await anyio.sleep(PACE_S)
            player.enough.set()
        assert player.longest_s < PAUSE_S_MAX
        records = await until_owned(MatchFeed(cluster.home.path, match.id).fetch)
        actions = [record for record in records if record.kind is RecordKind.ACTION]
        assert [r.index for r in actions] == [a.index for a in player.accepted]
        assert [r.input["payload"] for r in actions] == list(range(len(actions)))
        view = await seat.resync(timeout_s=PATIENT_S)
        assert isinstance(view, View)
        assert view.revision == player.accepted[-1].revision
