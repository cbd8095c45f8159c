"""The decorator form of a definition: the same game, written part by part.

    g = GameBuilder("nim", max_players=2)
    g.event("take", int, public=True)
    g.state("over", active_players=[])

    @g.setup
    def setup(ctx: SetupContext) -> Json:
        return {"left": 21}

    @g.state("play", initial=True)
    def to_move(ctx: StateContext) -> list[str]:
        return [current_player(ctx)]

    @g.transition("take", "play", "play", turn="increment")
    def take(ctx: ResolverContext[int]) -> object:
        ...

    game = g.build()

A builder is a notebook and nothing more: `build()` hands what it holds to
`define_game`, which alone decides. Nothing is registered outside of it, every function
is given back as it was, and a game that was built does not follow later notes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .author_function import check_function
from .definition import define_game, event, state, timeout, transition
from .errors import DefinitionError
from .game import (
    Derivation,
    Event,
    Game,
    Imagine,
    LegalActions,
    Migrate,
    Profile,
    Redaction,
    Resolver,
    State,
    Transition,
)
from .jsonvalue import Json
from .view_builder import ViewBuilder

if TYPE_CHECKING:
    from .config_schema import ConfigField
    from .context import SetupContext
    from .undo import UndoRule

__all__ = ["GameBuilder"]

Setup = Callable[["SetupContext"], Json]
# Each decorator gives the author's own function back, of its own type.
S = TypeVar("S", bound=Setup)
D = TypeVar("D", bound=Derivation)
R = TypeVar("R", bound=Resolver)
L = TypeVar("L", bound=LegalActions)
X = TypeVar("X", bound=Redaction)
M = TypeVar("M", bound=Migrate)
N = TypeVar("N", bound=Imagine)
T = TypeVar("T")


class GameBuilder:
    """Collects the parts of one game. `build` makes the game.

    `event`, `state`, `transition` and `timeout` take what the functions of the same
    names take; what is a function may be decorated instead of given.
    """

    def __init__(
        self,
        name: str,
        *,
        version: str = "1",
        max_players: int | None = None,
        player_ids: Sequence[str] | None = None,
        min_players: int | None = None,
        profile: Profile | None = None,
        config: Mapping[str, ConfigField | Mapping[str, Json]] | None = None,
        open_information: bool = False,
        credit_outages: bool = False,
        undo: UndoRule | None = None,
        resign: str | None = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "name": name,
            "version": version,
            "max_players": max_players,
            "player_ids": player_ids,
            "min_players": min_players,
            "profile": profile,
            "config": config,
            "open_information": open_information,
            "credit_outages": credit_outages,
            "undo": undo,
            "resign": resign,
        }
        self._events: dict[str, Event] = {}
        self._states: dict[str, State] = {}
        self._transitions: list[Transition] = []
        self._selectors: dict[str, Derivation] = {}
        self._initial: str | None = None
        self._single: dict[str, Any] = {}  # setup, legal_actions, redact, migrate
        self._built: Game | None = None
        self.view = ViewBuilder(self._changed)

    def __repr__(self) -> str:
        return f"<GameBuilder {self._options['name']!r}>"

    def build(self) -> Game:
        """The game. Without changes in between, every call gives the same value.

        Raises:
            DefinitionError: a part is missing, or wrong.
        """
        if self._built is None:
            self._built = self._build()
        return self._built

    def event(
        self, name: str, payload: Any = None, *, public: bool = False
    ) -> Callable[[type[T]], type[T]]:
        """Declare an event; or decorate the class of its payload.

        Raises:
            DefinitionError: it is declared twice, or msgspec cannot validate the type.
        """
        what = f'@g.event("{name}")'
        _check_name(name, "event", '@g.event("take")')
        _check_new(name, self._events, "event")
        self._events[name] = event(payload, public=public)
        self._changed()

        def decorate(kind: type[T]) -> type[T]:
            if self._events[name].payload is not None:
                raise DefinitionError(f"{what} has a payload type already")
            self._events[name] = event(kind, public=public)
            self._changed()
            return kind

        return decorate

    def state(
        self,
        name: str,
        *,
        initial: bool = False,
        active_players: Sequence[str] | Derivation | None = None,
        label: str | Derivation | None = None,
        control: Json | Derivation = None,
        metadata: Sequence[Json] | Derivation = (),
        deadline: int | Derivation | None = None,
        parent: str | None = None,
        strict_revision: bool = False,
    ) -> Callable[[D], D]:
        """Declare a state; the function that it decorates says who may act there.

        A match begins in the `initial` state, or else in the first one declared.

        Raises:
            DefinitionError: it is declared twice, or a part is wrong.
        """
        _check_name(name, "state", '@g.state("play")')
        _check_new(name, self._states, "state")
        if initial and self._initial is not None:
            raise DefinitionError(
                f'"{self._initial}" is the initial state already; a match begins in one'
            )
        self._states[name] = state(
            active_players=active_players,
            label=label,
            control=control,
            metadata=metadata,
            deadline=deadline,
            parent=parent,
            strict_revision=strict_revision,
        )
        self._initial = name if initial else self._initial
        self._changed()

        def decorate(function: D) -> D:
            what = f'@g.state("{name}")'
            check_function(function, f"{what} says who may act: it", "ctx")
            if self._states[name].active_players is not None:
                raise DefinitionError(
                    f"{what} has its active_players already; write @g.state once for "
                    "each state"
                )
            self._states[name] = replace(self._states[name], active_players=function)
            self._changed()
            return function

        return decorate

    def transition(
        self,
        event: str,
        source: str,
        target: str,
        resolve: Resolver | None = None,
        *,
        label: str | None = None,
        turn: str | None = None,
    ) -> Callable[[R], R]:
        """Declare an edge that `event` may take; decorate its resolver, if it has one.

        Raises:
            DefinitionError: a part is wrong.
        """
        edge = transition(event, source, target, resolve, label=label, turn=turn)
        return self._edge(edge, f'@g.transition("{event}", "{source}", "{target}")')

    def timeout(
        self,
        source: str,
        target: str,
        resolve: Resolver | None = None,
        *,
        label: str | None = None,
        turn: str | None = None,
    ) -> Callable[[R], R]:
        """Declare the edge that the deadline of `source` takes; or decorate with it.

        Raises:
            DefinitionError: a part is wrong.
        """
        edge = timeout(source, target, resolve, label=label, turn=turn)
        return self._edge(edge, f'@g.timeout("{source}", "{target}")')

    def setup(self, function: S) -> S:
        """Decorate the function that makes the first G.

        Raises:
            DefinitionError: it is not a function of the setup context, or a second one.
        """
        return self._only("setup", function, "ctx")

    def legal_actions(self, function: L) -> L:
        """Decorate the function that lists what a seat may do: (event, payload) pairs.

        Raises:
            DefinitionError: it is not a function of context and seat, or a second one.
        """
        return self._only("legal_actions", function, "ctx", "seat", may_yield=True)

    def redact(self, function: X) -> X:
        """Decorate the function that says what of a step a seat may see.

        Raises:
            DefinitionError: it is not a function of step and seat, or a second one.
        """
        return self._only("redact", function, "step", "seat")

    def migrate(self, function: M) -> M:
        """Decorate the function that makes G of another version's.

        Raises:
            DefinitionError: it is not a function of G and that version, or a second
                one.
        """
        return self._only("migrate", function, "G", "from_version")

    def imagine(self, function: N) -> N:
        """Decorate the function that makes a G that could stand behind a view.

        Raises:
            DefinitionError: it is not a function of the context, or a second one.
        """
        return self._only("imagine", function, "ctx")

    @overload
    def selector(self, function: D) -> D: ...
    @overload
    def selector(self, function: str) -> Callable[[D], D]: ...
    def selector(self, function: D | str) -> D | Callable[[D], D]:
        """Decorate a selector. It has its function's name: `@g.selector("left")` none.

        Raises:
            DefinitionError: it is not a function of the context, or the name is taken.
        """
        if isinstance(function, str):
            name = function
            return lambda decorated: self._select(name, decorated)
        return self._select(getattr(function, "__name__", "selector"), function)

    def _select(self, name: str, function: D) -> D:
        check_function(function, "@g.selector", "ctx")
        if name == "<lambda>":
            raise DefinitionError(
                'a selector needs a name: write g.selector("left")(lambda ctx: ...)'
            )
        _check_new(name, self._selectors, "selector")
        self._selectors[name] = function
        self._changed()
        return function

    def _edge(self, edge: Transition, what: str) -> Callable[[R], R]:
        place = len(self._transitions)
        self._transitions.append(edge)
        self._changed()

        def decorate(function: R) -> R:
            check_function(function, f"the resolver under {what}", "ctx")
            if self._transitions[place].resolve is not None:
                raise DefinitionError(
                    f"{what} has its resolver already; write {what} once for each"
                )
            self._transitions[place] = replace(edge, resolve=function)
            self._changed()
            return function

        return decorate

    def _only(self, part: str, function: T, *names: str, may_yield: bool = False) -> T:
        check_function(function, f"@g.{part}", *names, may_yield=may_yield)
        if part in self._single:
            known = getattr(self._single[part], "__name__", "a function")
            raise DefinitionError(
                f"@g.{part} stands above {known} already; a game has one {part}"
            )
        self._single[part] = function
        self._changed()
        return function

    def _changed(self) -> None:
        self._built = None

    def _build(self) -> Game:
        if "setup" not in self._single:
            raise DefinitionError(
                "@g.setup is missing; write it above a function that returns the "
                "first G: def setup(ctx): return {...}"
            )
        if not self._states:
            raise DefinitionError(
                '@g.state is missing; write @g.state("play") above a function that '
                "says who may act: def to_move(ctx): return [current_player(ctx)]"
            )
        initial = next(iter(self._states)) if self._initial is None else self._initial
        return define_game(
            **self._options,
            **self._single,
            events=self._events,
            states=self._states,
            initial=initial,
            transitions=self._transitions,
            selectors=self._selectors,
            views=self.view.build(),
        )


def _check_name(name: object, part: str, example: str) -> None:
    """A decorator without its parentheses is given the function as its name."""
    if callable(name):
        raise DefinitionError(
            f"@g.{part} needs a name in parentheses: write {example} above "
            f"{getattr(name, '__name__', 'the function')}"
        )
    if not isinstance(name, str) or not name:
        raise DefinitionError(f"@g.{part}({name!r}) lacks a name: write {example}")


def _check_new(name: str, known: Mapping[str, object], part: str) -> None:
    if name in known:
        raise DefinitionError(
            f'the {part} "{name}" is declared already; a name is declared once'
        )
