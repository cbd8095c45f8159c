"""Every node is restarted without ado, under matches that are short and that outlast
it: those are moved three times, and whole."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from hotseat.engine.record import RecordKind
from hotseat.nodes.client import (
    Accepted,
    Client,
    ClientOptions,
    RemoteMatch,
    Seat,
    connect,
)
from hotseat.nodes.operator.match_feed import MatchFeed
from hotseat.nodes.operator.until_owned import until_owned
from tests.nodes.coordinators.etcd_cluster import needs_etcd
from tests.system.machines import Machine, machines
from tests.system.test_rolling import check, check_whole, played

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(240)]

TABLES = 24
THINKING_S = 0.4
"""Between two moves: sixty of them outlast the restarts."""

PATIENT = ClientOptions(timeout_s=30.0)


@dataclass(slots=True)
class Table:
    """A match of reversi, both of its seats, and what they were told."""

    match: RemoteMatch
    seats: list[Seat]
    choices: random.Random
    accepted: list[Accepted] = field(default_factory=list)

    @classmethod
    async def sit(cls, client: Client, number: int) -> Table:
        match = await client.create("reversi", players=["0", "1"])
        assert isinstance(match, RemoteMatch), match
        seats = [await match.take(name) for name in ("0", "1")]
        assert all(isinstance(seat, Seat) for seat in seats), seats
        return cls(match, seats, random.Random(number))  # type: ignore[arg-type]

    async def play(self, enough: anyio.Event) -> None:
        """Both move, without haste, until it is enough or the match has ended."""
        async with anyio.create_task_group() as tasks:
            for seat in self.seats:
                tasks.start_soon(self._move, seat)
            await enough.wait()
            tasks.cancel_scope.cancel()

    async def _move(self, seat: Seat) -> None:
        async for view in seat.views(legal=True):
            if not view.my_turn:
                continue
            await anyio.sleep(THINKING_S)
            assert view.legal
            event, payload = self.choices.choice(view.legal)
            with anyio.CancelScope(shield=True):  # what was begun is answered
                outcome = await seat.dispatch(event, payload)
            assert isinstance(outcome, Accepted), outcome
            self.accepted.append(outcome)


@needs_etcd
def test_matches_outlast_the_restart_of_every_node(tmp_path: Path) -> None:
    """No move is refused, lost, doubled, or in another place than was told; and others
    begin and end meanwhile, of whose players none is told anything but yes."""
    with machines(tmp_path) as nodes:
        with played(nodes[0]) as reports:
            anyio.run(outlast, nodes)
        check(reports)
        check_whole(nodes)


async def outlast(nodes: list[Machine]) -> None:
    """All tables are played while every node is restarted, and for a moment after."""
    home = Path(nodes[1].environ["HOTSEAT_DIR"])
    async with connect(home, options=PATIENT) as client:
        tables = [await Table.sit(client, n) for n in range(TABLES)]
        enough = anyio.Event()
        async with anyio.create_task_group() as tasks:
            for table in tables:
                tasks.start_soon(table.play, enough)
            await anyio.sleep(1.0)
            before = [len(table.accepted) for table in tables]
            for machine in nodes:
                await anyio.to_thread.run_sync(machine.restart)
            await anyio.sleep(1.0)
            enough.set()
    for table, moves in zip(tables, before, strict=True):
        assert 0 < moves < len(table.accepted)
        records = await until_owned(MatchFeed(home, table.match.id).fetch)
        places = [r.index for r in records if r.kind is RecordKind.ACTION]
        assert places == [outcome.index for outcome in table.accepted]
