"""Which node should own and follow what: pure, and it only proposes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from .control_plane import ShardRecord

__all__ = ["WantEdit", "initial_layout", "repair"]


@dataclass(frozen=True, slots=True)
class WantEdit:
    """A proposal: let these nodes hold the shard, instead of what `want` says, and,
    unless None, let that one own it (`move`; "": a planned move is withdrawn)."""

    shard: int
    want: tuple[str, ...]
    to: str | None = None


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
    shards: Collection[int] | None = None,
    unfit: Callable[[int], Collection[str]] = lambda _: (),
    outgrown: Mapping[int, Collection[str]] = MappingProxyType({}),
) -> tuple[WantEdit, ...]:
    """At most `limit` edits that bring shards back to `copies` live replicas.

    A replica whose node has been absent for `grace_ms` gives its place to the node of
    `up` that holds the fewest copies; where copies are missing, such nodes are added.
    A shard's owner keeps its place: while it is absent, a takeover comes first. One
    that is up and has no place (the shard was moved to it) takes the last. Nobody is
    removed without another in its place.

    Nodes that are `unfit` for a shard are chosen only if there are no others; those of
    `outgrown` give their place, but only to a fit one. `shards` are looked at: all.
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
    for shard in sorted(records if shards is None else shards):
        if len(edits) >= limit:
            break
        record = records[shard]
        choice = _Choice(load, frozenset(unfit(shard)))
        leaving = outgrown.get(shard, ())
        want = _repaired(record, up, gone, leaving, choice, copies)
        if want != record.want:
            edits.append(WantEdit(shard, want))
    return tuple(edits)


def _repaired(
    record: ShardRecord,
    up: Collection[str],
    gone: Collection[str],
    leaving: Collection[str],
    choice: _Choice,
    copies: int,
) -> tuple[str, ...]:
    """The record's new `want`."""
    want = list(record.want)
    owner = record.owner
    if owner is not None and owner in up and owner not in want and not record.move:
        want = [owner, *want[: max(copies, len(want)) - 1]]
        choice.load[owner] += 1
    for place, node in enumerate(want):
        if node == record.owner:
            continue
        if node in gone:
            want[place] = choice.take(want) or node
        elif node in leaving:
            want[place] = choice.take(want, fit=True) or node
    while len(want) < copies:
        chosen = choice.take(want)
        if chosen is None:
            break
        want.append(chosen)
    return tuple(want)


@dataclass(frozen=True, slots=True)
class _Choice:
    """Who comes next: the fit before the unfit, then whoever holds the fewest."""

    load: Counter[str]
    unfit: frozenset[str]

    def take(self, taken: Collection[str], *, fit: bool = False) -> str | None:
        """`load` learns of who is chosen. `fit`: rather nobody than an unfit one."""
        load, unfit = self.load, self.unfit
        free = [n for n in load if n not in taken and not (fit and n in unfit)]
        chosen = min(free, key=lambda n: (n in unfit, load[n], n), default=None)
        if chosen is not None:
            load[chosen] += 1
        return chosen


def _wanted(shard: int, names: Sequence[str]) -> tuple[str, ...]:
    lap, owner = divmod(shard, len(names))
    others = [*names[owner + 1 :], *names[:owner]]
    turn = lap % len(others) if others else 0
    return (names[owner], *others[turn:], *others[:turn])
