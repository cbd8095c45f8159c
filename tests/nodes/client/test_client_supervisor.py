"""The client library and the load generator against the real supervisor and actors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
import pytest

from hotseat.engine.definition import Game
from hotseat.engine.games.connect_four import game as connect_four
from hotseat.engine.games.pig_dice import game as pig_dice
from hotseat.engine.games.rock_paper_scissors import game as rock_paper_scissors
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.client.options import ClientOptions
from hotseat.nodes.client.shell import Client, open_client
from hotseat.nodes.load.plan import plan_matches
from hotseat.nodes.load.report import Tally
from hotseat.nodes.load.run import LoadRun
from hotseat.nodes.supervisor.supervisor import Supervisor
from hotseat.runtime.errors import LinkError
from hotseat.runtime.frame import (
    FetchTable,
    NodeEntry,
    Request,
    Response,
    ShardEntry,
    TableSnapshot,
)
from hotseat.runtime.games import StaticGames
from hotseat.runtime.hello import Credential
from hotseat.runtime.link import Arrival, Identity, PeerAddress, PeerDown
from hotseat.runtime.link_options import LinkOptions
from hotseat.runtime.route import Route
from hotseat.runtime.testing.memory_link import MemoryEndpoint, MemoryNetwork

SECRET = Credential(b"s" * 32)
SHARDS = 4
GAMES = [tic_tac_toe, connect_four, rock_paper_scissors, pig_dice]


class OneNode:
    """A node that owns every shard: a supervisor on a memory endpoint."""

    def __init__(self, network: MemoryNetwork, games: Sequence[Game]) -> None:
        identity = Identity("test", "n1", "node", "1")
        self.network = network
        self.endpoint = MemoryEndpoint(network, identity, SECRET, LinkOptions())
        self.supervisor = Supervisor(StaticGames(games), self, shards=SHARDS)
        for shard in range(SHARDS):
            self.supervisor.adopt(shard, 1)

    def deliver(self, route: Route, frame: Response) -> None:
        with suppress(LinkError):
            self.endpoint.send(route.peer, frame)

    async def serve(self) -> None:
        while True:
            batch: list[tuple[Route, Request]] = []
            for event in await self.endpoint.receive():
                if isinstance(event, PeerDown):
                    self.supervisor.peer_gone(event.process)
                elif isinstance(event, Arrival):
                    frame = event.frame
                    if isinstance(frame, FetchTable):
                        self.endpoint.send(event.process, self._table(frame))
                    elif isinstance(frame, Request):
                        batch.append((Route(event.process), frame))
            self.supervisor.handle_batch(batch)

    def _table(self, frame: FetchTable) -> TableSnapshot:
        a = self.endpoint.address
        shards = tuple(ShardEntry(shard, "n1", 1) for shard in range(SHARDS))
        nodes = (NodeEntry(a.process, a.inbox, a.incarnation),)
        return TableSnapshot(frame.request, 1, shards, nodes)


@asynccontextmanager
async def one_node(games: Sequence[Game] = GAMES) -> AsyncIterator[OneNode]:
    node = OneNode(MemoryNetwork(), games)
    async with (
        node.endpoint,
        node.supervisor,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(node.serve)
        yield node
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def client_of(node: OneNode, name: str) -> AsyncIterator[Client]:
    identity = Identity("test", name, "client", "c")
    endpoint = MemoryEndpoint(node.network, identity, SECRET, LinkOptions())

    async def locate() -> Sequence[PeerAddress]:
        return [node.endpoint.address]

    options = ClientOptions(attempt_s=0.5)
    async with open_client(locate, endpoint, options) as client:
        yield client


async def load_one_node(matches: int = 12) -> Tally:
    plans = plan_matches(GAMES, matches=matches, rate=50, seed="s")
    async with (
        one_node() as node,
        client_of(node, "c1") as one,
        client_of(node, "c2") as two,
    ):
        run = LoadRun(plans, [one, two], seed="s", timeout_s=60.0)
        await run.play()
        await run.verify()
        return run.tally


async def test_simulated_players_finish_every_match(autojump_clock: object) -> None:
    """All shipped games, real actors: every match ends, replays, and is right."""
    tally = await load_one_node()
    assert tally.troubles == []
    assert tally.passed
    assert tally.refusals == {}


def test_simulated_players_finish_every_match_on_asyncio() -> None:
    """The same on the other backend."""
    tally = anyio.run(load_one_node)
    assert tally.troubles == []
    assert tally.passed


async def test_an_error_in_the_block_outlives_a_cancellation(
    autojump_clock: object,
) -> None:
    """What fails beside a client is not lost when a scope around it has ended."""
    async with one_node() as node:

        async def fail() -> None:
            with anyio.CancelScope() as outer:
                async with client_of(node, "c1"):
                    outer.cancel()
                    raise KeyError("the block's")

        with pytest.raises(KeyError, match="the block's"):
            await fail()


async def test_links_that_drop_all_the_time_cost_no_action(
    autojump_clock: object,
) -> None:
    """Under load with links dropped every 200 ms nothing is lost or applied twice."""
    plans = plan_matches([connect_four], matches=6, rate=50, seed="s")
    async with one_node() as node, client_of(node, "c1") as client:
        run = LoadRun(plans, [client], seed="s", timeout_s=120.0)

        async def drop() -> None:
            while True:
                await anyio.sleep(0.2)
                node.network.drop("n1", "c1")

        node.network.delay("n1", "c1", 0.03)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(drop)
            await run.play()
            tasks.cancel_scope.cancel()
        await run.verify()
        assert run.tally.troubles == []
        assert run.tally.passed
