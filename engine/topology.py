"""The tree of states: who is inside whom, and the path from the root to each.

A state with children is compound; a match stands in leaves only, and a leaf's parents
contribute their transitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from .definition import Game, State
from .errors import DefinitionError

__all__ = ["Node", "build_topology"]


class Node(msgspec.Struct, frozen=True):
    """A state in the tree. `path` leads from the root to it."""

    name: str
    parent: str | None
    path: tuple[str, ...]
    is_leaf: bool


def build_topology(game: Game) -> Mapping[str, Node]:
    """Every state's node, in the order of declaration.

    Raises:
        DefinitionError: a parent is not declared, or states are inside each other.
    """
    for name, part in game.states.items():
        if part.parent is not None and part.parent not in game.states:
            raise DefinitionError(
                f'State "{name}" declares parent "{part.parent}" which is not declared.'
            )
    parents = {part.parent for part in game.states.values()}
    return MappingProxyType(
        {
            name: Node(name, part.parent, _path(name, game.states), name not in parents)
            for name, part in game.states.items()
        }
    )


def _path(name: str, states: Mapping[str, State]) -> tuple[str, ...]:
    path = [name]
    while (parent := states[path[-1]].parent) is not None:
        if parent in path:
            raise DefinitionError(f'State hierarchy contains a cycle at "{parent}".')
        path.append(parent)
    return tuple(reversed(path))
