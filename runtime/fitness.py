"""Which nodes are fit for which shards: who has the games that its matches go on in."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["Games", "unfit_nodes"]

Games = frozenset[tuple[str, str]]
"""(name, version) of each."""


def unfit_nodes(
    needed: Mapping[int, Games], games: Mapping[str, Games]
) -> dict[int, frozenset[str]]:
    """By shard the nodes that lack a game it needs; shards for which all are fit are
    not told."""
    unfit: dict[int, frozenset[str]] = {}
    for shard, wanted in needed.items():
        lacking = frozenset(n for n, known in games.items() if not wanted <= known)
        if lacking:
            unfit[shard] = lacking
    return unfit
