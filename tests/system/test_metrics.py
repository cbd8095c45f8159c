"""`hotseat up --metrics`: what each node of a real cluster tells a scraper."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from hotseat.nodes.node.metrics import metric_names
from hotseat.nodes.node.status import STATISTICS

from .shell import Operator, running_cluster

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]


def test_every_node_tells_its_metrics_and_its_health(
    operator: Operator, tmp_path: Path
) -> None:
    """All that is documented is there, counted where play has touched it."""
    with running_cluster(tmp_path, "--nodes", "3", "--metrics"):
        operator.told("loadtest", "--matches", "6", cwd=tmp_path)
        nodes = operator.told("status", cwd=tmp_path)["nodes"]
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
