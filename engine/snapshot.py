"""What a match is at a revision: G, position, what derives from them, and the rest.

Snapshots are values: immutable, compared by what they hold, free to be shared between
steps, views and threads. Two neighbours share every part that did not change.

They hold only what was there before them, so that no circle leads through one, and the
garbage collector need not look (`gc=False`): a node keeps very many of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from .errors import SnapshotError
from .frozen import EMPTY_DICT, EMPTY_LIST, FDict, enclose, freeze, thaw
from .jsonvalue import Json
from .rng import RNG_STATE_MAX, RngState

__all__ = [
    "EMPTY_DERIVED",
    "ControlMeta",
    "Derived",
    "Meta",
    "Position",
    "Snapshot",
    "snapshot_from_json",
    "snapshot_to_json",
]


class Position(msgspec.Struct, frozen=True, gc=False):
    """Where the match stands in the graph. `path` leads from the root to the leaf."""

    name: str
    path: tuple[str, ...]
    turn: int
    """From 1."""


class ControlMeta(msgspec.Struct, frozen=True, gc=False):
    """What the current leaf says about itself."""

    deadline: int | float | None
    """An instant in milliseconds, or None."""
    label: str | None
    metadata: Sequence[Json]
    pending_targets: tuple[str, ...]
    """States that a transition leads to from here, leaf before parents."""


class Derived(msgspec.Struct, frozen=True, gc=False):
    """What follows from G and the position, recomputed at every step."""

    active_players: Sequence[str]
    control: Json
    control_meta: ControlMeta
    selectors: Mapping[str, Json]


class Meta(msgspec.Struct, frozen=True, gc=False):
    """What a match carries beside its game state."""

    match: FDict
    now: int | float
    """The time of the last event, in milliseconds."""
    result: Json
    """Anything but None means that the match is over."""
    rng: RngState
    seed: str


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """A match at a revision."""

    G: Json
    position: Position
    derived: Derived
    meta: Meta
    revision: int
    """Steps so far."""


EMPTY_DERIVED: Final = Derived(
    EMPTY_LIST, None, ControlMeta(None, None, EMPTY_LIST, ()), EMPTY_DICT
)
"""What `ctx.derived` holds while it is being derived."""


def snapshot_to_json(snapshot: Snapshot) -> dict[str, Json]:
    """A plain copy, free to change and to encode."""
    meta, derived = snapshot.meta, snapshot.derived
    return {
        "G": thaw(snapshot.G),
        "position": _position_to_json(snapshot.position),
        "derived": {
            "active_players": thaw(derived.active_players),
            "control": thaw(derived.control),
            "control_meta": {
                "deadline": derived.control_meta.deadline,
                "label": derived.control_meta.label,
                "metadata": thaw(derived.control_meta.metadata),
                "pending_targets": list(derived.control_meta.pending_targets),
            },
            "selectors": thaw(derived.selectors),
        },
        "meta": {
            "match": thaw(meta.match),
            "now": meta.now,
            "result": thaw(meta.result),
            "rng": msgspec.to_builtins(meta.rng),
            "seed": meta.seed,
        },
        "revision": snapshot.revision,
    }


def snapshot_from_json(value: object) -> Snapshot:
    """Read what `snapshot_to_json` wrote.

    Raises:
        SnapshotError: it is not a snapshot; the message says where.
    """
    try:
        known = enclose(value, label="the snapshot")
        return _read(msgspec.convert(known, _Wire))
    except ValueError as error:  # msgspec's and freeze's are all of it
        raise SnapshotError(f"this is not a snapshot: {error}") from error


class _WireDerived(msgspec.Struct):
    active_players: list[Any]
    control: Any
    control_meta: ControlMeta
    selectors: dict[str, Any]


class _WireMeta(msgspec.Struct):
    match: dict[str, Any]
    now: int | float
    result: Any
    rng: RngState
    seed: str


class _Wire(msgspec.Struct):
    G: Any
    position: Position
    derived: _WireDerived
    meta: _WireMeta
    revision: int


def _read(wire: _Wire) -> Snapshot:
    """Raises ValueError: a number is none that a match can have."""
    rng = wire.meta.rng
    if wire.position.turn < 1 or wire.revision < 0:
        raise ValueError("turns count from 1, and revisions from 0")
    if rng.draws < 0 or not 0 <= rng.state <= RNG_STATE_MAX:
        raise ValueError("the rng stands where no generator can")
    derived = wire.derived
    return Snapshot(
        freeze(wire.G),
        wire.position,
        Derived(
            freeze(derived.active_players),
            freeze(derived.control),
            msgspec.structs.replace(
                derived.control_meta, metadata=freeze(derived.control_meta.metadata)
            ),
            freeze(derived.selectors),
        ),
        Meta(
            freeze(wire.meta.match),
            freeze(wire.meta.now),
            freeze(wire.meta.result),
            wire.meta.rng,
            wire.meta.seed,
        ),
        wire.revision,
    )


def _position_to_json(position: Position) -> dict[str, Json]:
    return {
        "name": position.name,
        "path": list(position.path),
        "turn": position.turn,
    }
