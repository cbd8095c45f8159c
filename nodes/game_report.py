"""What `hotseat game check` says of a game: findings and graph, in three forms.

The report is collected once; text, JSON and Graphviz are written from it. The JSON's
schema is in docs/diagnostics.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..engine.definition import Game
from ..engine.diagnostic import Diagnostic
from ..engine.errors import DefinitionError, InvalidMatchError
from ..engine.graph import Edge, Graph, GraphNode, compile_graph
from ..engine.step import TIMEOUT_EVENT
from ..engine.validate import hostable, validate

__all__ = [
    "GameReport",
    "dot_lines",
    "finding_lines",
    "report_game",
    "report_json",
    "text_lines",
]


# No state has this name: names are not empty.
_START = '""'


@dataclass(frozen=True, slots=True)
class GameReport:
    """Everything there is to say.

    `findings` has what stops a host as well. `graph` is None when the states are no
    tree. `unprobed` says why no match could be set up to derive the states with.
    """

    game: Game
    findings: tuple[Diagnostic, ...]
    hostable: bool
    graph: Graph | None
    unprobed: str | None

    @property
    def errors(self) -> int:
        """How many findings are errors; the others are warnings."""
        return sum(finding.severity == "error" for finding in self.findings)

    @property
    def warnings(self) -> int:
        """How many findings are warnings."""
        return len(self.findings) - self.errors


def report_game(game: Game, match: Mapping[str, Any] | None = None) -> GameReport:
    """Check a game, with the match that is given or one of the fewest players.

    Raises:
        InvalidMatchError: The match that is given is wrong.
    """
    unprobed = None
    fewest = {"players": list(game.player_ids[: game.min_players])}
    try:
        report = validate(game, fewest if match is None else match)
    except InvalidMatchError as error:
        if match is not None:
            raise
        unprobed = str(error)
        report = validate(game)
    unhosted = hostable(game)
    findings = (*report.diagnostics, *([unhosted] if unhosted is not None else ()))
    try:
        graph = compile_graph(game)
    except DefinitionError:
        graph = None  # invalid_hierarchy is among the findings
    can_be_hosted = report.ok and unhosted is None
    return GameReport(game, findings, can_be_hosted, graph, unprobed)


def report_json(report: GameReport) -> dict[str, Any]:
    """The report as one JSON object."""
    places = ("code", "severity", "message", "hint", "event", "source", "target")
    return {
        "name": report.game.name,
        "version": report.game.version,
        "ok": report.errors == 0,
        "hostable": report.hostable,
        "errors": report.errors,
        "warnings": report.warnings,
        "unprobed": report.unprobed,
        "diagnostics": [
            {name: getattr(finding, name) for name in (*places, "state")}
            for finding in report.findings
        ],
        "graph": None if report.graph is None else _graph_json(report.graph),
    }


def text_lines(report: GameReport) -> Iterator[str]:
    """The report for a person: the graph, the findings, and what they come to."""
    game = report.game
    fewest, most = game.min_players, game.max_players
    seats = str(most) if fewest == most else f"{fewest}-{most}"
    yield f"{game.name} version {game.version}, players {seats}"
    if report.graph is not None:
        yield from _graph_lines(report.graph)
    yield from finding_lines(report)
    yield f"hostable: {'yes' if report.hostable else 'no'}"
    yield (
        f"{game.name} version {game.version}: "
        f"{_count(report.errors, 'error')}, {_count(report.warnings, 'warning')}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def finding_lines(report: GameReport) -> Iterator[str]:
    """Each finding with its place and its hint."""
    for finding in report.findings:
        yield f"{finding.severity}[{finding.code}]: {finding.message}"
        if finding.source is not None:
            target = finding.target or finding.context.get("target") or "..."
            on = "" if finding.event is None else f"  on {finding.event}"
            yield f"  at: {finding.source} -> {target}{on}"
        yield f"  hint: {finding.hint}"
    if report.unprobed is not None:
        yield f"note: the states were not derived; no match of it: {report.unprobed}"
        yield "  hint: give one with --match"


def dot_lines(report: GameReport) -> Iterator[str]:
    """The graph in Graphviz's language; a compound state is a box around its own."""
    yield f"digraph {_quoted(report.game.name)} {{"
    yield "  compound=true; rankdir=LR; node [shape=box, style=rounded];"
    graph = report.graph
    if graph is not None:
        yield f"  {_START} [shape=point];"
        for node in graph.nodes:
            if node.parent is None:
                yield from _dot_node(graph, node, "  ")
        yield from _dot_edges(graph)
    yield "}"


def _graph_json(graph: Graph) -> dict[str, Any]:
    return {
        "initial": graph.initial,
        "nodes": [
            {
                "name": node.id,
                "kind": node.kind,
                "parent": node.parent,
                "path": list(node.path),
            }
            for node in graph.nodes
        ],
        "edges": [
            {
                "event": None if edge.event == TIMEOUT_EVENT else edge.event,
                "source": edge.source,
                "target": edge.target,
                "resolver": edge.resolver,
                "turn": edge.turn,
            }
            for edge in graph.edges
        ],
    }


def _graph_lines(graph: Graph) -> Iterator[str]:
    yield "states:"
    for node in _from_the_root(graph):
        initial = " (initial)" if node.id == graph.initial else ""
        yield f"{'  ' * len(node.path)}{node.id}{initial}"
    yield "transitions:"
    for edge in graph.edges:
        resolver = f"  {edge.resolver}" if edge.resolver is not None else ""
        yield f"  {edge.source} -> {edge.target}  on {_event(edge)}{resolver}"


def _from_the_root(graph: Graph) -> Iterator[GraphNode]:
    """Each state after its parent, else as declared."""
    order = {node.id: index for index, node in enumerate(graph.nodes)}
    yield from sorted(graph.nodes, key=lambda n: [order[name] for name in n.path])


def _event(edge: Edge) -> str:
    name = "timeout" if edge.event == TIMEOUT_EVENT else edge.event
    return name if edge.turn == "preserve" else f"{name}, turn {edge.turn}"


def _dot_node(graph: Graph, node: GraphNode, margin: str) -> Iterator[str]:
    if node.kind == "leaf":
        yield f"{margin}{_quoted(node.id)};"
        return
    yield f"{margin}subgraph {_quoted(f'cluster {node.id}')} {{"
    yield f"{margin}  label={_quoted(node.id)};"
    for child in graph.nodes:
        if child.parent == node.id:
            yield from _dot_node(graph, child, f"{margin}  ")
    yield f"{margin}}}"


def _dot_edges(graph: Graph) -> Iterator[str]:
    """Edges join leaves; one from a compound state is cut off at its box."""
    leaves = [node for node in graph.nodes if node.kind == "leaf"]

    def leaf_of(name: str) -> str | None:
        return next((leaf.id for leaf in leaves if name in leaf.path), None)

    if leaf_of(graph.initial) is not None:
        yield f"  {_START} -> {_quoted(leaf_of(graph.initial) or '')};"
    for edge in graph.edges:
        source, target = leaf_of(edge.source), leaf_of(edge.target)
        if source is None or target is None:
            continue  # missing_state is among the findings
        marks = {"label": _event(edge)}
        if source != edge.source:
            marks["ltail"] = f"cluster {edge.source}"
        if target != edge.target:
            marks["lhead"] = f"cluster {edge.target}"
        said = ", ".join(f"{mark}={_quoted(text)}" for mark, text in marks.items())
        yield f"  {_quoted(source)} -> {_quoted(target)} [{said}];"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
