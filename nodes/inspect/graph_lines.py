"""A game's graph as lines: its states as a tree, under each the edges that leave it.

    > play                         the match is here
        roll -> play  (roll)
      * hold -> play  (hold)       the edge that was taken
        hold -> over  (last hold)
      over

A state that may come next is marked with `?`.
"""

from __future__ import annotations

from ...engine.graph import Edge, Graph, GraphNode
from ...engine.inspector.inspector import InspectedFrame
from ...engine.step import TIMEOUT_EVENT, TransitionRecord
from .lines import Line, line

__all__ = ["graph_lines"]

_INDENT = "  "


def graph_lines(graph: Graph, shown: InspectedFrame) -> list[Line]:
    """The graph, with what the frame lights up."""
    lines: list[Line] = []
    taken = shown.transition
    for node in _as_tree(graph):
        lines.append(_node_line(node, shown))
        for edge in graph.edges:
            if edge.source == node.id:
                lines.append(_edge_line(edge, len(node.path), taken))
    return lines


def _as_tree(graph: Graph) -> list[GraphNode]:
    """Each state directly after its parent, else in the order of declaration."""
    order = {node.id: place for place, node in enumerate(graph.nodes)}
    return sorted(graph.nodes, key=lambda node: [order[name] for name in node.path])


def _node_line(node: GraphNode, shown: InspectedFrame) -> Line:
    lit = shown.highlight
    indent = _INDENT * (len(node.path) - 1)
    if node.id == lit.current:
        return line(f"> {indent}{node.id}", "here")
    if node.id in shown.position.path:
        return line(f"> {indent}{node.id}", "strong")
    if lit.edge is not None and node.id == lit.edge[0]:
        return line(f"< {indent}{node.id}  (left)", "strong")
    if node.id in lit.pending_targets:
        return line(f"? {indent}{node.id}")
    return line(f"  {indent}{node.id}", "dim")


def _edge_line(edge: Edge, depth: int, taken: TransitionRecord | None) -> Line:
    event = "(timeout)" if edge.event == TIMEOUT_EVENT else edge.event
    name = "" if edge.resolver is None else f"  ({edge.resolver})"
    turn = "" if edge.turn == "preserve" else f"  turn: {edge.turn}"
    mark, text = "  ", f"{event} -> {edge.target}{name}{turn}"
    if taken is not None and _place(taken) == (
        edge.event,
        edge.source,
        edge.target,
        edge.resolver,
    ):
        return line(f"{_INDENT * depth}* {text}", "good")
    return line(f"{_INDENT * depth}{mark}{text}", "dim")


def _place(taken: TransitionRecord) -> tuple[str, str, str, str | None]:
    return taken.event, taken.matched_from, taken.target, taken.resolver
