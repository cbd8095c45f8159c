"""A local cluster that may be hurt: started here, ended here, whatever happens.

It runs in a folder of its own. Its nodes are children of this process, as those of
`hotseat up` are; one that dies is started again. Asks are made at the nodes' doors.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import anyio

from ...runtime.control_plane import SHARDS_MAX
from ..client.inbox import LOOPBACK
from ..cluster_dir import ClusterDir
from ..local.child import ChildOptions
from ..local.cluster import LocalCluster, LocalPlan, door_says_ready, owned_folder
from ..operator.ask_cluster import ask_cluster
from ..operator_error import OperatorError
from ..redundancy import Redundancy
from .cut import LinkProxy, link_proxy
from .faults import NodeProcesses
from .netns import NetworkNamespaces, network_namespaces

__all__ = [
    "OPTIONS",
    "ChaosCluster",
    "ClusterPlan",
    "ClusterStopped",
    "Health",
    "Network",
    "chaos_cluster",
]

READY_TIMEOUT_S = 40.0
STOP_GRACE_S = 3.0
POLL_S = 0.02

RESTART_S = 0.3
"""A node that was killed is back soon: the next fault waits for that."""

OPTIONS = """
[supervisor] # what is judged at the end must still be there
matches_max = 200000
ended_kept_max = 100000
ended_kept_s = 86400
"""


Network = Literal["plain", "proxy", "namespaces"]


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """What to start.

    coordinator: Address of an etcd; None: a file in the folder.
    network: How links between nodes can be cut: not at all, by a proxy before each
        inbox, or since each node has a network namespace of its own.
    options: More of cluster.toml.
    loop: The event loop of the nodes.
    restart_s: A node that dies is started again after so long.
    """

    nodes: int = 3
    shards: int | None = None
    redundancy: Redundancy = field(default_factory=Redundancy)
    coordinator: str | None = None
    network: Network = "plain"
    options: str = OPTIONS
    loop: str = "auto"
    restart_s: float = RESTART_S


@dataclass(frozen=True, slots=True)
class Health:
    """What the doors say, all of them together.

    owners: Node by shard, pinned ones aside. in_sync: members of its in-sync set, the
    owner too. pinned: shards of pinned matches that are served.
    """

    answering: tuple[str, ...]
    ready: tuple[str, ...]
    owners: dict[int, str]
    in_sync: dict[int, tuple[str, ...]]
    pinned: int = 0

    def even(self, nodes: Sequence[str]) -> bool:
        """Whether each of them owns as many shards as any other, within one; those of
        pinned matches aside."""
        owned = Counter(o for shard, o in self.owners.items() if shard < SHARDS_MAX)
        counts = [owned[node] for node in nodes]
        return max(counts) - min(counts) <= 1

    def full(self, shards: int, copies: int) -> bool:
        """Whether every shard has an owner, and all the copies that are wanted."""
        fixed = sum(shard < SHARDS_MAX for shard in self.owners)
        return fixed == shards and all(
            len(self.in_sync.get(shard, ())) >= copies for shard in self.owners
        )


class ClusterStopped(Exception):
    """A signal ended the cluster: who asked for it is to end too."""


class ChaosCluster:
    """Made by `chaos_cluster`."""

    def __init__(self, home: ClusterDir, nodes: Sequence[str]) -> None:
        self.home = home
        self.nodes = tuple(nodes)
        self.processes = NodeProcesses(home, nodes)
        self.links: LinkProxy | NetworkNamespaces | None = None
        self.inbox = LOOPBACK  # for clients of this cluster
        self.copies = min(home.redundancy.copies or 1, len(self.nodes))

    async def health(self) -> Health:
        """Ask every node. One that does not answer is left out."""
        answers = await ask_cluster(self.home, "status")
        found = {
            node: answer for node, answer in answers.items() if isinstance(answer, dict)
        }
        owners: dict[int, tuple[int, str]] = {}
        in_sync: dict[int, tuple[str, ...]] = {}
        pinned = 0
        for node, answer in found.items():
            for text, epoch in answer["epochs"].items():
                shard = int(text)
                if shard >= self.home.shards:
                    pinned += 1
                elif owners.get(shard, (-1, ""))[0] < epoch:
                    owners[shard] = (epoch, node)
                    in_sync[shard] = _in_sync(answer, text)
        return Health(
            answering=tuple(found),
            ready=tuple(node for node, answer in found.items() if answer["ready"]),
            owners={shard: owner for shard, (_, owner) in owners.items()},
            in_sync=in_sync,
            pinned=pinned,
        )

    async def until_folded(self, timeout_s: float) -> None:
        """Wait until no match is pinned any more; not for ever."""
        with anyio.move_on_after(timeout_s):
            while (await self.health()).pinned:  # noqa: ASYNC110  # other processes
                await anyio.sleep(POLL_S)

    async def until_even(self, timeout_s: float) -> None:
        """Wait until each node owns its share again, within one; not for ever."""
        with anyio.move_on_after(timeout_s):
            while not (await self.health()).even(self.nodes):  # noqa: ASYNC110
                await anyio.sleep(POLL_S)

    async def until_full(self, timeout_s: float) -> Health:
        """Wait until all nodes are ready, and all copies in sync.

        Raises:
            OperatorError: not_healed: that took too long.
        """
        health = await self.health()
        with anyio.move_on_after(timeout_s):
            while not self._whole(health):
                await anyio.sleep(POLL_S)
                health = await self.health()
        if self._whole(health):
            return health
        short = {
            shard: members
            for shard, members in health.in_sync.items()
            if len(members) < self.copies
        }
        late = [node for node in self.nodes if node not in health.ready]
        raise OperatorError(
            "not_healed",
            f"after {timeout_s:g} s not ready: {', '.join(late) or 'none'}; "
            f"{len(health.owners)} of {self.home.shards} shards have an owner; "
            f"too few copies in sync: {short or 'none'}",
        )

    def _whole(self, health: Health) -> bool:
        return len(health.ready) == len(self.nodes) and health.full(
            self.home.shards, self.copies
        )


@asynccontextmanager
async def chaos_cluster(
    plan: ClusterPlan,
    *,
    say: Callable[[str], None] = lambda line: None,
    keep: Path | None = None,
) -> AsyncIterator[ChaosCluster]:
    """Start a cluster; when the block ends, nothing of it is left.

    `keep` is where its logs are copied when the block fails. What the block raises
    comes out as it is, not in a group. SIGINT and SIGTERM end the cluster, and the
    block with it.

    Raises:
        OperatorError: It could not be started.
        ClusterStopped: By a signal.
    """
    folder = Path(tempfile.mkdtemp(prefix="hotseat-chaos-"))
    nodes = [f"n{number}" for number in range(1, plan.nodes + 1)]
    try:
        with owned_folder(
            folder, plan.shards, nodes, plan.coordinator, plan.redundancy
        ) as home:
            if plan.options:
                with home.config_path.open("a") as file:
                    file.write(plan.options)
            cluster = ChaosCluster(home, nodes)
            async with AsyncExitStack() as stack:
                if plan.network == "proxy":
                    proxies = link_proxy(nodes, cluster.processes.pids)
                    cluster.links = await stack.enter_async_context(proxies)
                elif plan.network == "namespaces":
                    spaces = network_namespaces(nodes)
                    cluster.links = links = await stack.enter_async_context(spaces)
                    cluster.inbox = f"tcp://{links.host}:0"
                await stack.enter_async_context(_running(cluster, plan, say))
                yield cluster
    except BaseException:
        if keep is not None:
            shutil.copytree(folder / "logs", keep, dirs_exist_ok=True)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def _running(
    cluster: ChaosCluster, plan: ClusterPlan, say: Callable[[str], None]
) -> AsyncIterator[None]:
    ready = anyio.Event()
    local = LocalCluster(
        LocalPlan(
            cluster.home,
            cluster.nodes,
            lambda node: _argv(cluster, plan, node),
            door_says_ready(cluster.home),
            ChildOptions(
                backoff_s_min=plan.restart_s,
                backoff_s_max=plan.restart_s,
                early_deaths_max=1_000,
                stop_grace_s=STOP_GRACE_S,
                probe_every_s=0.05,
            ),
            READY_TIMEOUT_S,
        ),
        say=say,
        on_ready=ready.set,
    )
    failure: Exception | None = None
    stopped = False
    async with anyio.create_task_group() as tasks:
        ended = anyio.Event()

        async def run() -> None:
            nonlocal failure, stopped
            try:
                await local.run()
            except OperatorError as error:
                failure = error
            ended.set()
            if not leaving:
                stopped = True
                tasks.cancel_scope.cancel()

        leaving = False
        tasks.start_soon(run)
        try:
            await ready.wait()
            yield
        except Exception as error:
            failure = error
        finally:
            leaving = True
            cluster.processes.thaw_all()
            local.stop()
            with anyio.CancelScope(shield=True):
                await ended.wait()
    if failure is not None:
        raise failure
    if stopped:
        raise ClusterStopped


def _argv(cluster: ChaosCluster, plan: ClusterPlan, node: str) -> list[str]:
    """How this program runs a node. -P: nothing of the current folder is imported."""
    argv = [sys.executable, "-P", "-m", "hotseat.nodes.cli.main", "node"]
    argv += ["--dir", str(cluster.home.path), "--node", node, "--with-parent"]
    argv += ["--loop", plan.loop]
    links = cluster.links
    if links is not None:
        argv += ["--listen", links.inbox(node)]
    if isinstance(links, LinkProxy):
        argv += ["--advertise", links.advertised(node)]
    return links.wrap(node, argv) if isinstance(links, NetworkNamespaces) else argv


def _in_sync(answer: dict[str, Any], shard: str) -> tuple[str, ...]:
    return tuple(answer.get("isr", {}).get(shard, (answer["node"],)))
