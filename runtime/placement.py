"""Which node should own and follow what: pure, and it only proposes."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["initial_layout"]


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


def _wanted(shard: int, names: Sequence[str]) -> tuple[str, ...]:
    lap, owner = divmod(shard, len(names))
    others = [*names[owner + 1 :], *names[:owner]]
    turn = lap % len(others) if others else 0
    return (names[owner], *others[turn:], *others[:turn])
