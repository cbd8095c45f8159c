"""Nodes that are started one by one, each in a folder of its own, are one cluster."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from tests.nodes.coordinators.etcd_cluster import needs_etcd
from tests.system.machines import machines

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(180)]


@needs_etcd
def test_they_find_each_other_and_operators_find_them(tmp_path: Path) -> None:
    """Told no more than where etcd is, and where others reach them."""
    with machines(tmp_path, copies=2, min_isr=1) as nodes:
        for machine in nodes:
            shown = machine.ask("cluster", "status")
            assert [row["node"] for row in shown["nodes"]] == ["n1", "n2", "n3"]
            assert all(row["ready"] for row in shown["nodes"])
            assert shown["shards_owned"] == shown["shards_in_sync"] == shown["shards"]
            assert shown["dir"] == machine.environ["HOTSEAT_DIR"]
        played = nodes[2].run("loadtest", "--matches", "20", "--json")
        assert played.returncode == 0, played
        assert json.loads(played.stdout)["matches_verified"] == 20

        nodes[0].process.kill()  # type: ignore[union-attr]
        gone = nodes[1].run("node", "list", "--json")
        assert gone.returncode == 1
        first = json.loads(gone.stdout)["nodes"][0]
        assert (first["node"], first["reachable"]) == ("n1", False)
        assert nodes[0].run("node", "check").returncode == 3
        nodes[1].wait_ready()  # once the lease of n1 has run out


@needs_etcd
def test_a_service_manager_is_told(tmp_path: Path) -> None:
    """Ready when it serves, not when it was started; then that it lives, and ends."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(60)

        def heard(wanted: str) -> None:
            while wanted not in manager.recv(4096).decode().splitlines():
                pass

        told = {
            "NOTIFY_SOCKET": str(tmp_path / "notify"),
            "WATCHDOG_USEC": "3000000",
        }
        with machines(tmp_path, ["n1"], copies=1, min_isr=1, shards=4, **told) as nodes:
            heard("READY=1")
            assert nodes[0].log().count('"event": "shard_served"') == 4
            heard("WATCHDOG=1")
            heard("WATCHDOG=1")
            assert nodes[0].stop() == 0
            heard("STOPPING=1")
