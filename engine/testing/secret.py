"""What two worlds differ in: one secret, and whose it is.

A secret names the seat that may know it; None is nobody, as for the order of a deck.
Two worlds part where the secret comes to be: by an action, in a state, or at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import msgspec

from ..context import StateContext
from ..errors import EngineError
from ..frozen import freeze
from ..jsonvalue import Json
from ..machine import Machine
from ..session import Session
from ..snapshot import Snapshot
from ..step import Batch, Step
from .states import context_of, match_states
from .transcript import action_text, json_text, place_text, record_text

__all__ = [
    "Fork",
    "Secret",
    "SecretAction",
    "SecretStart",
    "SecretState",
    "World",
    "find_forks",
]


@dataclass(frozen=True, slots=True)
class SecretAction:
    """A seat dispatches `event` with the payload `one` here, and with `other` there."""

    seat: str
    event: str
    one: Json
    other: Json


@dataclass(frozen=True, slots=True)
class SecretState:
    """A part of G that only `seat` may know.

    `change` gets a state's context and gives the other world's G: the same but for the
    secret. None where there is nothing to change yet.
    """

    seat: str | None
    change: Callable[[StateContext], Json]


@dataclass(frozen=True, slots=True)
class SecretStart:
    """What a match starts with: the parts of its input that differ, such as
    `{"config": {...}}`, or `{"seed": "a"}` for the seed.
    """

    seat: str | None
    one: Mapping[str, Json]
    other: Mapping[str, Json]


Secret: TypeAlias = SecretAction | SecretState | SecretStart


class World(NamedTuple):
    """A match, and the steps that just led there; none where it begins."""

    snapshot: Snapshot
    steps: tuple[Step, ...] = ()


class Fork(NamedTuple):
    """Where two worlds part, and how the match came there, for a transcript."""

    one: World
    other: World
    lines: Sequence[tuple[str, str]]


def find_forks(secret: Secret, played: Session) -> Iterator[Fork]:
    """Every place of a played match at which the worlds may part.

    Raises:
        EngineError: The other world's state is none of this game.
    """
    if isinstance(secret, SecretStart):
        yield from _at_start(secret, played)
        return
    lines: list[tuple[str, str]] = []
    for record, session in match_states(played):
        lines.append((record_text(record), place_text(session.snapshot)))
        if isinstance(secret, SecretAction):
            worlds = _by_action(secret, session.machine, session.snapshot)
            done = action_text(secret.seat, secret.event, secret.one)
            done = f"{done}, or else {json_text(secret.other)}"
        else:
            worlds = _by_state(secret, session.machine, session.snapshot)
            done = "here the worlds part"
        if worlds is not None:
            place = place_text(worlds[0].snapshot)
            yield Fork(*worlds, [*lines, (done, place)])


def _at_start(secret: SecretStart, played: Session) -> Iterator[Fork]:
    given = played.log[0].input
    one, other = (
        _started(played.machine, {"seed": given["seed"], **given["match"], **differs})
        for differs in (secret.one, secret.other)
    )
    yield Fork(one, other, [("start", place_text(one.snapshot))])


def _started(machine: Machine, given: dict[str, Json]) -> World:
    return World(machine.start(given, given.pop("seed"), 0))


def _by_action(
    secret: SecretAction, machine: Machine, snapshot: Snapshot
) -> tuple[World, World] | None:
    worlds = []
    for payload in (secret.one, secret.other):
        answer = machine.apply(
            snapshot,
            secret.seat,
            secret.event,
            payload,
            now=snapshot.meta.now,
            action_id="secret",
        )
        if not isinstance(answer, Batch):
            return None
        worlds.append(World(answer.snapshot, answer.steps))
    one, other = worlds
    return None if one.snapshot.G == other.snapshot.G else (one, other)


def _by_state(
    secret: SecretState, machine: Machine, snapshot: Snapshot
) -> tuple[World, World] | None:
    G = secret.change(context_of(snapshot))
    if G is None:
        return None
    G = freeze(G, label="the other world's G")
    if G == snapshot.G:
        return None
    try:
        changed = machine.restore(msgspec.structs.replace(snapshot, G=G))
    except EngineError as error:
        error.add_note("in the other world, which the secret's `change` has made")
        raise
    return World(snapshot), World(changed)
