"""A local cluster: the parent of its node processes.

It starts the nodes, starts again the ones that die, says when all are ready, and on
Ctrl-C or SIGTERM stops all of them and returns. It holds the folder's pid file, so a
folder has one parent at a time. It takes no part in play: matches go on if it hangs.
"""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from ..cluster_dir import ClusterDir, make_folders
from ..operator.ask_door import ask_door
from ..operator_error import OperatorError
from ..pid_file import PidFile, PidFileHeld, holder_of
from ..redundancy import Redundancy
from ..telemetry import get_logger
from .child import Child, ChildFailed, ChildOptions, News, NewsKind

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "LocalCluster",
    "LocalPlan",
    "door_says_ready",
    "owned_folder",
]

WAITING_NOTE_S = 10.0
"""How often a start that takes long says what it waits for."""


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """What to run.

    `argv` gives a process's command line. `probe` asks whether a process is ready: it
    returns False as long as it is not, and never raises for that.
    """

    folder: ClusterDir
    nodes: Sequence[str]
    argv: Callable[[str], Sequence[str]]
    probe: Callable[[str], Awaitable[bool]]
    options: ChildOptions = field(default_factory=ChildOptions)
    ready_timeout_s: float | None = None
    """The start has failed if it takes longer. None: it may take any time."""
    beside: Sequence[str] = ()
    """Names of processes that run beside the nodes and are none: a gateway, bots."""


class LocalCluster:
    """Runs a plan once. `say` gets a line for people at every change."""

    def __init__(
        self,
        plan: LocalPlan,
        *,
        say: Callable[[str], None],
        on_ready: Callable[[], None],
    ) -> None:
        self._plan = plan
        self._say = say
        self._on_ready = on_ready
        self._ready = anyio.Event()
        self._failure: OperatorError | None = None
        self._children = [
            Child(
                node,
                plan.argv(node),
                plan.folder.log_path(node),
                probe=plan.probe,
                tell=self._hear,
                options=plan.options,
            )
            for node in (*plan.nodes, *plan.beside)
        ]

    def stop(self) -> None:
        """Stop every node; asked again, kill what is left."""
        for child in self._children:
            child.stop()

    async def run(self) -> None:
        """Run until stopped, by `stop` or a signal; return when no node is left.

        Raises:
            OperatorError: start_failed or start_timeout, before it was ever ready.
                Then, too, no node is left.
        """
        _write_names(self._plan.folder, self._plan.nodes)
        async with anyio.create_task_group() as watchers:
            watchers.start_soon(self._obey_signals)
            watchers.start_soon(self._await_ready)
            async with anyio.create_task_group() as keepers:
                for child in self._children:
                    keepers.start_soon(self._keep, child)
            watchers.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure
        get_logger().info("cluster_stopped")

    async def _keep(self, child: Child) -> None:
        try:
            await child.keep()
        except ChildFailed as failed:
            self._fail(
                "start_failed",
                f"{failed.node} {failed.ending}, and was never ready",
                failed.log,
                child.log_path,
            )

    async def _await_ready(self) -> None:
        deadline_s = self._plan.ready_timeout_s
        started = anyio.current_time()
        while not self._ready.is_set():
            waited_s = anyio.current_time() - started
            left_s = WAITING_NOTE_S if deadline_s is None else deadline_s - waited_s
            with anyio.move_on_after(max(0.0, min(WAITING_NOTE_S, left_s))):
                await self._ready.wait()
                return
            late = [child for child in self._children if not child.ready]
            names = ", ".join(child.node for child in late)
            if deadline_s is not None and left_s <= WAITING_NOTE_S:
                said = f"not ready within {deadline_s:g} s: {names}"
                log = late[0].last_words() if late else ""
                self._fail("start_timeout", said, log, self._plan.folder.path / "logs")
                return
            self._say(f"  still waiting for {names}")

    async def _obey_signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
            said = "stopping (once more kills)"
            async for _ in received:
                self._say(said)
                said = "killing what is left"
                self.stop()

    def _fail(self, code: str, said: str, log: str, path: Path) -> None:
        """Remember the first failure, and stop the others."""
        if self._failure is None:
            message = said + "".join(f"\n    {line}" for line in log.splitlines())
            self._failure = OperatorError(code, message, hint=f"see {path}")
            self.stop()

    def _hear(self, news: News) -> None:
        log = get_logger().bind(node=news.node, pid=news.pid)
        match news.kind:
            case NewsKind.STARTED:
                log.info("child_started")
            case NewsKind.READY:
                log.info("child_ready")
                self._hear_ready(news)
            case NewsKind.EXITED:
                log.warning("child_exited", ending=news.ending, pause_s=news.pause_s)
                pause = f"{news.pause_s:.1f} s"
                self._say(f"  {news.node} {news.ending}; starting it again in {pause}")
            case NewsKind.KILLED:
                log.warning("child_killed")
                self._say(f"  {news.node} {news.ending}")

    def _hear_ready(self, news: News) -> None:
        if self._ready.is_set():
            self._say(f"  {news.node} is back, pid {news.pid}")
            return
        self._say(f"  {news.node} is ready, pid {news.pid}")
        if all(child.ready for child in self._children):
            self._ready.set()
            get_logger().info("cluster_ready")
            self._on_ready()


def _write_names(folder: ClusterDir, nodes: Sequence[str]) -> None:
    """Let the folder name these nodes, and no old one that does not run."""
    for node in folder.node_names():
        if node not in nodes and holder_of(folder.pid_path(node)) is None:
            folder.pid_path(node).unlink(missing_ok=True)
    for node in nodes:
        folder.pid_path(node).touch(0o600)


@contextmanager
def owned_folder(
    path: Path,
    shards: int | None = None,
    nodes: Sequence[str] = (),
    coordinator: str | None = None,
    redundancy: Redundancy | None = None,
) -> Iterator[ClusterDir]:
    """Open or create a cluster's folder, as its only parent.

    Raises:
        OperatorError: already_running, shards_differ, nodes_differ,
            coordinator_differs, redundancy_differs, too_few_copies or
            invalid_cluster_dir.
    """
    make_folders(path)
    try:
        with PidFile(path / "run" / "up.pid"):
            folder = ClusterDir.open(path, shards, nodes, coordinator, redundancy)
            try:
                yield folder
            finally:
                folder.remove_sockets()
    except PidFileHeld as held:
        raise OperatorError(
            "already_running",
            f"a cluster runs in {path} already (process {held.pid})",
            hint=f"hotseat status --dir {path}, or hotseat down --dir {path}",
        ) from None


def door_says_ready(folder: ClusterDir) -> Callable[[str], Awaitable[bool]]:
    """A probe: ask the node's door whether it owns all that is meant for it."""

    async def probe(node: str) -> bool:
        try:
            answer = await ask_door(folder.door(node), "status")
        except OperatorError:
            return False  # not there yet
        return bool(answer.get("ready"))

    return probe
