"""The parts of a gamekit game, as an author declares them: moves, phases, views, core.

Frozen values. What a part alone can get wrong is raised where it is made; the message
says what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

from ..author_function import check_function
from ..context import SetupContext
from ..definition_check import constant, require_text
from ..errors import DefinitionError
from ..game import Derivation, Event, State, Transition, Views
from ..jsonvalue import Json
from ..payload_type import check_payload_type
from .context import ComputedContext, MoveContext, PhaseContext, TimeoutContext
from .outcome import Outcome

__all__ = [
    "Compute",
    "Core",
    "KitViews",
    "Legal",
    "Move",
    "OnTimeout",
    "Phase",
    "PhaseDerivation",
    "Run",
    "SeatView",
    "Setup",
    "core",
    "move",
    "phase",
    "views",
]

Run: TypeAlias = Callable[[MoveContext[Any]], Outcome]
Setup: TypeAlias = Callable[[SetupContext], Json]
Compute: TypeAlias = Callable[[ComputedContext], Json]
PhaseDerivation: TypeAlias = Callable[[PhaseContext], Json]
SeatView: TypeAlias = Callable[[PhaseContext, str], Json]
Legal: TypeAlias = Callable[[PhaseContext, str], Iterable[tuple[str, Json]]]
OnTimeout: TypeAlias = Callable[[TimeoutContext], Outcome | None]


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """What a player may do. `args` is None when they are any JSON."""

    run: Run
    args: Any = None
    phases: tuple[str, ...] | None = None
    """None: in every phase."""
    public: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Phase:
    """A part of the match. Each part is a constant or a function."""

    active_players: Json | PhaseDerivation = None
    label: Json | PhaseDerivation = None
    deadline: Json | PhaseDerivation = None
    on_timeout: OnTimeout | None = None
    strict_revision: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class KitViews:
    """What a spectator and a seat may see. Without `player`, seats see `public`."""

    public: PhaseDerivation | None = None
    player: SeatView | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Core:
    """Parts of the core under the phases and moves."""

    transitions: tuple[Transition, ...] = ()
    selectors: Mapping[str, Derivation] = field(default_factory=dict)
    states: Mapping[str, State] = field(default_factory=dict)
    events: Mapping[str, Event] = field(default_factory=dict)
    views: Views | None = None
    initial: str | None = None


def move(
    run: Run,
    *,
    args: Any = None,
    phases: Sequence[str] | None = None,
    public: bool = False,
) -> Move:
    """Declare a move.

    Its arguments are validated like the payload of an event. Their type is that of the
    context, `def place(ctx: MoveContext[Place])`, or is given as `args`. `phases` are
    those in which it is allowed, by default all; `public` lets every seat see the
    arguments.

    Raises:
        DefinitionError: it is no function of the context, or msgspec cannot validate
            the arguments.
    """
    check_function(run, "a move", "ctx")
    told = _told_args(run)
    if args is None:
        args = told
    elif told is not None and told != args:
        raise DefinitionError(
            f"the move {_name(run)} is given args={args!r}, but its context says "
            f"{told!r}; leave one of them out"
        )
    if args is not None and args is not NoneType:
        check_payload_type(args)
    return Move(run, args, None if phases is None else _phase_names(phases), public)


def phase(
    *,
    active_players: Sequence[str] | PhaseDerivation | None = None,
    label: str | PhaseDerivation | None = None,
    deadline: int | PhaseDerivation | None = None,
    on_timeout: OnTimeout | None = None,
    strict_revision: bool = False,
) -> Phase:
    """Declare a phase.

    By default the player whose turn it is may act, and the label is the phase's name.
    `deadline` is an instant in milliseconds, on the clock of `ctx.now`; when it has
    passed, `on_timeout` answers with an outcome, as a move does, or None.

    Raises:
        DefinitionError: a part is wrong, or there is an `on_timeout` but no deadline.
    """
    if isinstance(active_players, str):
        raise DefinitionError(
            f'active_players must be a list of seats: ["{active_players}"]'
        )
    if on_timeout is not None:
        check_function(on_timeout, "on_timeout", "ctx")
        if deadline is None:
            raise DefinitionError(
                "a phase with on_timeout needs a deadline, else the timeout never "
                "comes; write deadline=lambda ctx: ctx.now + 30_000"
            )
    return Phase(
        active_players=_derivation(active_players, "active_players"),
        label=_derivation(label, "label"),
        deadline=_derivation(deadline, "deadline"),
        on_timeout=on_timeout,
        strict_revision=strict_revision,
    )


def views(
    *, public: PhaseDerivation | None = None, player: SeatView | None = None
) -> KitViews:
    """Declare what a spectator (`public`) and what a seat (`player`) may see.

    Raises:
        DefinitionError: one is not a function of what it is called with.
    """
    if public is not None:
        check_function(public, "views.public", "ctx")
    if player is not None:
        check_function(player, "views.player", "ctx", "seat")
    return KitViews(public, player)


def core(
    *,
    transitions: Sequence[Transition] = (),
    selectors: Mapping[str, Derivation] | None = None,
    states: Mapping[str, State] | None = None,
    events: Mapping[str, Event] | None = None,
    views: Views | None = None,
    initial: str | None = None,
) -> Core:
    """Add parts of the core, for what moves and phases cannot say.

    They take the contexts of the core. Selectors, states and views see the G of the
    author; the resolvers of transitions see all of it, with what gamekit keeps under
    `__gamekit`. A state here takes the place of a phase of its name, and views the
    place of the game's own.
    """
    return Core(
        transitions=tuple(transitions),
        selectors=dict(selectors or {}),
        states=dict(states or {}),
        events=dict(events or {}),
        views=views,
        initial=initial,
    )


def _told_args(run: Run) -> Any:
    """The type of arguments that a move's annotation tells; None: it tells none."""
    annotations = getattr(run, "__annotations__", None) or {}
    if not any(name != "return" for name in annotations):
        return None
    try:
        hints = get_type_hints(run, include_extras=True)
    except Exception as error:
        raise DefinitionError(
            f"the annotations of the move {_name(run)} cannot be read: {error}; define "
            "the type of its arguments in the module, before the move, or give "
            "args=..."
        ) from error
    hints.pop("return", None)
    hint = next(iter(hints.values()))
    if get_origin(hint) is not MoveContext:
        return None
    (told,) = get_args(hint)
    return None if told is Any else told


def _phase_names(phases: Sequence[str]) -> tuple[str, ...]:
    if isinstance(phases, str):
        raise DefinitionError(f'the phases of a move are a list: ["{phases}"]')
    for name in phases:
        require_text(name, "each phase of a move")
    return tuple(phases)


def _derivation(value: Any, what: str) -> Any:
    if callable(value):
        check_function(value, what, "ctx")
    return constant(value, what)


def _name(run: Run) -> str:
    return getattr(run, "__name__", "without a name")
