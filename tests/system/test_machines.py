"""Nodes that are started one by one, each in a folder of its own, are one cluster."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from tests.nodes.coordinators.etcd_cluster import needs_etcd
from tests.system.machines import Machine, Shell, machines

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(180)]


@needs_etcd
def test_they_find_each_other_and_operators_find_them(tmp_path: Path) -> None:
    """Told no more than where etcd is, and where others reach them. Operators need no
    folder, where doors lie open: the cluster's secret, and the door of one node."""
    with machines(tmp_path, copies=2, min_isr=1, open_doors=True) as nodes:
        for machine in nodes:
            shown = machine.ask("cluster", "status")
            assert [row["node"] for row in shown["nodes"]] == ["n1", "n2", "n3"]
            assert all(row["ready"] for row in shown["nodes"])
            assert shown["shards_owned"] == shown["shards_in_sync"] == shown["shards"]
            assert shown["dir"] == machine.environ["HOTSEAT_DIR"]
        from_afar(nodes, tmp_path)

        nodes[0].process.kill()  # type: ignore[union-attr]
        gone = nodes[1].run("node", "list", "--json")
        assert gone.returncode == 1
        first = json.loads(gone.stdout)["nodes"][0]
        assert (first["node"], first["reachable"]) == ("n1", False)
        assert nodes[0].run("node", "check").returncode == 3
        nodes[1].wait_ready()  # once the lease of n1 has run out


def from_afar(nodes: list[Machine], path: Path) -> None:
    """What somebody does who has nothing of the cluster but its secret."""
    (path / "desk").mkdir()
    copy = path / "desk" / "copy-of-the-secret"
    copy.write_text("5e" * 32)
    copy.chmod(0o600)
    desk = Shell(
        {
            "PATH": os.environ["PATH"],
            "HOTSEAT_CLUSTER": nodes[1].open_door,
            "HOTSEAT_SECRET_FILE": str(copy),
            "HOTSEAT_DIR": "",
        },
        cwd=path / "desk",
    )
    shown = desk.ask("cluster", "status")
    assert shown["shards_owned"] == shown["shards_in_sync"] == shown["shards"] == 16
    assert [node["reachable"] for node in shown["nodes"]] == [True] * 3
    assert desk.ask("loadtest", "--matches", "20")["matches_verified"] == 20

    made = desk.ask("match", "create", "tic-tac-toe")["outcome"]["matches"][0]
    for node in nodes:  # whoever owns it
        moved = desk.run("match", "move", made, "--to", node.node, "--yes")
        assert moved.returncode == 0 or "already_there" in moved.stderr, moved
    assert desk.ask("match", "show", made)["match"]["owner"] == "n3"
    owners = {row["shard"]: row["owner"] for row in desk.ask("shard", "list")["shards"]}
    shard = next(number for number, owner in owners.items() if owner == "n1")
    assert desk.run("shard", "move", str(shard), "--to", "n2").returncode == 0
    assert desk.run("node", "drain", "n3", "--yes").returncode == 0
    assert desk.run("node", "undrain", "n3").returncode == 0
    verbs = {row["verb"] for row in desk.ask("audit", "list")["operations"]}
    assert {"match.create", "match.move", "shard.move", "node.drain"} <= verbs

    no_logs = desk.run("log", "follow")
    assert (no_logs.returncode, no_logs.stderr[:17]) == (2, "error[elsewhere]:")
    none_here = desk.run("down")
    assert (none_here.returncode, none_here.stderr[:18]) == (3, "error[no_cluster]:")
    copy.write_text("77" * 32)
    stranger = desk.run("cluster", "status")
    assert stranger.stderr.startswith("error[unauthenticated]:"), stranger
    right = path / "secret"
    del desk.environ["HOTSEAT_SECRET_FILE"]
    assert desk.run("cluster", "status").stderr.startswith("error[no_secret]:")
    assert desk.run("status", "--secret", str(right)).returncode == 0
    assert desk.run("status", f"--secret={right}").returncode == 0
    assert desk.run("status", "--secret").stderr.startswith("error[usage]:")


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
        with machines(
            tmp_path, ["n1"], copies=1, min_isr=1, shards=4, open_doors=False, **told
        ) as nodes:
            heard("READY=1")
            assert nodes[0].log().count('"event": "shard_served"') == 4
            heard("WATCHDOG=1")
            heard("WATCHDOG=1")
            assert nodes[0].stop() == 0
            heard("STOPPING=1")
