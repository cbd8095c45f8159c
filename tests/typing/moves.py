"""Usage of gamekit that a strict type checker must accept, and know the types of.

Checked by mypy, with everything else; imported by the tests, so that it runs too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_type

from msgspec import Struct

from hotseat.engine import FDict, Game, Json, Rng, SetupContext, Turn
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
    finish,
    invalid,
    move,
    phase,
    view,
    views,
)


class Take(Struct, frozen=True):
    """Take some of what is left."""

    count: int


def setup(ctx: SetupContext) -> dict[str, Json]:
    return {"left": 21}


def take(ctx: MoveContext[Take]) -> Outcome:
    assert_type(ctx.args, Take)
    assert_type(ctx.G, FDict)
    assert_type(ctx.player, str)
    assert_type(ctx.player_id, str | None)
    assert_type(ctx.phase, str)
    assert_type(ctx.turn, Turn)
    assert_type(ctx.rng, Rng)
    assert_type(ctx.players, Sequence[str])
    left = ctx.G["left"] - ctx.args.count
    if left < 0:
        return invalid("not_that_many", {"left": ctx.G["left"]})
    return end_turn({"left": left}) if left else finish({"loser": ctx.player})


def skip(ctx: MoveContext[None]) -> Outcome:
    assert_type(ctx.args, None)
    return end_turn()


def anything(ctx: MoveContext) -> Outcome:
    return end_turn({"left": ctx.args})


def late(ctx: TimeoutContext) -> Outcome | None:
    if ctx.G["left"] == 1:
        return ctx.run(skip)
    assert_type(ctx.run(take, Take(1)), Outcome)
    return ctx.run(anything, 3)


def left(ctx: ComputedContext) -> int:
    return int(ctx.G["left"])


def public(ctx: PhaseContext) -> dict[str, Json]:
    return view.merge({"phase": ctx.phase}, ctx, "left")


def mine(ctx: PhaseContext, seat: str) -> dict[str, Json]:
    return {**public(ctx), "myPlayerID": seat}


def choices(ctx: PhaseContext, seat: str) -> Iterator[tuple[str, Json]]:
    yield "take", {"count": 1}


def deadline(ctx: PhaseContext) -> int | float:
    return ctx.now + 30_000


value_form: Game = define_game(
    name="nim",
    max_players=2,
    setup=setup,
    moves={"take": move(take, public=True), "skip": skip},
    phases={"play": phase(deadline=deadline, on_timeout=late)},
    computed={"left": left},
    views=views(public=public, player=mine),
    legal_actions=choices,
)

g = GameBuilder("nim", max_players=2)
g.setup(setup)
g.computed(left)
g.phase("play", deadline=deadline)
g.on_timeout("play")(late)
g.legal_actions(choices)
g.view.public(public)
g.view.player(mine)
taken = g.move(public=True)(take)
skipped = g.move(skip)
decorator_form: Game = g.build()


def mistakes(ctx: TimeoutContext) -> None:
    """Never run: each line is one that the type checker refuses."""
    ctx.run(take)  # type: ignore[arg-type]
    ctx.run(take, 3)  # type: ignore[arg-type]
    taken(ctx)  # type: ignore[arg-type]
    g.move(left)  # type: ignore[type-var]
    g.move()(public)  # type: ignore[type-var]
    g.view.player(public)  # type: ignore[type-var]
    g.on_timeout("play")(take)  # type: ignore[type-var]
    end_turn([1])  # type: ignore[arg-type]
    finish("won")  # type: ignore[arg-type]
    phase(deadline="soon")  # type: ignore[arg-type]
    evaluate_number("a", [])  # type: ignore[arg-type]
    evaluate_number(1, [Modifier("x", lambda value, ctx: "a")])  # type: ignore[arg-type, return-value]
