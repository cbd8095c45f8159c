"""Whole nodes in one process: links, coordinator and disks are memory, time is the
loop's. What goes wrong is what a test asks for.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from hotseat.config import Config, load_config
from hotseat.nodes.client.options import ClientOptions
from hotseat.nodes.client.shell import Client, open_client
from hotseat.nodes.cluster_dir import ClusterDir
from hotseat.nodes.games import Games
from hotseat.nodes.node.node import Node
from hotseat.nodes.node.parts import NodeParts
from hotseat.nodes.redundancy import Redundancy
from hotseat.runtime.hello import Credential
from hotseat.runtime.link import Identity, PeerAddress
from hotseat.runtime.link_options import LinkOptions
from hotseat.runtime.testing.memory_coordinator import MemoryCoordinator
from hotseat.runtime.testing.memory_journal import MemoryDisk, MemoryJournal
from hotseat.runtime.testing.memory_link import MemoryEndpoint, MemoryNetwork
from hotseat.runtime.testing.memory_store import MemoryStore

__all__ = ["NodeWorld", "node_world"]

SHARDS = 4
EPOCH_MS = 1_700_000_000_000
"""The wall clock when the loop's clock is at zero."""


class LoopClock:
    """Both clocks are the loop's, so that a test can let them jump."""

    def now_ms(self) -> int:
        return EPOCH_MS + int(anyio.current_time() * 1000)

    def monotonic_s(self) -> float:
        return anyio.current_time()


class NodeWorld:
    """A cluster. `start` and `kill` its nodes."""

    def __init__(
        self,
        folder: Path,
        names: Sequence[str],
        tasks: TaskGroup,
        games: Sequence[str] = (),
    ) -> None:
        self.home = ClusterDir.open(
            folder, SHARDS, names, redundancy=Redundancy(min(2, len(names)))
        )
        self.network = MemoryNetwork()
        self.store = MemoryStore()
        self.disks = {name: MemoryDisk() for name in names}
        self.nodes: dict[str, Node] = {}
        self.coordinators: dict[str, MemoryCoordinator] = {}
        self._scopes: dict[str, anyio.CancelScope] = {}
        self._ended: dict[str, anyio.Event] = {}
        self._clients: list[str] = []
        self._tasks = tasks
        self.games = games
        """That nodes which are started from now on have."""
        self._boots = count(1)
        self._credential = Credential(self.home.secret())

    async def start(self, *names: str) -> None:
        """Start these (all) nodes; return when every node is ready."""
        for name in names or self.disks:
            await self._tasks.start(self._run, name)
        for node in self.nodes.values():
            while not node.ready:  # noqa: ASYNC110  # many things make it so
                await anyio.sleep(0.01)

    async def kill(self, *names: str) -> None:
        """End these processes at once; what their disks had not synced is lost."""
        for name in names:
            self._scopes.pop(name).cancel()
            del self.nodes[name]
        for name in names:
            await self._ended.pop(name).wait()
            self.disks[name].crash()

    async def stop(self, name: str) -> None:
        """Tell a node to stop, and wait until it has."""
        self.nodes[name].stop()
        await self._ended.pop(name).wait()
        del self.nodes[name], self._scopes[name]

    def isolate(self, name: str) -> None:
        """Cut a node off from all others, from players and from the coordinator."""
        for other in self._others(name):
            self.network.cut(name, other)
        self.coordinators[name].down = True

    def heal(self, name: str) -> None:
        """End that."""
        for other in self._others(name):
            self.network.heal(name, other)
        self.coordinators[name].down = False

    def serves(self, name: str) -> list[int]:
        """The shards that a node serves now."""
        shards: list[int] = self.nodes[name].tell.status({})["shards"]
        return shards

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """A player's program."""
        number = next(self._boots)
        identity = Identity(self.home.cluster, f"c{number}", "client", f"{number}")
        self._clients.append(identity.process)
        endpoint = MemoryEndpoint(
            self.network, identity, self._credential, LinkOptions()
        )

        async def locate() -> list[PeerAddress]:
            return [node.address for node in self.nodes.values()]

        async with open_client(locate, endpoint, ClientOptions()) as client:
            yield client

    async def _run(self, name: str, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        config = self._config(name)
        boot = f"boot{next(self._boots)}"
        games = Games.load(self.games)
        identity = Identity(self.home.cluster, name, "node", boot, games=games.names())
        disk = self.disks[name]
        recovered = disk.recover()
        endpoint = MemoryEndpoint(self.network, identity, self._credential, config.link)
        self.coordinators[name] = MemoryCoordinator(self.store)
        ended = self._ended[name] = anyio.Event()
        with anyio.CancelScope() as self._scopes[name]:
            async with endpoint:
                parts = NodeParts(
                    config,
                    self.home,
                    games,
                    endpoint,
                    self.coordinators[name],
                    MemoryJournal(disk),
                    recovered,
                    clock=LoopClock(),
                )
                node = self.nodes[name] = Node(parts)
                async with node.supervisor:
                    task_status.started()
                    await node.serve()
        ended.set()

    def _others(self, name: str) -> list[str]:
        return [other for other in (*self.disks, *self._clients) if other != name]

    def _config(self, name: str) -> Config:
        return load_config(
            files=[self.home.config_path],
            flags={
                "--dir": ("node.dir", str(self.home.path)),
                "--node": ("node.id", name),
            },
        )


@asynccontextmanager
async def node_world(
    folder: Path, *names: str, games: Sequence[str] = ()
) -> AsyncIterator[NodeWorld]:
    """A cluster of these nodes, started and ready; all end with the block.

    `games`: further ones, as MODULE:NAME.
    """
    async with anyio.create_task_group() as tasks:
        world = NodeWorld(folder, names, tasks, games)
        await world.start()
        yield world
        tasks.cancel_scope.cancel()
