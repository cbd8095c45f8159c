"""Everything of a match that may leave for one seat, or for a spectator.

Streams, by name: what is pushed (view, step, what the state says of itself), what is
listed (legal actions), and what is told to whoever tries something. A host sends a part
of this; a replay and an inspector at a seat's level send all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import NamedTuple

import msgspec

from ..errors import ViewError
from ..jsonvalue import Json
from ..machine import Machine
from ..redact import redact_refusal, redact_step
from ..refusal import Refusal
from ..snapshot import Snapshot
from ..step import Batch
from .secret import World

__all__ = ["Received", "ValueGap", "find_gap", "received_by", "told"]

ABSENT = "nothing"


class Received(NamedTuple):
    """One value that is sent, as a whole."""

    revision: int
    stream: str
    value: Json


class ValueGap(NamedTuple):
    """The first place at which two values differ, and what is there."""

    path: str
    one: Json
    other: Json


def received_by(
    machine: Machine, world: World, to: str | None, private_selectors: Collection[str]
) -> Iterator[Received]:
    """What reaches `to`, None being a spectator, when the match came to this world.

    Every revision is looked at, also those in the midst of a batch: a replay stops
    there. Code of the game that fails is told as its failure.
    """
    yield Received(world.snapshot.revision, "steps", len(world.steps))
    for step in world.steps:
        snapshot = step.snapshot
        for stream, value in _state_words(snapshot, private_selectors):
            yield Received(snapshot.revision, stream, value)
        shown = _shown(partial(redact_step, machine.game, step, to))
        yield Received(snapshot.revision, "step", shown)
        yield Received(snapshot.revision, "view", _view(machine, snapshot, to))
    snapshot = world.snapshot
    if not world.steps:
        for stream, value in _state_words(snapshot, private_selectors):
            yield Received(snapshot.revision, stream, value)
        yield Received(snapshot.revision, "view", _view(machine, snapshot, to))
    if to is not None:
        legal = _shown(partial(machine.legal_actions, snapshot, to))
        yield Received(snapshot.revision, "legal actions", legal)


def told(answer: Batch | Refusal) -> Json:
    """What whoever tried something is told."""
    if isinstance(answer, Batch):
        return "accepted"
    answer = redact_refusal(answer)
    return {
        "code": answer.code,
        "message": answer.message,
        "reason": answer.reason,
        "details": answer.details,
    }


def find_gap(one: Json, other: Json, path: str = "$") -> ValueGap | None:
    """The first place at which what is sent differs; None if every byte is the same."""
    if msgspec.msgpack.encode(one) == msgspec.msgpack.encode(other):
        return None
    if isinstance(one, dict) and isinstance(other, dict):
        for key in (*one, *other):
            if key not in one or key not in other:
                there = (one.get(key, ABSENT), other.get(key, ABSENT))
                return ValueGap(f"{path}.{key}", *there)
        if list(one) != list(other):
            return ValueGap(f"the order of the keys of {path}", list(one), list(other))
        pairs = [(f"{path}.{key}", one[key], other[key]) for key in one]
    elif isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        if len(one) != len(other):
            return ValueGap(f"the length of {path}", len(one), len(other))
        pairs = [
            (f"{path}[{n}]", *both)
            for n, both in enumerate(zip(one, other, strict=True))
        ]
    else:
        return ValueGap(path, one, other)
    return next(gap for at, a, b in pairs if (gap := find_gap(a, b, at)) is not None)


def _state_words(
    snapshot: Snapshot, private_selectors: Collection[str]
) -> Iterator[tuple[str, Json]]:
    """What a state says of itself, to everybody."""
    position, derived = snapshot.position, snapshot.derived
    words = derived.control_meta
    yield "position", [position.name, position.path, position.turn, snapshot.revision]
    yield "active players", derived.active_players
    yield "result", snapshot.meta.result
    yield "deadline", words.deadline
    yield "label", words.label
    yield "control", derived.control
    yield "metadata", words.metadata
    for name, value in derived.selectors.items():
        if name not in private_selectors:
            yield f"selector {name}", value


def _view(machine: Machine, snapshot: Snapshot, to: str | None) -> Json:
    if to is None:
        return _shown(partial(machine.public_view, snapshot))
    return _shown(partial(machine.player_view, snapshot, to))


def _shown(draw: Callable[[], Json]) -> Json:
    try:
        return draw()
    except ViewError as error:
        return f"it fails: {error.code}"
