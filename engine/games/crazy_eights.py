"""Crazy eights: hidden hands, a shuffled stock, and a pile that becomes the stock.

A card may be played that has the suit or the rank of the one on top; an eight always,
and it names the suit that goes on. Who cannot or will not play draws one card, and may
then pass. Who has no cards left has won; when the turns run out, who has the fewest.

Cards are two letters, rank and suit: "TS" is the ten of spades. `setup` has no chance,
so that dealing is an action, the first player's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

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
from ..rng import Rng
from ..turn import active_round_robin, current_player

__all__ = ["TURNS_MAX", "Play", "game"]

HAND = 5  # cards dealt to each
TURNS_MAX = 120  # then the fewest cards win

Suit = Literal["C", "D", "H", "S"]
SUITS: tuple[Suit, ...] = get_args(Suit)
DECK = tuple(rank + suit for rank in "23456789TJQKA" for suit in SUITS)

Cards = Sequence[str]
Played = dict[str, Json] | Rejected
Move = Callable[[ResolverContext], Played]


class Play(Struct, frozen=True, forbid_unknown_fields=True):
    """Play a card; with an eight, name the suit to go on with."""

    card: Annotated[str, Meta(pattern="^[2-9TJQKA][CDHS]$")]
    suit: Suit | None = None


def shuffled(cards: Cards, rng: Rng) -> list[str]:
    """The cards in a random order (Fisher and Yates)."""
    order = list(cards)
    for last in range(len(order) - 1, 0, -1):
        other = rng.int_(last + 1)
        order[last], order[other] = order[other], order[last]
    return order


def deal(ctx: ResolverContext) -> object:
    """Shuffle, give everybody a hand, and turn up one card."""
    cards = shuffled(DECK, ctx.rng)
    hands = {seat: [cards.pop() for _ in range(HAND)] for seat in ctx.players}
    top = cards.pop()
    G = {"hands": hands, "stock": cards, "pile": [top], "suit": top[1], "drawn": False}
    return {"G": G}


def fits(G: Mapping[str, Json], card: str) -> bool:
    """Whether a card may be played on the pile."""
    return card[0] in ("8", G["pile"][-1][0]) or card[1] == G["suit"]


def played(ctx: ResolverContext[Play]) -> Played:
    """G after a card was played."""
    card, named = ctx.event.payload.card, ctx.event.payload.suit
    seat, hands = ctx.turn.current_player, ctx.G["hands"]
    if card not in hands[seat]:
        return reject("not_in_your_hand", {"card": card})
    if not fits(ctx.G, card):
        return reject("does_not_fit", {"card": card})
    if card[0] == "8" and named is None:
        return reject("name_a_suit")
    if card[0] != "8" and named is not None:
        return reject("only_an_eight_names_a_suit")
    kept = [other for other in hands[seat] if other != card]
    return {
        **ctx.G,
        "hands": {**hands, seat: kept},
        "pile": [*ctx.G["pile"], card],
        "suit": named or card[1],
        "drawn": False,
    }


def draw(ctx: ResolverContext) -> object:
    """Take the top of the stock; if there is none, of the pile, shuffled."""
    if ctx.G["drawn"]:
        return reject("already_drawn")
    if not can_draw(ctx.G):
        return reject("nothing_to_draw")
    stock, pile = ctx.G["stock"], ctx.G["pile"]
    if not stock:
        stock, pile = shuffled(pile[:-1], ctx.rng), pile[-1:]
    seat, hands = ctx.turn.current_player, ctx.G["hands"]
    return {
        "G": {
            **ctx.G,
            "hands": {**hands, seat: [*hands[seat], stock[-1]]},
            "stock": stock[:-1],
            "pile": pile,
            "drawn": True,
        }
    }


def can_draw(G: Mapping[str, Json]) -> bool:
    """Whether there is a card that nobody has and that is not on top."""
    return bool(G["stock"]) or len(G["pile"]) > 1


def passed(ctx: ResolverContext) -> Played:
    """G after a pass."""
    if not ctx.G["drawn"] and can_draw(ctx.G):
        return reject("draw_first")
    return {**ctx.G, "drawn": False}


def go_on(move: Move) -> Callable[[ResolverContext], object]:
    """The move, when the match goes on after it."""

    def resolve(ctx: ResolverContext) -> object:
        G = move(ctx)
        if isinstance(G, Rejected):
            return G
        return None if ends(ctx, G) else {"G": G}

    return resolve


def finish(move: Move) -> Callable[[ResolverContext], object]:
    """The move, when the match ends with it."""

    def resolve(ctx: ResolverContext) -> object:
        G = move(ctx)
        if isinstance(G, Rejected) or not ends(ctx, G):
            return None
        winner = leader(G)
        result = {"draw": True} if winner is None else {"winner": winner}
        return {"G": G, "result": result}

    return resolve


def ends(ctx: ResolverContext, G: Mapping[str, Json]) -> bool:
    """Whether somebody has no cards left, or the turns have run out."""
    return not all(G["hands"].values()) or ctx.position.turn >= TURNS_MAX


def leader(G: Mapping[str, Json]) -> str | None:
    """Who alone has the fewest cards."""
    counts = {seat: len(hand) for seat, hand in G["hands"].items()}
    holders = [seat for seat, n in counts.items() if n == min(counts.values())]
    return holders[0] if len(holders) == 1 else None


def legal_actions(ctx: StateContext, seat: str) -> Iterator[tuple[str, Json]]:
    """Deal; or every card that fits, an eight with each suit; to draw, or to pass."""
    if ctx.position.name == "deal":
        yield "deal", None
        return
    for card in ctx.G["hands"][seat]:
        if card[0] == "8":
            for suit in SUITS:
                yield "play", {"card": card, "suit": suit}
        elif fits(ctx.G, card):
            yield "play", {"card": card, "suit": None}
    if can_draw(ctx.G) and not ctx.G["drawn"]:
        yield "draw", None
    else:
        yield "pass", None


def public_view(ctx: StateContext) -> Json:
    """What lies open, and how many cards there are of the rest."""
    G = ctx.G
    return {
        "top": G["pile"][-1] if G["pile"] else None,
        "suit": G["suit"],
        "pile": len(G["pile"]),
        "stock": len(G["stock"]),
        "cards": {seat: len(hand) for seat, hand in G["hands"].items()},
        "drawn": G["drawn"],
        "toMove": None if ctx.position.name == "over" else current_player(ctx),
    }


def player_view(ctx: StateContext, seat: str) -> Json:
    """The public view and the seat's own hand."""
    mine = ctx.G["hands"].get(seat)
    return {**public_view(ctx), "myHand": mine, "myPlayerID": seat}


def imagine(ctx: ImagineContext) -> Json:
    """Every card that the seat does not see, anywhere."""
    seen = ctx.view
    counts, top = seen["cards"], seen["top"]
    mine = seen["myHand"] or []
    rest = shuffled([c for c in DECK if c not in mine and c != top], ctx.rng)
    hands = {
        seat: mine if seat == ctx.seat else [rest.pop() for _ in range(counts[seat])]
        for seat in ctx.players
    }
    stock = [rest.pop() for _ in range(seen["stock"])]
    pile = [*(rest.pop() for _ in range(seen["pile"] - 1)), top] if top else []
    kept = {"suit": seen["suit"], "drawn": seen["drawn"]}
    return {"hands": hands, "stock": stock, "pile": pile, **kept}


def play_label(ctx: StateContext) -> str:
    """Whose turn it is, and what fits."""
    pile = ctx.G["pile"]
    on = f" on {pile[-1]}, suit {ctx.G['suit']}" if pile else ""
    return f"Player {current_player(ctx)}{on}"


def over_label(ctx: StateContext) -> str:
    """How it ended."""
    winner = leader(ctx.G)
    return "Draw" if winner is None else f"Player {winner} has won"


game = define_game(
    name="crazy-eights",
    min_players=2,
    max_players=4,
    events={
        "deal": event(NoneType, public=True),
        "play": event(Play, public=True),
        "draw": event(NoneType, public=True),
        "pass": event(NoneType, public=True),
    },
    initial="deal",
    setup=lambda ctx: {
        "hands": {seat: [] for seat in ctx.players},
        "stock": [],
        "pile": [],
        "suit": None,
        "drawn": False,
    },
    states={
        "deal": state(active_players=active_round_robin, label="Deal the cards"),
        "play": state(active_players=active_round_robin, label=play_label),
        "over": state(active_players=[], label=over_label),
    },
    transitions=[
        transition("deal", "deal", "play", deal),
        transition(
            "play", "play", "play", go_on(played), label="play", turn="increment"
        ),
        transition("play", "play", "over", finish(played), label="last card"),
        transition("draw", "play", "play", draw),
        transition(
            "pass", "play", "play", go_on(passed), label="pass", turn="increment"
        ),
        transition("pass", "play", "over", finish(passed), label="last pass"),
    ],
    views=views(public=public_view, player=player_view),
    legal_actions=legal_actions,
    imagine=imagine,
)
