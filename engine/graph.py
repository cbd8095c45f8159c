"""A game as a graph, for tools that draw or walk it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .definition import Game
from .step import TIMEOUT_EVENT
from .topology import build_topology

__all__ = ["Edge", "Graph", "GraphNode", "compile_graph"]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A state. `path` leads from the root to it."""

    id: str
    kind: Literal["compound", "leaf"]
    parent: str | None
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """A transition; `event` of a timeout is the name that records give it."""

    event: str
    source: str
    target: str
    resolver: str | None
    turn: str


@dataclass(frozen=True, slots=True)
class Graph:
    """States and transitions in the order of their declaration."""

    initial: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[Edge, ...]


def compile_graph(game: Game) -> Graph:
    """The game's graph.

    Raises:
        DefinitionError: The states are no tree.
    """
    nodes = (
        GraphNode(n.name, "leaf" if n.is_leaf else "compound", n.parent, n.path)
        for n in build_topology(game).values()
    )
    edges = (
        Edge(
            event=TIMEOUT_EVENT if edge.event is None else edge.event,
            source=edge.source,
            target=edge.target,
            resolver=edge.resolver_name,
            turn=edge.turn or "preserve",
        )
        for edge in game.transitions
    )
    return Graph(game.initial, tuple(nodes), tuple(edges))
