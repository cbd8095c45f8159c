"""Nodes that are started one by one, each in a folder of its own, are one cluster."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from tests.nodes.coordinators.etcd_cluster import needs_etcd
from tests.system.machines import Machine, machines
from tests.system.shell import Operator

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(180)]


@needs_etcd
def test_they_find_each_other_and_operators_find_them(
    tmp_path: Path, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told no more than where etcd is, and where others reach them. Operators need no
    folder, where doors lie open: the cluster's secret, and the door of one node."""
    with machines(tmp_path, copies=2, min_isr=1, open_doors=True) as nodes:
        for machine in nodes:
            shown = machine.ask("cluster", "status")
            assert [row["node"] for row in shown["nodes"]] == ["n1", "n2", "n3"]
            assert all(row["ready"] for row in shown["nodes"])
            assert shown["shards_owned"] == shown["shards_in_sync"] == shown["shards"]
            assert shown["dir"] == machine.environ["HOTSEAT_DIR"]
        from_afar(nodes, tmp_path, operator, monkeypatch)

        nodes[0].process.kill()  # type: ignore[union-attr]
        gone = nodes[1].run("node", "list", "--json")
        assert gone.returncode == 1
        first = json.loads(gone.stdout)["nodes"][0]
        assert (first["node"], first["reachable"]) == ("n1", False)
        assert nodes[0].run("node", "check").returncode == 3
        nodes[1].wait_ready()  # once the lease of n1 has run out


def from_afar(
    nodes: list[Machine], path: Path, desk: Operator, environ: pytest.MonkeyPatch
) -> None:
    """What somebody does who has nothing of the cluster but its secret."""
    here, copy = path / "desk", path / "desk" / "copy-of-the-secret"
    here.mkdir()
    copy.write_text("5e" * 32)
    copy.chmod(0o600)
    environ.setenv("HOTSEAT_CLUSTER", nodes[1].open_door)
    environ.setenv("HOTSEAT_SECRET_FILE", str(copy))
    shown = desk.told("cluster", "status", cwd=here)
    assert shown["shards_owned"] == shown["shards_in_sync"] == shown["shards"] == 16
    assert [node["reachable"] for node in shown["nodes"]] == [True] * 3
    played = desk.told("loadtest", "--matches", "20", cwd=here)
    assert played["matches_verified"] == 20

    created = desk.told("match", "create", "tic-tac-toe", cwd=here)
    match = created["outcome"]["matches"][0]
    at = desk.told("match", "show", match, cwd=here)["match"]["node"]
    to = "n2" if at == "n1" else "n1"
    desk.told("match", "move", match, "--to", to, "--yes", cwd=here)
    assert desk.told("match", "show", match, cwd=here)["match"]["node"] == to
    desk.told("node", "drain", "n3", "--yes", cwd=here)
    desk.told("node", "undrain", "n3", "--yes", cwd=here)
    audit = desk.told("audit", "list", cwd=here)["operations"]
    assert [row["verb"] for row in audit] == [
        "node.undrain",
        "node.drain",
        "match.move",
        "match.create",
    ]

    def refused(*command: str) -> tuple[int, str]:
        done = desk.run(*command, cwd=here)
        return done.status, done.stderr.partition("]")[0].removeprefix("error[")

    assert refused("log", "follow") == (2, "elsewhere")
    assert refused("down") == refused("token", "rotate") == (2, "elsewhere")
    assert refused("status", "--secret") == (2, "usage")
    copy.write_text("77" * 32)
    assert refused("cluster", "status")[1] == "unauthenticated"
    environ.delenv("HOTSEAT_SECRET_FILE")
    assert refused("cluster", "status") == (2, "no_secret")
    desk.told("status", "--secret", str(path / "secret"), cwd=here)
    environ.delenv("HOTSEAT_SECRET_FILE")
    desk.told("status", f"--secret={path / 'secret'}", cwd=here)


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
