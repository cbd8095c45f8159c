"""A game that has no board on any page: with settings, a clock, and a label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta, Struct

from hotseat.engine import current_player
from hotseat.engine.config_schema import config_field
from hotseat.engine.definition import (
    define_game,
    event,
    reject,
    state,
    timeout,
    transition,
    views,
)

__all__ = ["game"]

MATCHES_TAKEN_MAX = 3


class Take(Struct, frozen=True):
    """Take one to three matches."""

    count: Annotated[int, Meta(ge=1, le=MATCHES_TAKEN_MAX)]


def take(ctx: Any) -> Any:
    left = ctx.G["left"] - ctx.event.payload.count
    if left < 0:
        return reject("not_so_many")
    return {"G": {"left": left}} if left else None


def take_last(ctx: Any) -> Any:
    if ctx.event.payload.count != ctx.G["left"]:
        return None
    other = next(seat for seat in ctx.players if seat != ctx.player_id)
    winner = other if ctx.match["config"]["lastLoses"] else ctx.player_id
    return {"G": {"left": 0}, "result": {"winner": winner}}


def legal_actions(ctx: Any, seat: str) -> Iterator[tuple[str, Any]]:
    for count in range(1, min(MATCHES_TAKEN_MAX, ctx.G["left"]) + 1):
        yield "take", {"count": count}


game = define_game(
    name="nim",
    max_players=2,
    events={"take": event(Take, public=True)},
    initial="play",
    config={
        "matches": config_field("number", default=5, min=1, max=30),
        "lastLoses": config_field("boolean", default=False),
        "minutes": config_field("enum", default="5", options=["1", "5", "60"]),
    },
    setup=lambda ctx: {"left": int(ctx.match["config"]["matches"])},
    states={
        "play": state(
            active_players=lambda ctx: [current_player(ctx)],
            deadline=lambda ctx: ctx.now + 60_000 * int(ctx.match["config"]["minutes"]),
        ),
        "over": state(active_players=[]),
    },
    transitions=[
        transition("take", "play", "play", take, turn="increment"),
        transition("take", "play", "over", take_last),
        timeout("play", "over", lambda ctx: {"result": {"draw": True}}),
    ],
    views=views(public=lambda ctx: ctx.G),
    legal_actions=legal_actions,
)
