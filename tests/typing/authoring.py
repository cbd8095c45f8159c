"""Usage that a strict type checker must accept, and must know the types of.

Checked by mypy, with everything else; imported by the tests, so that it runs too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_type

from msgspec import Struct

from hotseat.engine import (
    Game,
    GameBuilder,
    Json,
    Rejected,
    ResolverContext,
    Rng,
    SetupContext,
    StateContext,
    Turn,
    active_round_robin,
    current_player,
    define_game,
    event,
    reject,
    state,
    timeout,
    transition,
    views,
)


class Take(Struct, frozen=True):
    """Take some of what is left."""

    count: int


def setup(ctx: SetupContext) -> Json:
    assert_type(ctx.players, Sequence[str])
    assert_type(ctx.seed, str)
    return {"left": 21}


def take(ctx: ResolverContext[Take]) -> dict[str, Json] | Rejected | None:
    assert_type(ctx.event.payload, Take)
    assert_type(ctx.event.payload.count, int)
    assert_type(ctx.rng, Rng)
    assert_type(ctx.rng.d6(), int)
    assert_type(ctx.turn, Turn)
    assert_type(ctx.player_id, str | None)
    left = ctx.G["left"] - ctx.event.payload.count
    if left < 0:
        return reject("not_that_many", {"left": ctx.G["left"]})
    return {"G": {"left": left}} if left else None


def last(ctx: ResolverContext[Take]) -> dict[str, Json] | None:
    if ctx.event.payload.count != ctx.G["left"]:
        return None
    return {"G": {"left": 0}, "result": {"loser": current_player(ctx)}}


def too_late(ctx: ResolverContext) -> dict[str, Json]:
    return {"result": {"loser": current_player(ctx)}}


def public(ctx: StateContext) -> Json:
    assert_type(ctx.position.turn, int)
    return ctx.G


def mine(ctx: StateContext, seat: str) -> Json:
    return {**ctx.G, "myPlayerID": seat}


def choices(ctx: StateContext, seat: str) -> Iterator[tuple[str, Json]]:
    for count in (1, 2, 3):
        if count <= ctx.G["left"]:
            yield "take", {"count": count}


def deadline(ctx: StateContext) -> int | float:
    return ctx.now + 30_000


def left(ctx: StateContext) -> int:
    return int(ctx.G["left"])


value_form: Game = define_game(
    name="nim",
    max_players=2,
    events={"take": event(Take, public=True)},
    initial="play",
    setup=setup,
    states={
        "play": state(active_players=active_round_robin, deadline=deadline),
        "over": state(active_players=[]),
    },
    transitions=[
        transition("take", "play", "play", take, turn="increment"),
        transition("take", "play", "over", last),
        timeout("play", "over", too_late),
    ],
    selectors={"left": left},
    views=views(public=public, player=mine),
    legal_actions=choices,
)

g = GameBuilder("nim", max_players=2)
g.event("take", Take, public=True)
g.setup(setup)
g.state("play", deadline=deadline)(active_round_robin)
g.state("over", active_players=[])
g.transition("take", "play", "play", turn="increment")(take)
g.transition("take", "play", "over")(last)


@g.timeout("play", "over")
def out_of_time(ctx: ResolverContext) -> dict[str, Json]:
    return too_late(ctx)


@g.selector("left")
def what_is_left(ctx: StateContext) -> int:
    return left(ctx)


g.view.public(public)


@g.view.player
def seen(ctx: StateContext, seat: str) -> Json:
    return mine(ctx, seat)


@g.legal_actions
def listed(ctx: StateContext, seat: str) -> Iterator[tuple[str, Json]]:
    yield from choices(ctx, seat)


decorator_form: Game = g.build()


def mistakes() -> None:
    """Never run: each line is one that the type checker refuses."""
    g.view.player(public)  # type: ignore[type-var]
    g.setup(take)  # type: ignore[type-var]
    g.legal_actions(left)  # type: ignore[type-var]
    g.transition("take", "play", "play", setup)  # type: ignore[arg-type]
    views(player=public)  # type: ignore[arg-type]
    state(active_players=21)  # type: ignore[arg-type]
    transition("take", "play", "play", turn=1)  # type: ignore[arg-type]
