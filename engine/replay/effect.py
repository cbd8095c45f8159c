"""What a step did to a match, small enough to be kept beside its record.

A digest says that two runs differ; effects say in what. They are what a digest covers
too: position, result, draws, and each place in G and in the match that changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from ..digest import canonical_bytes
from ..jsonvalue import Json
from ..playback import Played
from ..snapshot import Snapshot
from ..step import Batch
from ..value_diff import diff_values, iter_changes

__all__ = [
    "Effect",
    "FieldChange",
    "effects_of",
    "first_effect_change",
    "state_changes",
]

Places: TypeAlias = list[tuple[str, Any]]


class Effect(msgspec.Struct, frozen=True, array_like=True):
    """What one step left. `G` and `match` hold the new value of each changed place."""

    position: str
    turn: int
    result: Any
    draws: int
    rng: int
    G: Places
    match: Places


class FieldChange(msgspec.Struct, frozen=True):
    """The first field in which two runs differ, and what each of them has there."""

    field: str
    """Such as `position`, `turn`, `result`, `rng`, `G.board[3]`."""
    before: Json
    after: Json


def effects_of(played: Played) -> list[Effect]:
    """The effect of each step of a record; of the creation, none."""
    if played.before is None or played.batch is None:
        return []
    return list(_effects(played.before, played.batch))


def first_effect_change(
    kept: Sequence[Effect], before: Snapshot, batch: Batch | None
) -> tuple[int, FieldChange] | None:
    """Where a batch did something else than was kept: the step's number, the field."""
    made = [] if batch is None else list(_effects(before, batch))
    for number, (old, new) in enumerate(zip(kept, made, strict=False)):
        for field, was, now in _fields(old, new):
            return number, FieldChange(field, was, now)
    if len(kept) != len(made):
        shared = min(len(kept), len(made))
        return shared, FieldChange("steps", len(kept), len(made))
    return None


def state_changes(old: Snapshot, new: Snapshot) -> Iterator[FieldChange]:
    """Each field in which two states differ, those that digests cover first."""
    a, b = old.meta, new.meta
    pairs: list[tuple[str, Json, Json]] = [
        ("position", old.position.name, new.position.name),
        ("turn", old.position.turn, new.position.turn),
        ("result", a.result, b.result),
        ("rng.draws", a.rng.draws, b.rng.draws),
        ("rng.state", a.rng.state, b.rng.state),
        ("G", old.G, new.G),
        ("match", a.match, b.match),
        ("now", a.now, b.now),
    ]
    c, d = old.derived, new.derived
    pairs += [
        ("active_players", c.active_players, d.active_players),
        ("deadline", c.control_meta.deadline, d.control_meta.deadline),
        ("label", c.control_meta.label, d.control_meta.label),
        ("metadata", c.control_meta.metadata, d.control_meta.metadata),
        ("control", c.control, d.control),
        ("selectors", c.selectors, d.selectors),
    ]
    for name, was, now in pairs:
        if was is now or canonical_bytes(was) == canonical_bytes(now):
            continue  # told at the speed of C, which is most of a comparison
        for change in iter_changes(was, now, name):
            yield FieldChange(change.path, change.before, change.after)


def _effects(before: Snapshot, batch: Batch) -> Iterator[Effect]:
    for step in batch.steps:
        after = step.snapshot
        meta = after.meta
        yield Effect(
            after.position.name,
            after.position.turn,
            meta.result,
            meta.rng.draws,
            meta.rng.state,
            _places(before.G, after.G),
            _places(before.meta.match, meta.match),
        )
        before = after


def _places(before: Json, after: Json) -> Places:
    return [(change.path[1:], change.after) for change in diff_values(before, after)]


def _fields(old: Effect, new: Effect) -> Iterator[tuple[str, Json, Json]]:
    pairs = (
        ("position", old.position, new.position),
        ("turn", old.turn, new.turn),
        ("result", old.result, new.result),
        ("rng.draws", old.draws, new.draws),
        ("rng.state", old.rng, new.rng),
    )
    for name, was, now in pairs:
        for change in iter_changes(was, now, name):
            yield change.path, change.before, change.after
    for name, kept, made in (("G", old.G, new.G), ("match", old.match, new.match)):
        was_at, now_at = dict(kept), dict(made)
        for place in [*was_at, *(place for place in now_at if place not in was_at)]:
            was, now = was_at.get(place, "unchanged"), now_at.get(place, "unchanged")
            for change in iter_changes(was, now, f"{name}{place}"):
                yield change.path, change.before, change.after
