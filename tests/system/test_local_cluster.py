"""The parent of a local cluster, with children that only pretend to be nodes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
import trio

from hotseat.nodes.cluster_dir import ClusterDir
from hotseat.nodes.local.child import ChildOptions
from hotseat.nodes.local.cluster import LocalCluster, LocalPlan, owned_folder
from hotseat.nodes.local.log_file import LOG_BYTES_MAX
from hotseat.nodes.operator_error import OperatorError

pytestmark = pytest.mark.system

PATIENT = 20.0
"""Seconds until a condition that should come at once has failed."""

FAST = ChildOptions(
    backoff_s_min=0.01, backoff_s_max=0.02, stop_grace_s=5.0, probe_every_s=0.01
)

OBEDIENT = """
import os, sys
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
sys.stdin.read()
"""
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)" + OBEDIENT
BROKEN = "import sys; print('error[address_unavailable]: taken'); sys.exit(1)"
MISCONFIGURED = "import sys; print('error[unknown_key]: lop'); sys.exit(2)"
SILENT = "import sys; sys.stdin.read()"


class Cluster:
    """A cluster of pretended nodes, and what it said."""

    def __init__(
        self,
        folder: Path,
        code: Callable[[str], str],
        *,
        options: ChildOptions = FAST,
        timeout_s: float | None = None,
    ) -> None:
        self.folder = ClusterDir.open(folder)
        self.lines: list[str] = []
        self.ready = anyio.Event()
        self._said = anyio.Event()
        plan = LocalPlan(
            self.folder,
            ["n1", "n2", "n3"],
            lambda node: self._argv(node, code(node)),
            self._is_alive,
            options,
            timeout_s,
        )
        self.local = LocalCluster(plan, say=self._say, on_ready=self.ready.set)

    def pid(self, node: str) -> int:
        return int(self._pid_path(node).read_text())

    async def hears(self, part: str) -> None:
        """Wait until a line with `part` was said."""
        with trio.fail_after(PATIENT):
            while not any(part in line for line in self.lines):
                await self._said.wait()

    def _say(self, line: str) -> None:
        self.lines.append(line)
        self._said.set()
        self._said = anyio.Event()

    def _pid_path(self, node: str) -> Path:
        return self.folder.path / f"{node}.alive"

    def _argv(self, node: str, code: str) -> Sequence[str]:
        return sys.executable, "-c", code, str(self._pid_path(node))

    async def _is_alive(self, node: str) -> bool:
        return self._pid_path(node).exists() and is_alive(self.pid(node))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@asynccontextmanager
async def running(cluster: Cluster) -> AsyncIterator[None]:
    """The cluster runs and is ready inside, and is stopped after."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cluster.local.run)
        with trio.fail_after(PATIENT):
            await cluster.ready.wait()
        yield
        cluster.local.stop()


async def start_error(cluster: Cluster) -> OperatorError:
    with pytest.raises(OperatorError) as caught, trio.fail_after(PATIENT):
        await cluster.local.run()
    return caught.value


async def test_it_is_ready_when_every_node_is_and_leaves_none_behind(
    tmp_path: Path,
) -> None:
    """Ready means all; a stop ends all."""
    cluster = Cluster(tmp_path, lambda node: OBEDIENT)
    async with running(cluster):
        pids = [cluster.pid(node) for node in ("n1", "n2", "n3")]
        assert all(map(is_alive, pids))
    assert not any(map(is_alive, pids))


async def test_a_killed_node_is_started_again_and_the_others_are_left_alone(
    tmp_path: Path,
) -> None:
    """kill -9 of one costs one process, and is told."""
    cluster = Cluster(tmp_path, lambda node: OBEDIENT)
    async with running(cluster):
        before = {node: cluster.pid(node) for node in ("n1", "n2", "n3")}
        os.kill(before["n2"], signal.SIGKILL)
        await cluster.hears("n2 was ended by SIGKILL; starting it again")
        await cluster.hears("n2 is back")
        after = {node: cluster.pid(node) for node in ("n1", "n2", "n3")}
        assert after["n2"] != before["n2"]
        assert (after["n1"], after["n3"]) == (before["n1"], before["n3"])


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_all(tmp_path: Path, sign: signal.Signals) -> None:
    """Ctrl-C and SIGTERM are the same clean end."""
    cluster = Cluster(tmp_path, lambda node: OBEDIENT)
    with trio.fail_after(PATIENT):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cluster.local.run)
            await cluster.ready.wait()
            os.kill(os.getpid(), sign)
    assert not is_alive(cluster.pid("n1"))


async def test_a_node_that_will_not_stop_is_killed_after_its_grace(
    tmp_path: Path,
) -> None:
    """One node that hangs does not keep the cluster from stopping."""
    options = ChildOptions(stop_grace_s=0.2, probe_every_s=0.01)
    code = {"n1": STUBBORN, "n2": OBEDIENT, "n3": OBEDIENT}
    cluster = Cluster(tmp_path, code.__getitem__, options=options)
    with trio.fail_after(PATIENT):
        async with running(cluster):
            pid = cluster.pid("n1")
    assert not is_alive(pid)
    assert "  n1 did not stop in time and was killed" in cluster.lines


async def test_a_second_stop_kills_at_once(tmp_path: Path) -> None:
    """Who asks twice does not wait for the grace."""
    options = ChildOptions(stop_grace_s=60.0, probe_every_s=0.01)
    cluster = Cluster(tmp_path, lambda node: STUBBORN, options=options)
    with trio.fail_after(PATIENT):
        async with running(cluster):
            cluster.local.stop()
    assert "  n1 was killed" in cluster.lines


async def test_a_node_that_cannot_start_ends_the_start_with_its_reason(
    tmp_path: Path,
) -> None:
    """After a few attempts the node's own error is the error, and nothing is left."""
    code = {"n1": OBEDIENT, "n2": BROKEN, "n3": OBEDIENT}
    cluster = Cluster(tmp_path, code.__getitem__)
    error = await start_error(cluster)
    assert error.code == "start_failed"
    assert "n2 exited with status 1" in error.message
    assert "error[address_unavailable]: taken" in error.message
    assert sum("n2 exited" in line for line in cluster.lines) == 2
    if (cluster.folder.path / "n1.alive").exists():
        assert not is_alive(cluster.pid("n1"))


async def test_a_configuration_fault_is_not_tried_again(tmp_path: Path) -> None:
    """Status 2 will not get better."""
    cluster = Cluster(tmp_path, lambda node: MISCONFIGURED)
    error = await start_error(cluster)
    assert "error[unknown_key]: lop" in error.message
    assert not any("starting it again" in line for line in cluster.lines)


async def test_a_start_that_takes_too_long_names_who_is_late(tmp_path: Path) -> None:
    """A bound on the start is kept, and all are stopped."""
    code = {"n1": OBEDIENT, "n2": OBEDIENT, "n3": SILENT}
    cluster = Cluster(tmp_path, code.__getitem__, timeout_s=1.0)
    error = await start_error(cluster)
    assert error.code == "start_timeout"
    assert "not ready within 1 s" in error.message
    assert "n3" in error.message


async def test_a_node_that_was_ready_once_is_never_given_up(tmp_path: Path) -> None:
    """However often it dies, it is started again."""
    cluster = Cluster(tmp_path, lambda node: OBEDIENT)
    async with running(cluster):
        for _ in range(FAST.early_deaths_max + 2):
            cluster.lines.clear()
            os.kill(cluster.pid("n1"), signal.SIGKILL)
            await cluster.hears("n1 is back")


async def test_a_log_that_grew_too_long_is_put_aside(tmp_path: Path) -> None:
    """A node's log starts anew with its process; one old one is kept."""
    cluster = Cluster(tmp_path, lambda node: OBEDIENT)
    log = cluster.folder.log_path("n1")
    with log.open("wb") as file:
        file.truncate(LOG_BYTES_MAX + 1)
    async with running(cluster):
        assert log.stat().st_size == 0
        assert log.with_name("n1.log.1").stat().st_size == LOG_BYTES_MAX + 1


async def test_the_folder_names_the_nodes_of_this_run(tmp_path: Path) -> None:
    """Nodes of an earlier, larger run are forgotten, the present ones are known."""
    cluster = Cluster(tmp_path, lambda node: OBEDIENT)
    cluster.folder.pid_path("n4").touch()
    async with running(cluster):
        assert cluster.folder.node_names() == ("n1", "n2", "n3")


def test_a_folder_has_one_parent_at_a_time(tmp_path: Path) -> None:
    """The second is told who is there; after the first, the folder is free."""
    with owned_folder(tmp_path) as first:
        with pytest.raises(OperatorError) as caught, owned_folder(tmp_path):
            pass
        assert caught.value.code == "already_running"
        assert str(os.getpid()) in caught.value.message
    with owned_folder(tmp_path) as second:
        assert second == first


def test_the_pause_before_a_restart_grows_to_its_bound() -> None:
    """Back-off is jittered, doubles, and is capped."""
    options = ChildOptions(backoff_s_min=1.0, backoff_s_max=8.0)
    longest = [1.0, 2.0, 4.0, 8.0, 8.0]
    for deaths, bound in enumerate(longest, start=1):
        pauses = {options.pause_s(deaths) for _ in range(50)}
        assert all(bound / 2 <= pause <= bound for pause in pauses)
        assert len(pauses) > 1
    assert options.pause_s(10_000) <= 8.0


def test_it_works_on_asyncio_too(tmp_path: Path) -> None:
    """The parent runs on the default loop in production."""
    cluster = Cluster(tmp_path, lambda node: OBEDIENT)

    async def main() -> None:
        with anyio.fail_after(PATIENT):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cluster.local.run)
                await cluster.ready.wait()
                cluster.local.stop()

    anyio.run(main)
    assert not is_alive(cluster.pid("n3"))
