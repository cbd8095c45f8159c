"""Rock-paper-scissors: both choose at once, and nobody sees a choice too early.

A choice lies in G until the round is complete. Nothing else may depend on it before
that: no view but the chooser's own, no selector, no control, no refusal. What may be
seen is who has chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, get_args

from msgspec import Struct

from ..context import ImagineContext, ResolverContext, StateContext
from ..definition import define_game, event, state, transition, views
from ..jsonvalue import Json

__all__ = ["ROUNDS_MAX", "Choose", "game"]

WINS_NEEDED = 2
ROUNDS_MAX = 9  # a match of ties ends too

Hand = Literal["rock", "paper", "scissors"]
HANDS: tuple[Hand, ...] = get_args(Hand)
BEATS: Mapping[str, str] = {"rock": "scissors", "scissors": "paper", "paper": "rock"}


class Choose(Struct, frozen=True, forbid_unknown_fields=True):
    """Choose a hand for this round. It stays hidden until all have chosen."""

    hand: Hand


def waiting_for(ctx: StateContext) -> list[str]:
    """Who has not chosen yet."""
    return [seat for seat in ctx.match["players"] if seat not in ctx.G["choices"]]


def chosen(ctx: ResolverContext) -> dict[str, str]:
    """The choices of the round, with this one."""
    return {**ctx.G["choices"], str(ctx.player_id): ctx.event.payload.hand}


def is_complete(ctx: ResolverContext, choices: Mapping[str, str]) -> bool:
    """Whether everyone has chosen."""
    return len(choices) == len(ctx.match["players"])


def keep_hidden(ctx: ResolverContext) -> object:
    """The first choice of a round."""
    choices = chosen(ctx)
    return None if is_complete(ctx, choices) else {"G": {**ctx.G, "choices": choices}}


def revealed(ctx: ResolverContext) -> dict[str, Json] | None:
    """G after the last choice of a round, which reveals it."""
    choices = chosen(ctx)
    if not is_complete(ctx, choices):
        return None
    first, second = ctx.match["players"]
    winner = None
    if BEATS[choices[first]] == choices[second]:
        winner = first
    elif BEATS[choices[second]] == choices[first]:
        winner = second
    scores = {seat: n + (seat == winner) for seat, n in ctx.G["scores"].items()}
    rounds = [*ctx.G["rounds"], {"choices": choices, "winner": winner}]
    return {"choices": {}, "scores": scores, "rounds": rounds}


def is_decided(G: Mapping[str, Json]) -> bool:
    """Whether the match is over."""
    enough = max(G["scores"].values()) >= WINS_NEEDED
    return enough or len(G["rounds"]) >= ROUNDS_MAX


def leader(G: Mapping[str, Json]) -> str | None:
    """Who has won more rounds."""
    (first, a), (second, b) = G["scores"].items()
    if a == b:
        return None
    return str(first if a > b else second)


def next_round(ctx: ResolverContext) -> object:
    """Reveal, and choose again."""
    G = revealed(ctx)
    return None if G is None or is_decided(G) else {"G": G}


def finish(ctx: ResolverContext) -> object:
    """Reveal the last round."""
    G = revealed(ctx)
    if G is None or not is_decided(G):
        return None
    winner = leader(G)
    return {"G": G, "result": {"draw": True} if winner is None else {"winner": winner}}


def legal_actions(ctx: StateContext, seat: str) -> Iterator[tuple[str, Json]]:
    """Every hand, once in a round."""
    if seat in waiting_for(ctx):
        for hand in HANDS:
            yield "choose", {"hand": hand}


def public_view(ctx: StateContext) -> Json:
    """The rounds that are complete, and who still has to choose."""
    return {
        "scores": ctx.G["scores"],
        "rounds": ctx.G["rounds"],
        "waitingFor": [] if is_decided(ctx.G) else waiting_for(ctx),
    }


def player_view(ctx: StateContext, seat: str) -> Json:
    """The public view and the seat's own choice."""
    mine = ctx.G["choices"].get(seat)
    return {**public_view(ctx), "myChoice": mine, "myPlayerID": seat}


def imagine(ctx: ImagineContext) -> Json:
    """Any hand for whoever has chosen one that is hidden."""
    seen = ctx.view
    choices = {
        seat: seen["myChoice"] if seat == ctx.seat else ctx.rng.pick(HANDS)
        for seat in ctx.players
        if seat not in seen["waitingFor"]
    }
    return {"choices": choices, "scores": seen["scores"], "rounds": seen["rounds"]}


def over_label(ctx: StateContext) -> str:
    """How it ended."""
    winner = leader(ctx.G)
    return "Draw" if winner is None else f"Player {winner} has won"


game = define_game(
    name="rock-paper-scissors",
    max_players=2,
    events={"choose": event(Choose)},
    initial="choose",
    setup=lambda ctx: {
        "choices": {},
        "scores": dict.fromkeys(ctx.match["players"], 0),
        "rounds": [],
    },
    states={
        "choose": state(
            active_players=waiting_for,
            label=lambda ctx: f"Round {len(ctx.G['rounds']) + 1}",
        ),
        "over": state(active_players=[], label=over_label),
    },
    transitions=[
        transition("choose", "choose", "choose", keep_hidden),
        transition("choose", "choose", "choose", next_round, turn="increment"),
        transition("choose", "choose", "over", finish, turn="increment"),
    ],
    views=views(public=public_view, player=player_view),
    legal_actions=legal_actions,
    imagine=imagine,
)
