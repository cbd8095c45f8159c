"""The client library while the matches' owner changes all the time.

Two nodes with real supervisors, actors and states pass the only shard back and forth;
what is on its way at that moment reaches the next owner, or does not.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
import pytest

from hotseat.engine.games.connect_four import game as connect_four
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.client.options import ClientOptions
from hotseat.nodes.client.shell import Client, open_client
from hotseat.nodes.load.plan import plan_matches
from hotseat.nodes.load.run import LoadRun
from hotseat.runtime.errors import LinkError
from hotseat.runtime.frame import (
    FetchTable,
    Moved,
    NodeEntry,
    Request,
    ShardEntry,
    TableSnapshot,
)
from hotseat.runtime.hello import Credential
from hotseat.runtime.link import Arrival, Identity, PeerAddress, PeerDown
from hotseat.runtime.link_options import LinkOptions
from hotseat.runtime.replication.output import Committed
from hotseat.runtime.route import Route
from hotseat.runtime.testing.memory_link import MemoryEndpoint, MemoryNetwork

from ...runtime.replicated.stage import SHARD, ReplicaNode

SECRET = Credential(b"s" * 32)
CLIENTS = ("c1", "c2")
GAMES = (tic_tac_toe, connect_four)


class Pair:
    """Nodes n1 and n2 on a memory network; `owner` is 0 or 1."""

    def __init__(self, seed: int) -> None:
        self.network = MemoryNetwork()
        self.nodes = [ReplicaNode(*GAMES), ReplicaNode(*GAMES)]
        self.endpoints = [
            MemoryEndpoint(
                self.network, Identity("test", name, "node", "1"), SECRET, LinkOptions()
            )
            for name in ("n1", "n2")
        ]
        self.owner = 0
        self.epoch = 1
        self.takeovers = 0
        self._random = random.Random(seed)
        self.nodes[0].followers.append(self.nodes[1])
        self.nodes[0].serve(1)

    async def serve(self, number: int) -> None:
        """One node's loop."""
        node, endpoint = self.nodes[number], self.endpoints[number]
        while True:
            batch: list[tuple[Route, Request]] = []
            for event in await endpoint.receive():
                if isinstance(event, PeerDown):
                    node.supervisor.peer_gone(event.process)
                elif isinstance(event, Arrival):
                    frame = event.frame
                    if isinstance(frame, FetchTable):
                        endpoint.send(event.process, self._table(frame))
                    elif isinstance(frame, Request):
                        batch.append((Route(event.process), frame))
            if number == self.owner:
                node.supervisor.handle_batch(batch)
                self.pump(number)
            else:
                for route, frame in batch:
                    endpoint.send(route.peer, self._moved(frame.request))

    def pump(self, number: int) -> None:
        """What a node answered leaves it."""
        for route, frame in self.nodes[number].outlet.take():
            with suppress(LinkError):
                self.endpoints[number].send(route.peer, frame)

    async def take_over(self) -> None:
        """The owner hears nothing for a moment; then the other one is the owner."""
        old, new = self.nodes[self.owner], self.nodes[1 - self.owner]
        old.replicas.automatic = False
        await anyio.sleep(self._random.uniform(0, 0.05))
        waiting = tuple(old.replicas.appended)
        survives = waiting[: self._random.randint(0, len(waiting))]
        seq = old.replicas.seq - len(waiting) + len(survives)
        old.followers.clear()
        new.host.committed(Committed(SHARD, survives))
        old.demote(unsent_from=seq + 1 if self._random.random() < 0.5 else None)
        old.host.committed(Committed(SHARD, survives))
        old.replicas.automatic = True
        old.replicas.seq = seq
        self.pump(self.owner)
        await anyio.sleep(self._random.uniform(0, 0.05))  # nobody serves
        self.owner, self.epoch = 1 - self.owner, self.epoch + 1
        new.followers.append(old)
        new.serve(self.epoch, seq=seq)
        self.takeovers += 1
        for endpoint in self.endpoints:  # as a switchboard tells its clients
            for client in CLIENTS:
                with suppress(LinkError):
                    endpoint.send(client, self._moved(0))

    def _moved(self, request: int) -> Moved:
        return Moved(request, SHARD, self.epoch, ("n1", "n2")[self.owner])

    def _table(self, frame: FetchTable) -> TableSnapshot:
        owner = ("n1", "n2")[self.owner]
        nodes = tuple(
            NodeEntry(e.address.process, e.address.inbox, e.address.incarnation)
            for e in self.endpoints
        )
        rows = (ShardEntry(SHARD, owner, self.epoch),)
        return TableSnapshot(frame.request, self.epoch, rows, nodes)


@asynccontextmanager
async def pair_of(seed: int) -> AsyncIterator[Pair]:
    pair = Pair(seed)
    async with (
        pair.endpoints[0],
        pair.endpoints[1],
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(pair.serve, 0)
        tasks.start_soon(pair.serve, 1)
        yield pair
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def client_of(pair: Pair, name: str) -> AsyncIterator[Client]:
    identity = Identity("test", name, "client", "c")
    endpoint = MemoryEndpoint(pair.network, identity, SECRET, LinkOptions())

    async def locate() -> Sequence[PeerAddress]:
        return [endpoint.address for endpoint in pair.endpoints]

    async with open_client(locate, endpoint, ClientOptions()) as client:
        yield client


@pytest.mark.parametrize("seed", range(4))
async def test_players_notice_no_takeover(seed: int, autojump_clock: object) -> None:
    """A takeover a few times a second: every match ends, each action is there once,
    views never go back, and no player has to do anything about it."""
    plans = plan_matches(GAMES, matches=8, rate=20, seed=str(seed))
    async with (
        pair_of(seed) as pair,
        client_of(pair, CLIENTS[0]) as one,
        client_of(pair, CLIENTS[1]) as two,
    ):
        run = LoadRun(plans, [one, two], seed=str(seed), timeout_s=60.0)
        for client in CLIENTS:
            for node in ("n1", "n2"):
                pair.network.delay(client, node, 0.02)

        async def disturb() -> None:
            while True:
                await anyio.sleep(0.3)
                await pair.take_over()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(disturb)
            await run.play()
            tasks.cancel_scope.cancel()
        if not pair.nodes[pair.owner].replicas.epoch:
            await pair.take_over()
        await run.verify()
        assert pair.takeovers >= 2
        assert run.tally.troubles == []
        assert run.tally.passed
        assert run.tally.refusals == {}
        matches = [line.match for line in pair.nodes[0].states.lines(SHARD)]
        for match in matches:
            one_state, two_state = (node.states.get(match) for node in pair.nodes)
            assert one_state == two_state
