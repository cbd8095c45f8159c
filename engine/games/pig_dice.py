"""Pig: chance from `ctx.rng`, which the match carries and a replay repeats.

A player rolls as long as they dare: each roll goes into the pot, a 1 loses it and ends
the turn. Holding banks the pot. Every candidate rolls from the same position of the
generator, so that all of them see the same die.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import NoneType

from ..context import ImagineContext, ResolverContext, StateContext
from ..definition import (
    Rejected,
    define_game,
    event,
    reject,
    state,
    transition,
    views,
)
from ..jsonvalue import Json
from ..turn import active_round_robin, current_player

__all__ = ["TARGET", "TURNS_MAX", "game"]

TARGET = 50
TURNS_MAX = 60  # then the higher score wins

Played = dict[str, Json] | Rejected
Move = Callable[[ResolverContext], Played]


def rolled(ctx: ResolverContext) -> Played:
    """G after a roll. Whoever would reach the target with the pot has won at once."""
    die = ctx.rng.d6()
    scores: Mapping[str, int] = ctx.G["scores"]
    if die == 1:
        return turn_ended(ctx, scores, die)
    seat, pot = ctx.turn.current_player, ctx.G["pot"] + die
    if scores[seat] + pot >= TARGET:
        scores = {**scores, seat: scores[seat] + pot}
        return {"scores": scores, "pot": 0, "lastRoll": die, "over": True}
    return {"scores": scores, "pot": pot, "lastRoll": die, "over": False}


def held(ctx: ResolverContext) -> Played:
    """G after the pot was banked."""
    pot, scores = ctx.G["pot"], ctx.G["scores"]
    if pot == 0:
        return reject("pot_empty")
    seat = ctx.turn.current_player
    return turn_ended(ctx, {**scores, seat: scores[seat] + pot}, ctx.G["lastRoll"])


def turn_ended(
    ctx: ResolverContext, scores: Mapping[str, int], die: int
) -> dict[str, Json]:
    """G when the pot goes back to nothing."""
    last_turn = ctx.position.turn >= TURNS_MAX
    return {"scores": scores, "pot": 0, "lastRoll": die, "over": last_turn}


def go_on(move: Move) -> Callable[[ResolverContext], object]:
    """The move, when the match goes on after it."""

    def resolve(ctx: ResolverContext) -> object:
        G = move(ctx)
        if isinstance(G, Rejected):
            return G
        if G["over"]:
            return None
        return {"G": G, "turn": "preserve" if G["pot"] else "increment"}

    return resolve


def finish(move: Move) -> Callable[[ResolverContext], object]:
    """The move, when the match ends with it."""

    def resolve(ctx: ResolverContext) -> object:
        G = move(ctx)
        if isinstance(G, Rejected) or not G["over"]:
            return None
        winner = leader(G)
        result = {"draw": True} if winner is None else {"winner": winner}
        return {"G": G, "result": result}

    return resolve


def leader(G: Mapping[str, Json]) -> str | None:
    """Who has the higher score."""
    best = max(G["scores"].values())
    leaders = [seat for seat, score in G["scores"].items() if score == best]
    return str(leaders[0]) if len(leaders) == 1 else None


def legal_actions(ctx: StateContext, seat: str) -> Iterator[tuple[str, Json]]:
    """Roll, or hold if there is something to bank."""
    yield "roll", None
    if ctx.G["pot"] > 0:
        yield "hold", None


def public_view(ctx: StateContext) -> Json:
    """Everything on the table; the generator is not on it."""
    return {**ctx.G, "toMove": None if ctx.G["over"] else current_player(ctx)}


def imagine(ctx: ImagineContext) -> Json:
    """What the view adds to G, taken away."""
    return {name: ctx.view[name] for name in ("scores", "pot", "lastRoll", "over")}


def over_label(ctx: StateContext) -> str:
    """How it ended."""
    winner = leader(ctx.G)
    return "Draw" if winner is None else f"Player {winner} has won"


game = define_game(
    name="pig-dice",
    max_players=2,
    events={"roll": event(NoneType, public=True), "hold": event(NoneType, public=True)},
    initial="play",
    setup=lambda ctx: {
        "scores": dict.fromkeys(ctx.match["players"], 0),
        "pot": 0,
        "lastRoll": None,
        "over": False,
    },
    states={
        "play": state(
            active_players=active_round_robin,
            label=lambda ctx: (
                f"Player {current_player(ctx)}, {ctx.G['pot']} in the pot"
            ),
        ),
        "over": state(active_players=[], label=over_label),
    },
    transitions=[
        transition("roll", "play", "play", go_on(rolled), label="roll"),
        transition("roll", "play", "over", finish(rolled), label="winning roll"),
        transition("hold", "play", "play", go_on(held), label="hold"),
        transition("hold", "play", "over", finish(held), label="last hold"),
    ],
    views=views(
        public=public_view,
        player=lambda ctx, seat: {**public_view(ctx), "myPlayerID": seat},
    ),
    legal_actions=legal_actions,
    imagine=imagine,
)
