"""Real processes are killed, frozen and cut off, and no acknowledged action suffers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from hotseat.nodes.chaos.cluster import ClusterPlan, Network
from hotseat.nodes.chaos.netns import is_permitted
from hotseat.nodes.chaos.plan import ChaosPlan, Fault, FaultKind
from hotseat.nodes.chaos.run import ChaosRun, run_chaos
from hotseat.nodes.redundancy import Redundancy
from tests.nodes.coordinators.etcd_cluster import needs_etcd, running_etcd

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(150)]

KILL = Fault(FaultKind.KILL)
LASTS_S = 4.0
"""Of what does not end by itself: longer than a takeover after silence."""

needs_namespaces = pytest.mark.skipif(
    not is_permitted(), reason="network namespaces cannot be made here"
)
cut_by = pytest.mark.parametrize(
    "network", ["proxy", pytest.param("namespaces", marks=needs_namespaces)]
)


def plan(
    *faults: Fault, cluster: ClusterPlan | None = None, **changes: int
) -> ChaosPlan:
    return ChaosPlan(
        cluster=cluster or ClusterPlan(),
        matches=changes.get("matches", 40),
        rate=80.0,
        seconds=0.0,
        faults=faults,
        rest_s=1.0,
    )


def played(
    wanted: ChaosPlan, watch: Callable[[ChaosRun], None] = lambda run: None
) -> ChaosRun:
    """Run it; whatever the faults were, all is as the players were told."""

    async def run() -> ChaosRun:
        return await run_chaos(wanted, watch=watch)

    found = anyio.run(run)
    verdict = found.verdict
    assert verdict.clean, verdict.faults
    assert not found.gone
    assert verdict.matches == len(found.played) >= wanted.matches
    assert verdict.actions_acked == found.acked > 0
    assert verdict.copies_compared >= wanted.matches
    assert len(found.strikes) == len(wanted.faults)
    assert all(strike.matches > 0 for strike in found.strikes)
    return found


def test_owners_are_killed_and_nothing_is_lost() -> None:
    """Two kills in a row, with full in-sync sets in between."""
    found = played(plan(KILL, KILL))
    assert found.failovers >= len(found.strikes)
    assert found.silence().unbroken == 0
    assert found.silence().max_s < LASTS_S


def test_in_memory_a_single_death_loses_nothing() -> None:
    """What is held by all in sync needs no disk to survive one of them."""
    memory = ClusterPlan(redundancy=Redundancy(durability="memory"))
    assert played(plan(KILL, cluster=memory)).failovers > 0


def test_an_owner_that_hangs_is_passed_over_and_comes_back_harmless() -> None:
    """Its followers take over before it wakes; when it does, it is fenced."""
    found = played(plan(Fault(FaultKind.FREEZE, LASTS_S)))
    assert found.failovers > 0
    assert found.silence().p50_s < LASTS_S


@cut_by
def test_an_owner_that_is_cut_off_from_the_other_nodes_loses_nothing(
    network: Network,
) -> None:
    """Whether it goes on alone or is taken over, there is one history."""
    cluster = ClusterPlan(network=network)
    played(plan(Fault(FaultKind.ISOLATE, LASTS_S), cluster=cluster))


@cut_by
def test_a_link_that_is_cut_one_way_loses_nothing(network: Network) -> None:
    """The worst kind: they hear each other, in one direction."""
    cut = Fault(FaultKind.CUT_TO, LASTS_S)
    played(plan(cut, cluster=ClusterPlan(network=network)))


@needs_namespaces
def test_a_machine_that_vanishes_without_a_reset_is_passed_over() -> None:
    """Nothing tells that it is gone but its silence."""
    cluster = ClusterPlan(network="namespaces", restart_s=LASTS_S)
    found = played(plan(Fault(FaultKind.VANISH, LASTS_S), cluster=cluster))
    assert found.failovers > 0
    assert found.silence().max_s < LASTS_S


def test_all_nodes_are_killed_at_once_and_all_comes_back_from_disk() -> None:
    """As after a power cut: what was acknowledged was on the disks."""
    found = played(plan(Fault(FaultKind.RESTART_ALL), KILL))
    assert found.strikes[0].matches >= 40


def test_three_copies_on_five_nodes() -> None:
    """More copies are more processes that must agree, and more that may die."""
    wide = ClusterPlan(nodes=5, redundancy=Redundancy(copies=3, min_isr=2))
    played(plan(KILL, KILL, cluster=wide))


@needs_etcd
def test_etcd_loses_its_leader_while_nodes_die() -> None:
    """The coordinator of many machines: three processes, one of them killed."""
    with running_etcd(3) as etcd:
        begun: list[ChaosRun] = []
        wanted = plan(KILL, KILL, cluster=ClusterPlan(coordinator=etcd.address))

        async def run() -> ChaosRun:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(kill_the_leader)
                found = await run_chaos(wanted, watch=begun.append)
                tasks.cancel_scope.cancel()
            return found

        async def kill_the_leader() -> None:
            while not (begun and begun[0].strikes):  # noqa: ASYNC110  # as it comes
                await anyio.sleep(0.02)
            await anyio.to_thread.run_sync(etcd.signal, etcd.leader(), signal.SIGKILL)

        found = anyio.run(run)
    assert found.verdict.clean, found.verdict.faults
    assert found.failovers > 0


def demo(*more: str) -> list[str]:
    return [sys.executable, "-P", "-m", "hotseat.nodes.cli.main", "demo", *more]


def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(tmp_path)}


def test_the_demo_tells_a_machine_what_it_found(tmp_path: Path) -> None:
    """One JSON object; status 0, as nothing was lost; nothing is left behind."""
    argv = demo("--matches", "40", "--kills", "1", "--seconds", "4", "--json")
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=100, env=environment(tmp_path)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["actions_acked"] > 0
    assert report["matches"] >= 40
    assert (report["lost"], report["doubled"], report["diverged"]) == (0, 0, 0)
    assert report["failovers"] > 0
    assert set(report["silence_ms"]) == {"p50", "p99", "max"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_demo_tidies_up(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C, and a terminal that goes away: no process, no folder is left."""
    process = subprocess.Popen(
        demo("--matches", "20", "--seconds", "60"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(tmp_path),
        start_new_session=True,
    )
    try:
        wait_until(lambda: len(running(tmp_path)) == 3 or process.poll() is not None)
        pids = running(tmp_path)
        process.send_signal(number)
        said, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert list(tmp_path.iterdir()) == []
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def wait_until(condition: Callable[[], object]) -> None:
    """Other processes have no event to wait for: ask again until it is so."""
    deadline = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.05)


def running(folder: Path) -> list[int]:
    """The node processes that belong to a folder, as their pid files say."""
    files = folder.glob("hotseat-chaos-*/run/n*.pid")
    return [int(text) for file in files if (text := file.read_text().strip())]
