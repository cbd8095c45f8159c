"""A summary of who may do what now, and where a match may go next.

The words of a state that may come (its label, deadline, metadata) are derived as if the
match stood there with the G of now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
        _words_now(game, snapshot),
        tuple(
            _pending(game, topology[name], snapshot)
            for name in derived.control_meta.pending_targets
        ),
    )


def _words_now(game: Game, snapshot: Snapshot) -> ControlMeta:
    """The current leaf's words, asked for again: now `ctx.derived` is filled."""
    meta = snapshot.derived.control_meta
    deadline, label, metadata = _words(game, snapshot.position, snapshot)
    return ControlMeta(
        meta.deadline if deadline is None else deadline,
        meta.label if label is None else label,
        meta.metadata if metadata is None else metadata,
        meta.pending_targets,
    )


def _pending(game: Game, node: Node, snapshot: Snapshot) -> PendingTarget:
    position = Position(node.name, node.path, snapshot.position.turn)
    deadline, label, metadata = _words(game, position, snapshot)
    words = EMPTY_LIST if metadata is None else metadata
    return PendingTarget(node.name, node.path, deadline, label, words)


def _words(game: Game, position: Position, snapshot: Snapshot) -> Json:
    """Deadline, label and metadata of a state, frozen; None where it says nothing."""
    meta = snapshot.meta
    ctx = StateContext(snapshot.G, position, snapshot.derived, meta.match, meta.now)
    state = game.states[position.name]
    return [
        freeze(part(ctx), label="control") if callable(part) else part
        for part in (state.deadline, state.label, state.metadata)
    ]
