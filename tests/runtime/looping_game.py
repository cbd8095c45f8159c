"""A game that does not end: each event, and each view, in its own way."""

from __future__ import annotations

from typing import Any

from hotseat.engine.definition import Game, define_game, event, state, transition, views


def spin(ctx: Any) -> Any:
    while True:
        pass


def recurse(ctx: Any) -> Any:
    def tree(depth: int) -> int:
        return 1 if depth == 0 else tree(depth - 1) + tree(depth - 1)

    return {"G": {"n": tree(60)}}


def catch_exception(ctx: Any) -> Any:
    while True:
        try:
            ctx.G["n"] + 1
        except Exception:
            return None


def catch_all(ctx: Any) -> Any:
    while True:
        try:
            spin(ctx)
        except BaseException:
            continue


def catch_once(ctx: Any) -> Any:
    """It is interrupted, and answers all the same."""
    try:
        spin(ctx)
    except BaseException:
        return {"G": {"n": 1_000}}


def step(ctx: Any) -> Any:
    return {"G": {**ctx.G, "n": ctx.G["n"] + 1}}


LOOPS = {
    "spin": spin,
    "recurse": recurse,
    "catch_exception": catch_exception,
    "catch_all": catch_all,
    "catch_once": catch_once,
}


def looping(**more: Any) -> Game:
    """Both seats may always act; `step` adds one, the other events do not end.

    `blind` makes the public view loop, and `late` the label of the state reached.
    """

    def view(ctx: Any) -> Any:
        return spin(ctx) if ctx.G.get("blind") else {"n": ctx.G["n"]}

    def label(ctx: Any) -> Any:
        return spin(ctx) if ctx.G.get("late") else "play"

    def flag(name: str) -> Any:
        return lambda ctx: {"G": {**ctx.G, name: True}}

    functions = {"step": step, "blind": flag("blind"), "late": flag("late"), **LOOPS}
    given: dict[str, Any] = {
        "name": "looping",
        "max_players": 2,
        "events": {name: event() for name in functions},
        "initial": "play",
        "setup": lambda ctx: {"n": 0},
        "states": {"play": state(active_players=["0", "1"], label=label)},
        "transitions": [
            transition(name, "play", "play", function)
            for name, function in functions.items()
        ],
        "views": views(public=view, player=lambda ctx, seat: {"n": ctx.G["n"]}),
    }
    return define_game(**(given | more))


game = looping()
