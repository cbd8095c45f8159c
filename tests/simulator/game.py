"""The game that is played: small, with every kind of answer in it.

Two seats. In `open` both may add at any time; `switch` goes over to `duel`, where only
one may, until `pass` hands the right over or `switch` ends it. Points beyond the goal
end it. With a deadline, a timeout counts a lapse.
"""

from __future__ import annotations

from typing import Any

import msgspec

from hotseat.engine.definition import (
    Game,
    define_game,
    event,
    reject,
    state,
    timeout,
    transition,
    views,
)
from hotseat.runtime.codec import pack

from .settings import Settings

__all__ = [
    "GAME_NAME",
    "GAME_NEXT_VERSION",
    "GAME_VERSION",
    "duel_game",
    "match_input",
]

GAME_NAME = "sim-duel"
GAME_VERSION = "1"
GAME_NEXT_VERSION = "2"
"""Of another shape: it counts eras."""


def match_input(settings: Settings) -> msgspec.Raw:
    """The match input that all players of a world give."""
    data = {"goal": settings.goal, "deadline_ms": settings.deadline_ms}
    return pack({"players": ["0", "1"], "data": data})


def _add(ctx: Any) -> Any:
    amount = ctx.event.payload
    if not isinstance(amount, int) or amount < 1:
        return reject("not_positive")
    points = ctx.G["points"] + amount
    G = {**ctx.G, "points": points, "dice": ctx.rng.d6()}
    if points >= ctx.G["goal"]:
        return {"G": G, "result": {"winner": ctx.player_id}}
    return {"G": G}


def _pass(ctx: Any) -> Any:
    return {"G": {**ctx.G, "to_move": "1" if ctx.G["to_move"] == "0" else "0"}}


def _lapse(ctx: Any) -> Any:
    return {"G": {**ctx.G, "lapses": ctx.G["lapses"] + 1}}


def _resign(ctx: Any) -> Any:
    return {"result": {"resigned": ctx.player_id}}


def _migrate(G: Any, from_version: str) -> Any:
    return {"era": from_version, **{k: v for k, v in G.items() if k != "era"}}


def _deadline(ctx: Any) -> Any:
    after_ms = ctx.G["deadline_ms"]
    return ctx.now + after_ms if after_ms else None


def duel_game(version: str = GAME_VERSION, *, impure: Any = None) -> Game:
    """`impure`: called at each addition; a game that asks what it should not know."""

    def add(ctx: Any) -> Any:
        result = _add(ctx)
        if impure is not None and isinstance(result, dict):
            result["G"]["dice"] += impure()
        return result

    def setup(ctx: Any) -> Any:
        given = ctx.match["data"]
        return {
            "points": 0,
            "dice": 0,
            "lapses": 0,
            "to_move": "0",
            "goal": given["goal"],
            "deadline_ms": given["deadline_ms"],
        }

    return define_game(
        name=GAME_NAME,
        version=version,
        max_players=2,
        events={
            "add": event(public=True),
            "switch": event(),
            "pass": event(),
            "resign": event(),
        },
        initial="open",
        setup=setup,
        states={
            "open": state(active_players=["0", "1"], deadline=_deadline),
            "duel": state(
                active_players=lambda ctx: [ctx.G["to_move"]], deadline=_deadline
            ),
        },
        transitions=[
            transition("add", "open", "open", add),
            transition("add", "duel", "duel", add),
            transition("switch", "open", "duel"),
            transition("switch", "duel", "open"),
            transition("pass", "duel", "duel", _pass),
            timeout("open", "open", _lapse),
            timeout("duel", "duel", _lapse),
            transition("resign", "open", "open", _resign),
            transition("resign", "duel", "duel", _resign),
        ],
        views=views(public=lambda ctx: ctx.G),
        migrate=_migrate if version == GAME_NEXT_VERSION else None,
    )
