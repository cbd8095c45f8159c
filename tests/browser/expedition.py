"""A game whose graph has states within states, refusals with reasons, queued events,
chance and secrets: all that an inspector shows.
"""

from __future__ import annotations

from typing import Any

from hotseat.engine.definition import (
    define_game,
    enqueue,
    event,
    reject,
    state,
    transition,
    views,
)

__all__ = ["game"]


def _march(ctx: Any) -> Any:
    if ctx.G["food"] < 1:
        return reject("nothing to eat", {"food": ctx.G["food"], "needed": 1})
    miles = ctx.rng.int_(6) + 1
    G = {**ctx.G, "food": ctx.G["food"] - 1, "miles": ctx.G["miles"] + miles}
    return {
        "G": G,
        "enqueue": [enqueue("weather", {"miles": miles})],
        "turn": "increment",
    }


def _arrive(ctx: Any) -> Any:
    if ctx.G["miles"] < 30:
        return reject("too far", {"miles": ctx.G["miles"], "of": 30})
    return {"result": {"arrived": ctx.player_id}}


def _storm(ctx: Any) -> Any:
    miles = ctx.event.payload["miles"]
    if miles < 5:
        return reject("the sky is clear", {"miles": miles})
    return {"G": ctx.G}


def _fair(ctx: Any) -> Any:
    return {"G": ctx.G} if ctx.event.payload["miles"] < 5 else None


def _hunt(ctx: Any) -> Any:
    found = ctx.rng.int_(3)
    hidden = {**ctx.G["hidden"], ctx.player_id: ["berries"] * found}
    return {"G": {**ctx.G, "food": ctx.G["food"] + found, "hidden": hidden}}


def _both(ctx: Any) -> list[str]:
    return list(ctx.match["players"])


game = define_game(
    name="expedition",
    version="1",
    player_ids=["0", "1"],
    min_players=2,
    events={
        "march": event(),
        "arrive": event(),
        "camp": event(),
        "hunt": event(),
        "wake": event(),
        "weather": event(),
    },
    initial="base",
    setup=lambda ctx: {
        "food": 3,
        "miles": 0,
        "map": [["ice"] * 6 for _ in range(4)],
        "hidden": {"0": [], "1": []},
    },
    states={
        "base": state(active_players=_both, label="At the base"),
        "journey": state(),
        "on the way": state(parent="journey", active_players=_both),
        "storm": state(parent="journey", active_players=_both, label="A storm"),
        "camp": state(parent="journey"),
        "awake": state(parent="camp", active_players=_both),
        "asleep": state(parent="camp", active_players=_both),
        "arrived": state(active_players=[]),
    },
    transitions=[
        transition("march", "base", "on the way", _march, label="set out"),
        transition("march", "on the way", "on the way", _march),
        transition("march", "storm", "on the way", _march, label="through the storm"),
        transition("weather", "on the way", "storm", _storm, label="a storm comes"),
        transition("weather", "on the way", "on the way", _fair, label="fair"),
        transition("camp", "on the way", "awake"),
        transition("camp", "storm", "awake"),
        transition("hunt", "awake", "asleep", _hunt),
        transition("wake", "camp", "on the way"),
        transition("arrive", "journey", "arrived", _arrive),
        transition("camp", "journey", "base", label="turn back"),
    ],
    views=views(
        public=lambda ctx: {"miles": ctx.G["miles"]},
        player=lambda ctx, seat: {
            "miles": ctx.G["miles"],
            "myPlayerID": seat,
            "mine": ctx.G["hidden"].get(seat, []),
        },
    ),
)
"""Two walk over the ice."""
