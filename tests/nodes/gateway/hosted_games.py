"""The games of the recorded conversations."""

from __future__ import annotations

from typing import Any

from hotseat.engine.definition import define_game, event, state, timeout, transition

__all__ = ["countdown", "three_in_all"]


def in_turn(ctx: Any) -> list[str]:
    players = ctx.match["players"]
    return [players[(ctx.position.turn - 1) % len(players)]]


def go_on(ctx: Any) -> object:
    cells = ctx.G["cells"]
    return None if len(cells) == 6 else {"G": {"cells": [*cells, ctx.player_id]}}


def win(ctx: Any) -> object:
    won = {"result": {"winner": ctx.player_id}}
    return won if len(ctx.G["cells"]) == 6 else None


three_in_all = define_game(
    name="three-in-all",
    player_ids=["0", "1"],
    events={"place": event(public=True)},
    initial="play",
    setup=lambda ctx: {"cells": [None] * 4},
    states={
        "play": state(
            active_players=in_turn,
            control={"status": "playing"},
            label="Take your turn",
        ),
        "won": state(active_players=[], control={"status": "won"}),
    },
    transitions=[
        transition(
            "place", "play", "play", go_on, label="place:continue", turn="increment"
        ),
        transition("place", "play", "won", win, label="place:win", turn="increment"),
    ],
    open_information=True,
)
"""The third action wins."""


def move(ctx: Any) -> object:
    return {"enqueue": [{"kind": "next", "payload": ctx.G["n"] + 1}]}


countdown = define_game(
    name="countdown",
    player_ids=["0", "1"],
    events={"move": event(public=True), "next": event(public=True)},
    initial="play",
    setup=lambda ctx: {"n": 0},
    states={"play": state(active_players=in_turn, deadline=100)},
    transitions=[
        transition("move", "play", "play", move, label="m", turn="increment"),
        transition(
            "next",
            "play",
            "play",
            lambda ctx: {"G": {"n": ctx.event.payload}},
            label="n",
        ),
        timeout("play", "play", label="t", turn="increment"),
    ],
    open_information=True,
)
"""Each action queues another event; a deadline passes once."""
