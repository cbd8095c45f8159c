"""A whole cluster is restarted, node by node, and no player notices."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.nodes.coordinators.etcd_cluster import needs_etcd
from tests.system.machines import Machine, machines

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(300)]

PAUSE_MS_MAX = 3_000
"""An action waits no longer than that, on a machine that others use, too: a bound that
finds a takeover which waited until an owner was found missing."""


def restart(machine: Machine) -> None:
    """As a service manager does: SIGTERM, and start it again when it has ended."""
    assert machine.stop() == 0
    machine.start()
    machine.wait_ready()


def drain_and_restart(machine: Machine) -> None:
    """As the guide says, step by step."""
    drained = machine.run("node", "drain", machine.node, "--until-restart", "--yes")
    assert drained.returncode == 0, drained
    assert machine.ask("shard", "list", "--owner", machine.node)["shards"] == []
    restart(machine)


@contextmanager
def played(machine: Machine) -> Iterator[list[dict[str, Any]]]:
    """Matches are played for as long as this is entered: a report for each batch."""
    reports: list[dict[str, Any]] = []
    enough = threading.Event()

    def play() -> None:
        while not enough.is_set():
            load = machine.run("loadtest", "--matches", "100", "--rate", "12", "--json")
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


@needs_etcd
@pytest.mark.parametrize("roll", [restart, drain_and_restart])
def test_every_node_is_restarted_while_matches_are_played(
    roll: Callable[[Machine], None], tmp_path: Path
) -> None:
    """Nothing is refused, lost or done twice: every match is played to its end, and
    its log is compared with what its players were told."""
    with machines(tmp_path) as nodes:
        with played(nodes[0]) as reports:
            for machine in nodes:
                roll(machine)
        assert reports
        for report in reports:
            assert (report["status"], report["errors"]) == (0, ""), report
            assert report["matches_verified"] == report["matches"]
            assert report["refusals"] == {}
            assert report["outcomes_unknown"] == 0
            assert report["latency_ms"]["max"] < PAUSE_MS_MAX, report["latency_ms"]
        for machine in nodes:
            assert machine.log().count('"event": "node_stopped"') == 1
            assert "Traceback" not in machine.log()
        shown = nodes[0].ask("cluster", "status")
        assert shown["alarms"] == []
        assert shown["shards_in_sync"] == shown["shards"]
