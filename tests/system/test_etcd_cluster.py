"""`hotseat up --coordinator etcd://...`: a real cluster on a real etcd."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hotseat.nodes.cli.up import PYTHON
from hotseat.nodes.local.cluster import (
    LocalCluster,
    LocalPlan,
    door_says_ready,
    owned_folder,
)
from hotseat.nodes.operator_error import OperatorError
from tests.nodes.coordinators.etcd_cluster import free_port, needs_etcd, running_etcd

from .shell import hotseat

pytestmark = [pytest.mark.system, pytest.mark.slow]

PATIENCE_S = 40.0


def command(name: str, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return hotseat(name, "--dir", str(folder), *more)


def wait_until(condition: Callable[[], object]) -> None:
    """Other processes have no event to wait for: ask again until it is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.1)


@needs_etcd
def test_a_cluster_on_etcd_plays_on_when_etcd_loses_its_leader(tmp_path: Path) -> None:
    """Matches are right before and after; the folder has no file of its own."""
    folder = tmp_path / "c"
    with running_etcd(3) as etcd:
        up = command("up", folder, "--coordinator", etcd.address, "--detach")
        assert (up.returncode, up.stderr) == (0, "")
        try:
            assert not (folder / "coordinator.db").exists()
            for leader_lives in (True, False):
                played = command("loadtest", folder, "--matches", "15", "--json")
                assert played.returncode == 0, played.stderr
                report = json.loads(played.stdout)
                assert report["matches_verified"] == 15
                assert report["matches_wrong"] == 0
                if leader_lives:
                    etcd.signal(etcd.leader(), signal.SIGKILL)
            wait_until(lambda: ready(folder))
            command("down", folder)
            up = command("up", folder, "--detach")  # the folder knows which etcd
            assert (up.returncode, up.stderr) == (0, "")
        finally:
            down = command("down", folder)
    assert down.returncode == 0, down.stderr


def ready(folder: Path) -> bool:
    nodes = json.loads(command("status", folder, "--json").stdout)["nodes"]
    return all(node["ready"] for node in nodes)


async def test_without_etcd_a_start_says_so(tmp_path: Path) -> None:
    """The nodes wait; a start that may not wait for ever fails with the reason."""
    address = f"etcd://127.0.0.1:{free_port()}"
    with owned_folder(tmp_path / "c", 4, ["n1"], address) as home:
        place = ("--dir", str(home.path), "--node", "n1", "--with-parent")
        plan = LocalPlan(
            home,
            home.nodes,
            lambda _node: (*PYTHON, "node", *place),
            door_says_ready(home),
            ready_timeout_s=6.0,
        )
        cluster = LocalCluster(plan, say=lambda _line: None, on_ready=lambda: None)
        with pytest.raises(OperatorError) as caught:
            await cluster.run()
    assert caught.value.code == "start_timeout"
    assert "coordinator_unavailable" in caught.value.message
    assert f"{address.removeprefix('etcd://')} cannot be reached" in str(caught.value)


def test_another_coordinator_is_refused(tmp_path: Path) -> None:
    """Where a cluster's epochs are counted is fixed; an address is checked at once."""
    folder = tmp_path / "c"
    with owned_folder(folder, 4, ["n1"], "etcd://127.0.0.1:1"):
        pass
    other = command("up", folder, "--coordinator", "etcd://127.0.0.1:2")
    assert other.returncode == 2
    assert "error[coordinator_differs]" in other.stderr
    wrong = command("up", tmp_path / "d", "--coordinator", "http://127.0.0.1:2")
    assert wrong.returncode == 2
    assert "etcd://HOST:PORT" in wrong.stderr
    assert not (tmp_path / "d").exists()
