"""The `shards` operation of a node's door: its replicas of shards, a page at a time.

Every node answers for what it is to each shard; who asks puts together what the owner
says and what the others say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Protocol

from ...runtime.replication.shard_statistics import ShardStatistics
from .door import DoorError
from .rows import ReplicaRow, row_json

__all__ = ["SHARDS_PER_PAGE", "Counts", "Replicas", "give_shards"]

SHARDS_PER_PAGE = 1024
"""A page is then about a third of a door's message."""


class Replicas(Protocol):
    """What is asked of the node's replicas."""

    def shard_statistics(self, shard: int) -> ShardStatistics: ...


class Counts(Protocol):
    """What is asked of the node's committed matches."""

    def counts(self, shards: Iterable[int]) -> tuple[int, int]: ...


def give_shards(
    replicas: Replicas | None, states: Counts, shards: int, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """The shards behind number `after`, or only the shard `shard`.

    Answers `shards`, a list of `ReplicaRow`, and `next`: the `after` of the next page,
    or nil. A node that does not know the cluster's record yet tells none.

    Raises:
        DoorError: malformed_request.
    """
    only, after = asked.get("shard"), asked.get("after", -1)
    if only is not None and (type(only) is not int or not 0 <= only < shards):
        raise DoorError("malformed_request", f"`shard` is not in [0, {shards}).")
    if type(after) is not int or not -1 <= after < shards:
        raise DoorError("malformed_request", f"`after` is not in [-1, {shards}).")
    if replicas is None:
        return {"shards": [], "next": None}
    if only is not None:
        return {"shards": [_row(replicas, states, only)], "next": None}
    numbers = range(after + 1, min(shards, after + 1 + SHARDS_PER_PAGE))
    more = numbers.stop < shards
    return {
        "shards": [_row(replicas, states, shard) for shard in numbers],
        "next": numbers.stop - 1 if more else None,
    }


def _row(replicas: Replicas, states: Counts, shard: int) -> dict[str, Any]:
    matches, ended = states.counts((shard,))
    known = asdict(replicas.shard_statistics(shard))
    row: dict[str, Any] = row_json(
        ReplicaRow(shard=shard, matches=matches, ended=ended, **known)
    )
    return row
