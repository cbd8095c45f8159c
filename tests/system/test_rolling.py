"""A whole cluster is drained and restarted, node by node, and no player notices."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hotseat.nodes.pid_file import holder_of
from tests.nodes.coordinators.etcd_cluster import needs_etcd
from tests.system.machines import Machine, Shell, machines

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(300)]

PAUSE_MS_MAX = 3_000
"""An action waits no longer than that, on a machine that others use, too: a bound that
finds a takeover which waited until an owner was found missing."""


@contextmanager
def played(shell: Shell) -> Iterator[list[dict[str, Any]]]:
    """Matches are played for as long as this is entered: a report for each batch."""
    reports: list[dict[str, Any]] = []
    enough = threading.Event()

    def play() -> None:
        while not enough.is_set():
            load = shell.run("loadtest", "--matches", "40", "--rate", "12", "--json")
            reports.append({"status": load.returncode, "errors": load.stderr})
            if load.returncode in (0, 1):
                reports[-1] |= json.loads(load.stdout)

    player = threading.Thread(target=play)
    player.start()
    try:
        yield reports
    finally:
        enough.set()
        player.join()


def check(reports: list[dict[str, Any]]) -> None:
    """Every match was played to its end, and nobody was told anything but yes."""
    assert reports
    for report in reports:
        assert (report["status"], report["errors"]) == (0, ""), report
        assert report["matches_verified"] == report["matches"]
        assert report["refusals"] == {}
        assert report["outcomes_unknown"] == 0
        assert report["latency_ms"]["max"] < PAUSE_MS_MAX, report["latency_ms"]


@needs_etcd
def test_every_node_is_drained_and_restarted_while_matches_are_played(
    tmp_path: Path,
) -> None:
    """As the guide says, step by step. Nothing is refused, lost or done twice: every
    match is played to its end, and its log is compared with what its players were told.
    """
    with machines(tmp_path) as nodes:
        with played(nodes[0]) as reports:
            for machine in nodes:
                drain = ("node", "drain", machine.node, "--until-restart", "--yes")
                drained = machine.run(*drain)
                assert drained.returncode == 0, drained
                owned = machine.ask("shard", "list", "--owner", machine.node)
                assert owned["shards"] == []
                machine.restart()
        check(reports)
        check_whole(nodes)


def test_a_local_cluster_is_restarted_node_by_node(tmp_path: Path) -> None:
    """The parent starts each node that was told to stop, with what is installed now."""
    told = {k: v for k, v in os.environ.items() if not k.startswith("HOTSEAT_")}
    shell = Shell(told | {"HOTSEAT_DIR": str(tmp_path / "c")})
    up = shell.run("up", "--detach")
    assert (up.returncode, up.stderr) == (0, "")
    try:
        with played(shell) as reports:
            for node in ("n1", "n2", "n3"):
                drained = shell.run("node", "drain", node, "--until-restart", "--yes")
                assert drained.returncode == 0, drained
                pid_file = tmp_path / "c" / "run" / f"{node}.pid"
                pid = holder_of(pid_file)
                assert pid
                os.kill(pid, signal.SIGTERM)
                wait_until(partial(is_another, pid_file, pid))
                checked = shell.run("node", "check", "--node", node, "--wait", "60s")
                assert checked.returncode == 0, checked
        check(reports)
        shown = shell.ask("cluster", "status")
        assert shown["alarms"] == []
        assert shown["shards_in_sync"] == shown["shards"]
    finally:
        assert shell.run("down").returncode == 0


def check_whole(nodes: list[Machine]) -> None:
    """Each has stopped once, in order, and is a whole one again."""
    for machine in nodes:
        assert machine.log().count('"event": "node_stopped"') == 1
        assert "Traceback" not in machine.log()
    shown = nodes[0].ask("cluster", "status")
    assert shown["alarms"] == []
    assert shown["shards_in_sync"] == shown["shards"]


def is_another(pid_file: Path, than: int) -> bool:
    return holder_of(pid_file) not in (None, 0, than)


def wait_until(condition: Callable[[], object]) -> None:
    """Other processes have no event to wait for: ask again until it is so."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.05)
