"""Definitions: what is wrong is said where it is written; both forms make one game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hotseat.engine import DefinitionError, Game, SetupContext, compile_graph, validate
from hotseat.engine import views as core_views
from hotseat.engine.gamekit import (
    ComputedContext,
    GameBuilder,
    Modifier,
    MoveContext,
    Outcome,
    PhaseContext,
    TimeoutContext,
    define_game,
    end_turn,
    evaluate_number,
    evaluate_value,
    finish,
    move,
    phase,
    stay,
    views,
)
from hotseat.engine.testing import script

from ...typing.moves import decorator_form, value_form

MATCH = {"players": ["0", "1"]}


def tap(ctx: MoveContext[int]) -> Outcome:
    return stay({"n": ctx.args})


def small(**more: Any) -> Game:
    parts: dict[str, Any] = {
        "name": "small",
        "max_players": 2,
        "setup": lambda ctx: {"n": 0},
        "moves": [tap],
    }
    return define_game(**{**parts, **more})


# What a type checker would have told.
UNTYPED: dict[str, Any] = {"none": lambda: "x", "one": lambda ctx: {}}

MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: small(moves="tap"), "a mapping or a list"),
    (lambda: small(moves=[lambda ctx: stay()]), "needs a name of its own"),
    (lambda: small(moves=[tap, tap]), "needs a name of its own"),
    (lambda: small(moves={"tap": 3}), "a move must be a function"),
    (lambda: small(moves={"tap": lambda: stay()}), "is called with (ctx)"),
    (lambda: small(moves={"__gamekit_x": tap}), "needs another name"),
    (lambda: small(moves={"": tap}), "the name of a move"),
    (lambda: small(phases={"play": 3}), "must be made by phase(...)"),
    (lambda: small(phases={"__timeout": phase()}), "needs another name"),
    (lambda: small(initial_phase="__gamekit_finished"), "needs another name"),
    (lambda: small(views=core_views(public=lambda ctx: 1)), "of gamekit"),
    (lambda: small(computed={"n": 3}), "computed['n'] must be a function"),
    (lambda: small(setup={"n": 0}), "setup must be a function"),
    (lambda: small(legal_actions=lambda ctx: []), "legal_actions is called with"),
    (lambda: move(tap, args=str), "leave one of them out"),
    (lambda: move(lambda ctx: stay(), args=object()), "cannot validate"),
    (lambda: move(tap, phases="play"), 'a list: ["play"]'),
    (lambda: phase(on_timeout=lambda ctx: None), "needs a deadline"),
    (lambda: phase(active_players="0"), 'a list of seats: ["0"]'),
    (lambda: phase(label=UNTYPED["none"]), "label is called with (ctx)"),
    (lambda: views(player=UNTYPED["one"]), "views.player is called with"),
    (lambda: evaluate_value(1, [Modifier("", lambda v, c: v)]), "needs an id"),
    (lambda: evaluate_number(1, [], stage_order=[""]), "non-empty"),
    (lambda: evaluate_number(1, [], stage_order=["a", "a"]), "twice"),
]


@pytest.mark.parametrize(("write", "told"), MISTAKES)
def test_mistakes_say_what_to_write_instead(
    write: Callable[[], Any], told: str
) -> None:
    """Where they are written."""
    with pytest.raises(DefinitionError) as caught:
        write()
    assert told in str(caught.value)


def test_annotations_that_cannot_be_read_are_named() -> None:
    """A type of the arguments that only a function knows."""

    class Local:
        pass

    def hidden(ctx: MoveContext[Local]) -> Outcome:
        return stay()

    with pytest.raises(DefinitionError, match="the move hidden cannot be read"):
        move(hidden)


def test_setup_must_make_an_object() -> None:
    """Validation says so, in words."""
    report = validate(small(setup=lambda ctx: [1]), MATCH)
    assert not report.ok
    assert "must return an object" in report.errors[0].message


def test_a_game_without_moves_cannot_start() -> None:
    """Its end cannot be reached."""
    (fault,) = validate(small(moves={}), MATCH).errors
    assert fault.code == "unreachable_state"
    assert fault.state == "__gamekit_finished"


def test_modifiers_apply_in_an_order_that_is_told() -> None:
    """Stages, then priority, then declaration; each sees the value and the context."""
    done = evaluate_number(
        10,
        [
            Modifier("late", lambda value, ctx: value * ctx, stage="late"),
            Modifier("bonus", lambda value, ctx: value + 1),
            Modifier("first", lambda value, ctx: value - 4, priority=9),
        ],
        context=3,
        stage_order=["default", "late"],
    )
    assert done.value == 21
    assert [a.id for a in done.applied] == ["first", "bonus", "late"]
    assert evaluate_value("a", []).value == "a"


def test_both_forms_are_typed_and_make_the_same_game() -> None:
    """What a strict type checker has accepted runs, and has the same graph."""
    assert compile_graph(value_form) == compile_graph(decorator_form)
    assert validate(value_form, MATCH).diagnostics == ()


def nim() -> GameBuilder:
    """The decorator form."""
    g = GameBuilder("nim", max_players=2, initial_phase="play")

    @g.setup
    def setup(ctx: SetupContext) -> Any:
        return {"left": 5}

    @g.computed
    def even(ctx: ComputedContext) -> bool:
        return bool(ctx.G["left"] % 2 == 0)

    @g.phase("play", label="Play", deadline=lambda ctx: ctx.now + 10)
    def to_move(ctx: PhaseContext) -> list[str]:
        return [ctx.turn.current_player]

    @g.move(public=True)
    def take(ctx: MoveContext[int]) -> Outcome:
        left = ctx.G["left"] - ctx.args
        if left <= 0:
            return finish({"winner": ctx.player}, {"left": 0})
        return end_turn({"left": left})

    @g.move
    def skip(ctx: MoveContext[None]) -> Outcome:
        return end_turn()

    @g.on_timeout("play")
    def late(ctx: TimeoutContext) -> Outcome:
        return ctx.run(take, 1)

    @g.legal_actions
    def legal_actions(ctx: PhaseContext, seat: str) -> Any:
        yield "take", 1

    @g.view.public
    def public(ctx: PhaseContext) -> Any:
        return {"left": ctx.G["left"], "even": ctx.C["even"]}

    @g.view.player
    def player(ctx: PhaseContext, seat: str) -> Any:
        return {**public(ctx), "myPlayerID": seat}

    return g


def test_the_decorator_form_makes_a_game() -> None:
    """All of its parts arrive; building twice gives the same game."""
    g = nim()
    game = g.build()
    assert g.build() is game
    assert repr(g) == "<gamekit GameBuilder 'nim'>"
    assert validate(game, MATCH).diagnostics == ()
    (
        script(game)
        .expect(state="play", active=["0"], label="Play")
        .sees(None, {"left": 5, "even": False})
        .play("0", "take", 2)
        .timeout()
        .sees("1", {"left": 2, "even": True, "myPlayerID": "1"})
        .play("0", "skip")
        .play("1", "take", 2)
        .expect(result={"winner": "1"}, state="__gamekit_finished")
    )
    labels = [edge.resolver for edge in compile_graph(game).edges]
    assert labels == [
        *(f"take:play:{which}" for which in ("stay", "end_turn", "finish")),
        *(f"skip:play:{which}" for which in ("stay", "end_turn", "finish")),
        *(f"__timeout:play:{which}" for which in ("stay", "end_turn", "finish")),
        "__timeout:play",
    ]


def test_a_note_after_building_makes_another_game() -> None:
    """The one that was built stays as it was."""
    g = nim()
    first = g.build()
    g.move(name="more", phases=["play"])(tap)
    second = g.build()
    assert "more" in second.events
    assert "more" not in first.events


@pytest.mark.parametrize(
    ("note", "told"),
    [
        (lambda g: g.setup(lambda ctx: {}), "a game has one"),
        (lambda g: g.move(name="take")(tap), "declared already"),
        (lambda g: g.phase("play"), "declared already"),
        (lambda g: g.phase(tap), "needs a name in parentheses"),
        (lambda g: g.on_timeout("gone")(lambda ctx: None), "declare the phase before"),
        (lambda g: g.view(lambda ctx: {}), "write @g.view.public"),
        (lambda g: g.view.public(lambda ctx: {}), "a game has one"),
        (lambda g: g.redact(lambda ctx: {}), "@g.redact is called with"),
        (lambda g: g.computed(lambda: 1), "@g.computed is called with"),
    ],
)
def test_decorators_say_what_to_write_instead(
    note: Callable[[GameBuilder], Any], told: str
) -> None:
    """Where the decorator stands."""
    with pytest.raises(DefinitionError) as caught:
        note(nim())
    assert told in str(caught.value)


def test_what_is_missing_is_named() -> None:
    """When the game is built."""
    g = GameBuilder("nim", max_players=2)
    with pytest.raises(DefinitionError, match=r"@g\.setup is missing"):
        g.build()
    g.setup(lambda ctx: {})
    with pytest.raises(DefinitionError, match=r"@g\.move is missing"):
        g.build()
