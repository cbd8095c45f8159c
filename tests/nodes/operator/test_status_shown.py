"""What `hotseat status` prints of what the nodes say."""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.nodes.cli.status import _row, _shards, _show


def _found(*answers: dict[str, Any]) -> dict[str, Any]:
    """Of a cluster with one shard."""
    nodes = [_row(answer["node"], "ipc:///door", answer) for answer in answers]
    return {
        "cluster": "c",
        "dir": "/c",
        "shards": 1,
        "shards_owned": 1,
        "shards_in_sync": 1,
        "copies": 1,
        "durability": "disk",
        "nodes": nodes,
        "table": _shards(1, nodes),
    }


def _answer(**more: Any) -> dict[str, Any]:
    return {"node": "n1", "ready": True, "epochs": {"0": 3}, **more}


def test_b71_matches_that_are_set_apart_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """B71: with the node and the code, so that an operator finds them."""
    apart = {"match": "abcdef", "shard": 0, "code": "recovery_failed"}
    _show(_found(_answer(set_apart=[apart])))
    shown = capsys.readouterr().out
    assert "set apart" in shown
    assert "abcdef" in shown
    assert "recovery_failed" in shown


def test_without_any_nothing_is_said_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An older node's answer has no such field at all."""
    _show(_found(_answer()))
    assert "set apart" not in capsys.readouterr().out
