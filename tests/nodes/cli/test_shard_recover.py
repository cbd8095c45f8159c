"""What `hotseat shard recover` says before it asks, and what it does not ask for."""

from __future__ import annotations

import pytest

from hotseat.nodes.cli.shard_recover import _chosen, _losses
from hotseat.nodes.operator.rows import ReplicaRow
from hotseat.nodes.operator.survey_rows import ShardRow, ShardShown
from hotseat.nodes.operator_error import OperatorError

SHARD = ShardRow(shard=4, owner="n1", epoch=7, isr=("n1", "n2"))


def replica(last_epoch: int, last_seq: int, matches: int = 0) -> ReplicaRow:
    return ReplicaRow(
        shard=4,
        role="learner",
        last_epoch=last_epoch,
        last_seq=last_seq,
        matches=matches,
    )


def test_what_is_known_to_be_lost_is_told() -> None:
    """How far the copies go that can be seen, who was in sync, who is silent."""
    replicas = {"n3": replica(5, 812, 3), "n4": replica(4, 900), "n5": replica(0, 0)}
    found = ShardShown(shard=SHARD, replicas=replicas, silent={"n1": "x", "n2": "x"})
    told = "\n".join(_losses(4, "n3", replicas["n3"], found))
    assert "last owned by n1 in epoch 7; in sync were n1, n2." in told
    assert "n3 has its log up to entry 812 of epoch 5, 3 matches" in told
    assert "n4 has its log up to entry 900 of epoch 4." in told
    assert "n5" not in told
    assert "These nodes could not be asked: n1, n2." in told


def test_an_older_copy_is_taken_only_if_that_is_said() -> None:
    """The newest is the one of the highest epoch, then the longest."""
    replicas = {"n3": replica(5, 812), "n4": replica(6, 700)}
    found = ShardShown(shard=SHARD, replicas=replicas, silent={})
    assert _chosen(found, "n4", older_copy=False) == replicas["n4"]
    with pytest.raises(OperatorError) as caught:
        _chosen(found, "n3", older_copy=False)
    assert caught.value.code == "newer_copy"
    assert _chosen(found, "n3", older_copy=True) == replicas["n3"]


def test_a_node_that_does_not_answer_cannot_be_chosen() -> None:
    """Nor one that is none."""
    found = ShardShown(shard=SHARD, replicas={}, silent={"n3": "door_timeout"})
    for node, code in (("n3", "door_timeout"), ("n9", "no_such_node")):
        with pytest.raises(OperatorError) as caught:
            _chosen(found, node, older_copy=False)
        assert (caught.value.code, caught.value.exit_code) == (code, 3)


def test_a_shard_that_is_served_is_left_alone() -> None:
    """Whatever else is said."""
    served = ShardRow(shard=4, owner="n1", epoch=7, isr=("n1", "n3"), serving=True)
    found = ShardShown(shard=served, replicas={"n3": replica(5, 812)}, silent={})
    with pytest.raises(OperatorError) as caught:
        _chosen(found, "n3", older_copy=True)
    assert caught.value.code == "not_needed"
