"""The `shards` operation of a node's door: its replicas of shards, a page at a time.

Every node answers for what it is to each shard; who asks puts together what the owner
says and what the others say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Protocol

from ...runtime.control_plane import SHARDS_MAX
from ...runtime.replication.shard_statistics import ShardStatistics
from .door import DoorError
from .rows import ReplicaRow, row_json

__all__ = ["SHARDS_PER_PAGE", "Counts", "Pins", "Replicas", "give_shards"]

SHARDS_PER_PAGE = 1024
"""A page is then about a third of a door's message."""


class Replicas(Protocol):
    """What is asked of the node's replicas."""

    def shard_statistics(self, shard: int) -> ShardStatistics:
        """
        Raises:
            KeyError: Of a match that is pinned: its record has not been read yet.
        """


class Counts(Protocol):
    """What is asked of the node's committed matches."""

    def counts(self, shards: Iterable[int]) -> tuple[int, int]: ...


class Pins(Protocol):
    """What is asked of the matches that have a shard of their own."""

    def __iter__(self) -> Iterator[tuple[str, int]]: ...


def give_shards(
    replicas: Replicas | None,
    states: Counts,
    shards: int,
    asked: Mapping[str, Any],
    pins: Pins | None = None,
) -> dict[str, Any]:
    """The shards behind number `after`, or only the shard `shard`; behind those that
    all matches fall into, the ones of pinned matches.

    Answers `shards`, a list of `ReplicaRow`, and `next`: the `after` of the next page,
    or nil. A node that does not know the cluster's record yet tells none.

    Raises:
        DoorError: malformed_request.
    """
    only, after = asked.get("shard"), asked.get("after", -1)
    if only is not None and not _is_shard(only, shards):
        raise DoorError("malformed_request", f"`shard` is not in [0, {shards}).")
    if after != -1 and not _is_shard(after, shards):
        raise DoorError("malformed_request", f"`after` is not in [-1, {shards}).")
    if replicas is None:
        return {"shards": [], "next": None}
    pinned = sorted(shard for _, shard in pins or ())
    if only is not None:
        known = only < shards or only in pinned
        return {"shards": _rows(replicas, states, [only] * known), "next": None}
    behind = [shard for shard in (*range(shards), *pinned) if shard > after]
    page = behind[:SHARDS_PER_PAGE]
    more = len(behind) > len(page)
    return {
        "shards": _rows(replicas, states, page),
        "next": page[-1] if more else None,
    }


def _is_shard(number: Any, shards: int) -> bool:
    """Or may be one: of a pinned match, which may have come home meanwhile."""
    return type(number) is int and (0 <= number < shards or number >= SHARDS_MAX)


def _rows(
    replicas: Replicas, states: Counts, numbers: Iterable[int]
) -> list[dict[str, Any]]:
    rows = []
    for shard in numbers:
        try:
            known = asdict(replicas.shard_statistics(shard))
        except KeyError:
            if shard < SHARDS_MAX:
                raise
            continue  # a pin whose shard's record has not been read here yet
        matches, ended = states.counts((shard,))
        row = ReplicaRow(shard=shard, matches=matches, ended=ended, **known)
        rows.append(row_json(row))
    return rows
