"""Pig on gamekit, as games.json has it: the players say what they rolled."""

from __future__ import annotations

from typing import Any

from hotseat.engine.gamekit import (
    Outcome,
    define_game,
    end_turn,
    finish,
    invalid,
    stay,
    views,
)

__all__ = ["game"]

TARGET = 20


def roll(ctx: Any) -> Outcome:
    value = ctx.args["value"]
    if value not in range(1, 7):
        return invalid("invalid_roll", {"value": value})
    if value == 1:
        return end_turn({"lastRoll": 1, "turnTotal": 0})
    return stay({"lastRoll": value, "turnTotal": ctx.G["turnTotal"] + value})


def hold(ctx: Any) -> Outcome:
    total = ctx.G["turnTotal"]
    if total == 0:
        return invalid("empty_turn", {"turnTotal": total})
    score = ctx.G["scores"][ctx.player] + total
    scores = {**ctx.G["scores"], ctx.player: score}
    patch = {"lastRoll": None, "scores": scores, "turnTotal": 0}
    return finish({"winner": ctx.player}, patch) if score >= TARGET else end_turn(patch)


game = define_game(
    name="pig-dice",
    player_ids=["0", "1"],
    setup=lambda ctx: {
        "lastRoll": None,
        "scores": dict.fromkeys(ctx.players, 0),
        "turnTotal": 0,
    },
    moves=[roll, hold],
    views=views(
        public=lambda ctx: {**ctx.G, "currentPlayer": ctx.turn.current_player},
        player=lambda ctx, seat: ctx.G,
    ),
)
