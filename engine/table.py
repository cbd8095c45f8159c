"""A game compiled for one purpose: to find quickly what an event means in a leaf.

For each leaf: its path, how it derives, and for every event the families from the leaf
to the root. Building it reads the whole definition once; a step then only looks names
up in plain dicts. A name of the author's is data and never an attribute.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from .definition import Game, Transition
from .derive import Derivation, plan_derivation
from .matching import Family, make_family
from .step import TIMEOUT_EVENT
from .topology import Node

__all__ = ["LeafTable", "compile_tables"]


class LeafTable(msgspec.Struct, frozen=True):
    """What a match that stands in one leaf needs."""

    node: Node
    derivation: Derivation
    chains: dict[str, tuple[Family, ...]]
    """By event: the families from the leaf to the root; none is empty."""
    timeouts: tuple[Family, ...]
    """The timeout transitions from the leaf to the root."""


def compile_tables(game: Game, nodes: Mapping[str, Node]) -> dict[str, LeafTable]:
    """Compile every leaf.

    Transitions from states that do not exist are left out; validation refuses them.
    """
    grouped: dict[str, dict[str, list[Transition]]] = {}
    timeouts: dict[str, list[Transition]] = {}
    targets: dict[str, list[str]] = {}
    for edge in game.transitions:
        targets.setdefault(edge.source, []).append(edge.target)
        if edge.kind == "timeout":
            timeouts.setdefault(edge.source, []).append(edge)
        elif edge.event is not None:
            by_event = grouped.setdefault(edge.source, {})
            by_event.setdefault(edge.event, []).append(edge)
    families = {
        name: {
            event: make_family(event, node, edges, nodes)
            for event, edges in grouped.get(name, {}).items()
        }
        for name, node in nodes.items()
    }
    alarms = {
        name: make_family(TIMEOUT_EVENT, nodes[name], edges, nodes)
        for name, edges in timeouts.items()
        if name in nodes
    }
    return {
        name: LeafTable(
            node=node,
            derivation=plan_derivation(game, name, _pending(node, targets)),
            chains=_chains(node, families),
            timeouts=tuple(
                alarms[place] for place in reversed(node.path) if place in alarms
            ),
        )
        for name, node in nodes.items()
        if node.is_leaf
    }


def _chains(
    node: Node, families: Mapping[str, Mapping[str, Family]]
) -> dict[str, tuple[Family, ...]]:
    chains: dict[str, tuple[Family, ...]] = {}
    for place in reversed(node.path):
        for event, family in families[place].items():
            chains[event] = (*chains.get(event, ()), family)
    return chains


def _pending(node: Node, targets: Mapping[str, list[str]]) -> tuple[str, ...]:
    places = reversed(node.path)
    return tuple(
        dict.fromkeys(target for place in places for target in targets.get(place, ()))
    )
