"""The `nodes` operation of a node's door: all nodes of the cluster, as it knows them.

Those that are registered with the coordinator, and those that are meant to hold a
shard and are not: down, or cut off from it. So an operator on one machine knows of the
others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from ...runtime.control_plane import NodeRecord, ShardRecord

__all__ = ["Records", "give_nodes"]


class Records(Protocol):
    """What is asked of the node's replicas."""

    def record(self, shard: int) -> ShardRecord | None: ...


def give_nodes(
    nodes: Mapping[str, NodeRecord], replicas: Records | None, shards: Iterable[int]
) -> dict[str, Any]:
    """Answers `nodes`: by id, with `registered`, `door`, `inbox`, `place`, `state`,
    `build`.

    `nodes` are the registered ones. A node that does not know the cluster's record yet
    tells only of them.
    """
    found = {
        name: {
            "registered": True,
            "door": record.door,
            "inbox": record.inbox,
            "place": record.place,
            "state": record.state,
            "build": record.build,
        }
        for name, record in nodes.items()
    }
    for shard in shards if replicas is not None else ():
        assert replicas is not None
        record = replicas.record(shard)
        holders = () if record is None else (*record.want, *(n for n, _ in record.isr))
        for name in holders:
            found.setdefault(
                name,
                {
                    "registered": False,
                    "door": "",
                    "inbox": "",
                    "place": "",
                    "state": "up",
                    "build": "",
                },
            )
    return {"nodes": found}
