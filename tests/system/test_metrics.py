"""`hotseat up --metrics`: what each node of a real cluster tells a scraper."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from hotseat.nodes.node.metrics import metric_names
from hotseat.nodes.node.status import STATISTICS

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]


def hotseat(*arguments: str) -> str:
    argv = [sys.executable, "-P", "-m", "hotseat.nodes.cli.main", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_node_tells_its_metrics_and_its_health(tmp_path: Path) -> None:
    """All that is documented is there, counted where play has touched it."""
    place = ("--dir", str(tmp_path / "c"))
    hotseat("up", *place, "--nodes", "3", "--metrics", "--detach")
    try:
        hotseat("loadtest", *place, "--matches", "6", "--json")
        nodes = json.loads(hotseat("status", *place, "--json"))["nodes"]
        messages = 0.0
        for node in nodes:
            for page in ("/healthz", "/readyz"):
                assert httpx.get(node["pages"] + page).status_code == 200
            text = httpx.get(node["pages"] + "/metrics").text
            found = {
                sample.name: sample
                for family in text_string_to_metric_families(text)
                for sample in family.samples
            }
            documented = {metric.name for metric in metric_names(STATISTICS)}
            assert documented <= found.keys()
            assert found["hotseat_node_info"].labels["node"] == node["node"]
            messages += found["hotseat_supervisor_messages_total"].value
        assert messages > 0
    finally:
        hotseat("down", *place)
