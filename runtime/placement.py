"""Which node should own and follow what: pure, and it only proposes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .control_plane import ShardRecord

__all__ = ["WantEdit", "initial_layout", "repair"]


@dataclass(frozen=True, slots=True)
class WantEdit:
    """A proposal: let these nodes hold the shard, instead of what `want` says."""

    shard: int
    want: tuple[str, ...]


def initial_layout(
    shards: int, nodes: Sequence[str], copies: int = 1
) -> tuple[tuple[str, ...], ...]:
    """For each shard the nodes wanted, the owner first.

    Owners are spread evenly within one, and so are the followers of each owner:
    when it dies, its shards go to all the others. Depends on the set of names
    alone, not on their order. Fewer nodes than `copies` give what there are.

    Raises:
        ValueError: No nodes, a name twice, or a count below one.
    """
    if shards < 1 or copies < 1:
        raise ValueError(f"shards ({shards}) and copies ({copies}) must be positive")
    names = sorted(nodes)
    if not names or len(set(names)) != len(names):
        raise ValueError(f"node names must be unique and not empty: {names}")
    return tuple(_wanted(shard, names)[:copies] for shard in range(shards))


def repair(
    records: Mapping[int, ShardRecord],
    *,
    up: Collection[str],
    absent_since_ms: Mapping[str, int],
    now_ms: int,
    copies: int,
    grace_ms: int,
    limit: int,
) -> tuple[WantEdit, ...]:
    """At most `limit` edits that bring shards back to `copies` live replicas.

    A replica whose node has been absent for `grace_ms` gives its place to the node of
    `up` that holds the fewest copies; where copies are missing, such nodes are added.
    A shard's owner keeps its place: while it is absent, a takeover comes first. One
    that is up and has no place (the shard was moved to it) takes the last. Nobody is
    removed without another in its place.
    """
    gone = {
        node
        for node, since_ms in absent_since_ms.items()
        if node not in up and now_ms - since_ms >= grace_ms
    }
    load = Counter(dict.fromkeys(sorted(up), 0))
    for record in records.values():
        load.update(node for node in record.want if node in load)
    edits: list[WantEdit] = []
    for shard in sorted(records):
        if len(edits) >= limit:
            break
        record = records[shard]
        want = _repaired(record, up, gone, load, copies)
        if want != record.want:
            edits.append(WantEdit(shard, want))
    return tuple(edits)


def _repaired(
    record: ShardRecord,
    up: Collection[str],
    gone: Collection[str],
    load: Counter[str],
    copies: int,
) -> tuple[str, ...]:
    """The record's new `want`; `load` learns of who was chosen."""
    want = list(record.want)
    owner = record.owner
    if owner is not None and owner in up and owner not in want and not record.move:
        want = [owner, *want[: max(copies, len(want)) - 1]]
        load[owner] += 1

    def least_loaded() -> str | None:
        free = [node for node in load if node not in want]
        chosen = min(free, key=lambda node: (load[node], node), default=None)
        if chosen is not None:
            load[chosen] += 1
        return chosen

    for place, node in enumerate(want):
        if node in gone and node != record.owner:
            want[place] = least_loaded() or node
    while len(want) < copies:
        chosen = least_loaded()
        if chosen is None:
            break
        want.append(chosen)
    return tuple(want)


def _wanted(shard: int, names: Sequence[str]) -> tuple[str, ...]:
    lap, owner = divmod(shard, len(names))
    others = [*names[owner + 1 :], *names[:owner]]
    turn = lap % len(others) if others else 0
    return (names[owner], *others[turn:], *others[:turn])
