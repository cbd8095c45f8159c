"""What follows from a state: active players, control, selectors, and the leaf's words.

Each part is a constant, read once when the machine is built, or a function of the state
context, called at every step. A leaf of constants alone derives one shared value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from .context import StateContext
from .definition import Game
from .frozen import EMPTY_DICT, EMPTY_LIST, FDict, FList, freeze
from .interruption import Interruption
from .jsonvalue import Json
from .snapshot import EMPTY_DERIVED, ControlMeta, Derived, Position

__all__ = [
    "Derivation",
    "DerivationFailed",
    "checked_deadline",
    "checked_label",
    "checked_list",
    "checked_metadata",
    "checked_seats",
    "plan_derivation",
]


class DerivationFailed(Exception):
    """A derivation raised, or gave what it may not. The cause is the exception.

    Internal: becomes a refusal, or an error of the game at creation.
    """

    def __init__(self, what: str, error: Exception) -> None:
        super().__init__(f"{what}: {error}")
        self.what = what
        self.error = error


class Derivation(msgspec.Struct, frozen=True):
    """How one leaf derives. A part is a function, or the constant it always gives."""

    leaf: str
    active_players: Any
    control: Any
    selectors: tuple[tuple[str, Callable[[StateContext], Json]], ...]
    deadline: Any
    label: Any
    metadata: Any
    pending_targets: tuple[str, ...]
    alone: dict[str, FList]
    """The frozen list of each single player: the commonest value there is."""
    constant_meta: ControlMeta | None
    constant: Derived | None

    def derive(
        self, G: Json, position: Position, match: FDict, now: int | float
    ) -> Derived:
        """Derive from a state.

        Raises:
            DerivationFailed: a function raised, or its value is not what it must be.
        """
        if self.constant is not None:
            return self.constant
        ctx = StateContext(G, position, EMPTY_DERIVED, match, now)
        what = "active_players"
        try:
            active = self.active_players
            if callable(active):
                active = self._active(active(ctx))
            what = "control"
            control = self.control
            if callable(control):
                control = freeze(control(ctx), label=what)
            selected = EMPTY_DICT
            if self.selectors:
                values: dict[str, Json] = {}
                for name, select in self.selectors:
                    what = f"selector {name}"
                    values[name] = select(ctx)
                what = "selectors"
                selected = freeze(values, label=what)
            meta = self.constant_meta
            if meta is None:
                deadline, label, metadata = self.deadline, self.label, self.metadata
                if callable(deadline):
                    what = "deadline"
                    deadline = checked_deadline(deadline(ctx))
                if callable(label):
                    what = "label"
                    label = checked_label(label(ctx))
                if callable(metadata):
                    what = "metadata"
                    metadata = checked_metadata(metadata(ctx))
                meta = ControlMeta(deadline, label, metadata, self.pending_targets)
        except Exception as error:
            raise DerivationFailed(f"{what} of state {self.leaf}", error) from error
        except Interruption as stop:
            stop.label = stop.label or f"{what} of state {self.leaf}"
            raise
        return Derived(active, control, meta, selected)

    def _active(self, value: Json) -> FList:
        if type(value) is list and len(value) == 1 and type(value[0]) is str:
            known = self.alone.get(value[0])
            if known is not None:
                return known
        return checked_seats(value)


def plan_derivation(
    game: Game, leaf: str, pending_targets: tuple[str, ...]
) -> Derivation:
    """Prepare a leaf. A constant that is wrong fails when it is derived."""
    part = game.states[leaf]
    active = EMPTY_LIST
    if part.active_players is not None:
        active = _part(part.active_players, checked_seats)
    control = _part(part.control, freeze)
    deadline = _part(part.deadline, checked_deadline)
    label = _part(part.label, checked_label)
    metadata = _part(part.metadata, checked_metadata)
    meta = constant = None
    if not any(map(callable, (deadline, label, metadata))):
        meta = ControlMeta(deadline, label, metadata, pending_targets)
        if not (game.selectors or callable(active) or callable(control)):
            constant = Derived(active, control, meta, EMPTY_DICT)
    return Derivation(
        leaf=leaf,
        active_players=active,
        control=control,
        selectors=tuple(game.selectors.items()),
        deadline=deadline,
        label=label,
        metadata=metadata,
        pending_targets=pending_targets,
        alone={player: freeze([player]) for player in game.player_ids},
        constant_meta=meta,
        constant=constant,
    )


def checked_list(value: object) -> FList:
    """A list of JSON, frozen.

    Raises:
        TypeError: it is not a list.
        InvalidJsonValueError: something in it is not JSON.
    """
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"a list is wanted here, not {type(value).__name__}")
    frozen: FList = freeze(value)
    return frozen


def checked_seats(value: object) -> FList:
    """A list of seats, frozen; whether they are known is not asked.

    Raises:
        TypeError: it is not a list, or something in it is no string.
        InvalidJsonValueError: something in it is not JSON.
    """
    seats = checked_list(value)
    for seat in seats:
        if type(seat) is not str:
            raise TypeError(f"a seat is a string, not {seat!r}")
    return seats


def checked_metadata(value: object) -> FList:
    """A list of JSON, frozen; None is an empty one.

    Raises:
        TypeError: it is not a list.
        InvalidJsonValueError: something in it is not JSON.
    """
    return EMPTY_LIST if value is None else checked_list(value)


def checked_deadline(value: object) -> int | float | None:
    """An instant in milliseconds, or None.

    Raises:
        TypeError: it is something else.
        InvalidJsonValueError: it is not finite.
    """
    instant = freeze(value)
    if instant is None or type(instant) in (int, float):
        return instant  # type: ignore[no-any-return]
    raise TypeError(f"a deadline is a number or None, not {type(value).__name__}")


def checked_label(value: object) -> str | None:
    """A label, or None.

    Raises:
        TypeError: it is something else.
        InvalidJsonValueError: UTF-8 cannot hold it.
    """
    if type(value) is str and value.isascii():
        return value
    label = freeze(value)
    if label is None or isinstance(label, str):
        return label
    raise TypeError(f"a label is a string or None, not {type(value).__name__}")


def _part(given: Any, check: Callable[[Any], Any]) -> Any:
    """A function as it is; a sound constant, checked; an unsound one as a function."""
    if callable(given):
        return given
    try:
        return check(given)
    except (TypeError, ValueError):
        return lambda ctx: given
