"""`hotseat log follow`: whose log it reads, and whose it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hotseat.nodes.cli.log import follow
from hotseat.nodes.cluster_dir import ClusterDir
from hotseat.nodes.exit_codes import ExitCode
from hotseat.nodes.operator_error import OperatorError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A cluster of which n1 has logged, and n2 has not been started yet."""
    home = ClusterDir.open(tmp_path / "c", 4)
    home.make_node_folder("n2")
    logs = home.path / "logs"
    logs.mkdir(exist_ok=True)
    line = {"node": "n1", "event": "loop_late", "level": "warning"}
    (logs / "n1.log").write_text(json.dumps(line) + "\n")
    return home.path


@pytest.mark.parametrize(
    ("node", "shown"), [(None, 1), ("n1", 1), ("n2", 0), ("up", 0)]
)
def test_a_nodes_log_is_read(
    home: Path, capsys: pytest.CaptureFixture[str], node: str | None, shown: int
) -> None:
    """Of one that has said nothing yet, too; so has the nodes' parent."""
    nodes = None if node is None else [node]
    assert follow(node=nodes, stop=True, dir=home) == ExitCode.OK
    assert capsys.readouterr().out.count("loop_late") == shown


def test_a_node_that_is_none_is_refused(home: Path) -> None:
    """Rather than that nothing is ever shown; the hint has those that there are."""
    with pytest.raises(OperatorError) as caught:
        follow(node=["n1", "m2"], stop=True, dir=home)
    assert caught.value.code == "no_such_node"
    assert caught.value.exit_code is ExitCode.USAGE
    assert caught.value.hint == "there are: n1, n2, up"
