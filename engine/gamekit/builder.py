"""The decorator form of a gamekit game: the same game, written part by part.

    g = GameBuilder("nim", max_players=2)

    @g.setup
    def setup(ctx: SetupContext) -> Json:
        return {"left": 21}

    @g.computed
    def over(ctx: ComputedContext) -> bool:
        return ctx.G["left"] == 0

    @g.move(public=True)
    def take(ctx: MoveContext[int]) -> Outcome:
        if not 1 <= ctx.args <= min(3, ctx.G["left"]):
            return invalid("not_so_many")
        left = ctx.G["left"] - ctx.args
        if left == 0:
            return finish({"winner": ctx.player}, {"left": 0})
        return end_turn({"left": left})

    game = g.build()

A builder is a notebook and nothing more: `build()` hands what it holds to
`define_game`, which alone decides. Every function is given back as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from ..author_function import check_function
from ..errors import DefinitionError
from ..game import Game, Imagine, Migrate, Profile, Redaction
from ..jsonvalue import Json
from .definition import define_game
from .parts import (
    Compute,
    Core,
    KitViews,
    Legal,
    Move,
    OnTimeout,
    Phase,
    PhaseDerivation,
    Run,
    SeatView,
    Setup,
    move,
    phase,
)
from .turn_policy import TurnPolicy

if TYPE_CHECKING:
    from ..config_schema import ConfigField
    from ..undo import UndoRule

__all__ = ["GameBuilder"]

# Each decorator gives the author's own function back, of its own type.
C = TypeVar("C", bound=Compute)
D = TypeVar("D", bound=PhaseDerivation)
L = TypeVar("L", bound=Legal)
P = TypeVar("P", bound=SeatView)
R = TypeVar("R", bound=Run)
S = TypeVar("S", bound=Setup)
W = TypeVar("W", bound=OnTimeout)
X = TypeVar("X", bound=Redaction)
M = TypeVar("M", bound=Migrate)
N = TypeVar("N", bound=Imagine)
T = TypeVar("T")


class GameBuilder:
    """Collects the parts of one game. `build` makes the game.

    `move` and `phase` take what the functions of the same names take; what is a
    function may be decorated instead of given.
    """

    def __init__(
        self,
        name: str,
        *,
        version: str = "1",
        max_players: int | None = None,
        player_ids: Sequence[str] | None = None,
        min_players: int | None = None,
        initial_phase: str | None = None,
        turn: TurnPolicy | None = None,
        profile: Profile | None = None,
        config: Mapping[str, ConfigField | Mapping[str, Json]] | None = None,
        core: Core | None = None,
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
            "initial_phase": initial_phase,
            "turn": turn,
            "profile": profile,
            "config": config,
            "core": core,
            "open_information": open_information,
            "credit_outages": credit_outages,
            "undo": undo,
            "resign": resign,
        }
        self._moves: dict[str, Move] = {}
        self._phases: dict[str, Phase] = {}
        self._computed: dict[str, Compute] = {}
        self._single: dict[str, Any] = {}  # setup, legal_actions, redact, migrate
        self._built: Game | None = None
        self.view = ViewNotes(self._once)

    def __repr__(self) -> str:
        return f"<gamekit GameBuilder {self._options['name']!r}>"

    def build(self) -> Game:
        """The game. Without changes in between, every call gives the same value.

        Raises:
            DefinitionError: a part is missing, or wrong.
        """
        if self._built is None:
            if "setup" not in self._single:
                raise DefinitionError(
                    "@g.setup is missing; write it above a function that returns the "
                    "first G: def setup(ctx): return {...}"
                )
            if not self._moves:
                raise DefinitionError(
                    "@g.move is missing; write it above a function that returns an "
                    "outcome: def take(ctx): return end_turn({...})"
                )
            single = dict(self._single)
            public, player = single.pop("public", None), single.pop("player", None)
            self._built = define_game(
                **self._options,
                **single,
                moves=self._moves,
                phases=self._phases,
                computed=self._computed,
                views=KitViews(public, player) if public or player else None,
            )
        return self._built

    def setup(self, function: S) -> S:
        """Decorate the function that makes the first G.

        Raises:
            DefinitionError: it is not a function of the setup context, or a second one.
        """
        return self._once("setup", "setup", function, "ctx")

    @overload
    def move(self, run: R) -> R: ...
    @overload
    def move(
        self,
        run: None = None,
        *,
        name: str | None = None,
        args: Any = None,
        phases: Sequence[str] | None = None,
        public: bool = False,
    ) -> Callable[[R], R]: ...
    def move(
        self,
        run: R | None = None,
        *,
        name: str | None = None,
        args: Any = None,
        phases: Sequence[str] | None = None,
        public: bool = False,
    ) -> R | Callable[[R], R]:
        """Decorate a move. It has its function's name, or the `name` given.

        Raises:
            DefinitionError: the name is taken, or a part is wrong.
        """

        def decorate(function: R) -> R:
            declared = move(function, args=args, phases=phases, public=public)
            self._note(self._moves, name or _name_of(function), declared, "move")
            return function

        return decorate if run is None else decorate(run)

    def phase(
        self,
        name: str,
        *,
        active_players: Sequence[str] | PhaseDerivation | None = None,
        label: str | PhaseDerivation | None = None,
        deadline: int | PhaseDerivation | None = None,
        strict_revision: bool = False,
    ) -> Callable[[D], D]:
        """Declare a phase; the function that it decorates says who may act there.

        A match begins in `initial_phase`, or else in the first one declared.

        Raises:
            DefinitionError: it is declared twice, or a part is wrong.
        """
        if callable(name):
            raise DefinitionError(
                '@g.phase needs a name in parentheses: write @g.phase("play") above '
                f"{_name_of(name)}"
            )
        declared = phase(
            active_players=active_players,
            label=label,
            deadline=deadline,
            strict_revision=strict_revision,
        )
        self._note(self._phases, name, declared, "phase")

        def decorate(function: D) -> D:
            what = f'@g.phase("{name}")'
            check_function(function, f"{what} says who may act: it", "ctx")
            if self._phases[name].active_players is not None:
                raise DefinitionError(f"{what} has its active_players already")
            self._change(name, active_players=function)
            return function

        return decorate

    def on_timeout(self, name: str) -> Callable[[W], W]:
        """Decorate what happens when the deadline of a phase has passed.

        Raises:
            DefinitionError: there is no such phase yet, or it has no deadline.
        """

        def decorate(function: W) -> W:
            if name not in self._phases:
                raise DefinitionError(
                    f'declare the phase before its timeout: g.phase("{name}", '
                    "deadline=...)"
                )
            phase(deadline=self._phases[name].deadline, on_timeout=function)
            self._change(name, on_timeout=function)
            return function

        return decorate

    def computed(self, function: C) -> C:
        """Decorate a computed value; it has its function's name.

        Raises:
            DefinitionError: it is not a function of the context, or the name is taken.
        """
        check_function(function, "@g.computed", "ctx")
        name, compute = _name_of(function), cast(Compute, function)
        self._note(self._computed, name, compute, "computed value")
        return function

    def legal_actions(self, function: L) -> L:
        """Decorate the function that lists what a seat may do: (move, args) pairs.

        Raises:
            DefinitionError: it is not a function of context and seat, or a second one.
        """
        return self._once(
            "legal_actions", "legal_actions", function, "ctx", "seat", may_yield=True
        )

    def redact(self, function: X) -> X:
        """Decorate the function that says what of a step a seat may see.

        Raises:
            DefinitionError: it is not a function of step and seat, or a second one.
        """
        return self._once("redact", "redact", function, "step", "seat")

    def migrate(self, function: M) -> M:
        """Decorate the function that makes G of another version's.

        Raises:
            DefinitionError: it is not a function of G and that version, or a second
                one.
        """
        return self._once("migrate", "migrate", function, "G", "from_version")

    def imagine(self, function: N) -> N:
        """Decorate the function that makes a G that could stand behind a view.

        Raises:
            DefinitionError: it is not a function of the context, or a second one.
        """
        return self._once("imagine", "imagine", function, "ctx")

    def _note(self, known: dict[str, T], name: str, part: T, what: str) -> None:
        if name in known:
            raise DefinitionError(
                f'the {what} "{name}" is declared already; a name is declared once'
            )
        known[name] = part
        self._built = None

    def _change(self, name: str, **parts: Any) -> None:
        self._phases[name] = replace(self._phases[name], **parts)
        self._built = None

    def _once(
        self, part: str, what: str, function: T, *names: str, may_yield: bool = False
    ) -> T:
        check_function(function, f"@g.{what}", *names, may_yield=may_yield)
        if part in self._single:
            raise DefinitionError(
                f"@g.{what} stands above {_name_of(self._single[part])} already; a "
                "game has one"
            )
        self._single[part] = function
        self._built = None
        return function


class ViewNotes:
    """The views of a game: `@g.view.public` and `@g.view.player`."""

    def __init__(self, once: Callable[..., Any]) -> None:
        self._once = once

    def __call__(self, function: object) -> object:
        """Raises DefinitionError: a view is one of two."""
        raise DefinitionError(
            "write @g.view.public above def public(ctx), for what all may see, or "
            "@g.view.player above def player(ctx, seat), for what one seat may"
        )

    def public(self, function: D) -> D:
        """Decorate the function that draws what a spectator may see.

        Raises:
            DefinitionError: it is not a function of the context, or a second one.
        """
        self._once("public", "view.public", function, "ctx")
        return function

    def player(self, function: P) -> P:
        """Decorate the function that draws what a seat may see.

        Raises:
            DefinitionError: it is not a function of context and seat, or a second one.
        """
        self._once("player", "view.player", function, "ctx", "seat")
        return function


def _name_of(function: object) -> str:
    return getattr(function, "__name__", "<lambda>")
