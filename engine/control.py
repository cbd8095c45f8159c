"""A summary of who may do what now, and where a match may go next.

The words of a state that may come (its label, deadline, metadata) are derived as if the
match stood there with the G of now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from .context import StateContext
from .definition import Game
from .frozen import EMPTY_LIST, freeze
from .jsonvalue import Json
from .snapshot import ControlMeta, Position, Snapshot
from .topology import Node, build_topology

__all__ = ["ControlSummary", "PendingTarget", "control_summary"]


@dataclass(frozen=True, slots=True)
class PendingTarget:
    """A state that a transition leads to from here, and what it would say."""

    name: str
    path: tuple[str, ...]
    deadline: int | float | None
    label: str | None
    metadata: Sequence[Json]


@dataclass(frozen=True, slots=True)
class ControlSummary:
    """Whose turn it is, what the current leaf says, and which states may follow."""

    active_players: Sequence[str]
    control: Json
    position: Position
    meta: ControlMeta
    pending_targets: tuple[PendingTarget, ...]


def control_summary(game: Game, snapshot: Snapshot) -> ControlSummary:
    """Summarize a snapshot. What an author's derivation raises passes through."""
    topology = build_topology(game)
    derived = snapshot.derived
    return ControlSummary(
        derived.active_players,
        derived.control,
        snapshot.position,
        derived.control_meta,
        tuple(
            _pending(game, topology[name], snapshot)
            for name in derived.control_meta.pending_targets
        ),
    )


def _pending(game: Game, node: Node, snapshot: Snapshot) -> PendingTarget:
    position = msgspec.structs.replace(
        snapshot.position, name=node.name, path=node.path
    )
    ctx = StateContext(
        snapshot.G,
        position,
        snapshot.derived,
        snapshot.meta.match,
        snapshot.meta.now,
    )
    state = game.states[node.name]
    deadline, label, metadata = (
        part(ctx) if callable(part) else part
        for part in (state.deadline, state.label, state.metadata)
    )
    words = EMPTY_LIST if metadata is None else freeze(metadata, label="metadata")
    return PendingTarget(node.name, node.path, deadline, label, words)
