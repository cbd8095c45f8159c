"""A sealed-bid auction: all bid at once and unseen, and a lot's end opens the bids.

The highest bid pays and takes the lot; of two equal highest ones neither does. Whoever
has bought the most value has won, and of equals whoever has more money left.

Who has bid is known, what they bid is not: it lies in G, and nothing that leaves before
the last bid may depend on it. Opened bids stand in the order of the seats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

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

__all__ = ["LOTS", "PURSE", "Bid", "game"]

LOTS = (3, 5, 2, 4)  # the value of each lot
PURSE = 12  # what everybody has to spend on all of them


class Bid(Struct, frozen=True, forbid_unknown_fields=True):
    """Offer an amount for this lot; 0 leaves it to the others."""

    amount: Annotated[int, Meta(ge=0, le=PURSE)]


def waiting_for(ctx: StateContext) -> list[str]:
    """Who has not bid yet."""
    return [seat for seat in ctx.players if seat not in ctx.G["bids"]]


def bids_with(ctx: ResolverContext[Bid]) -> dict[str, int] | Rejected:
    """The bids for this lot, with this one, in the order of the seats."""
    amount, seat = ctx.event.payload.amount, str(ctx.player_id)
    purse = ctx.G["purses"][seat]
    if amount > purse:
        return reject("more_than_you_have", {"purse": purse})
    bids = {**ctx.G["bids"], seat: amount}
    return {seat: bids[seat] for seat in ctx.players if seat in bids}


def keep_sealed(ctx: ResolverContext[Bid]) -> object:
    """A bid that others still wait for."""
    bids = bids_with(ctx)
    if isinstance(bids, Rejected):
        return bids
    return {"G": {**ctx.G, "bids": bids}} if len(bids) < len(ctx.players) else None


def opened(ctx: ResolverContext[Bid]) -> dict[str, Json] | None:
    """G after the last bid for a lot, which opens them."""
    bids = bids_with(ctx)
    if isinstance(bids, Rejected) or len(bids) < len(ctx.players):
        return None
    value = LOTS[len(ctx.G["sold"])]
    buyer = highest(bids)
    purses, values = ctx.G["purses"], ctx.G["values"]
    if buyer is not None:
        purses = {**purses, buyer: purses[buyer] - bids[buyer]}
        values = {**values, buyer: values[buyer] + value}
    sold = [*ctx.G["sold"], {"value": value, "bids": bids, "buyer": buyer}]
    return {"bids": {}, "purses": purses, "values": values, "sold": sold}


def highest(amounts: Mapping[str, Json]) -> str | None:
    """Who alone has the highest amount, if it is any."""
    best = max(amounts.values())
    holders = [seat for seat, amount in amounts.items() if amount == best]
    return holders[0] if len(holders) == 1 and best else None


def next_lot(ctx: ResolverContext[Bid]) -> object:
    """Open the bids, and go on to the next lot."""
    G = opened(ctx)
    return None if G is None or len(G["sold"]) == len(LOTS) else {"G": G}


def finish(ctx: ResolverContext[Bid]) -> object:
    """Open the bids for the last lot."""
    G = opened(ctx)
    if G is None or len(G["sold"]) < len(LOTS):
        return None
    winner = leader(G)
    return {"G": G, "result": {"draw": True} if winner is None else {"winner": winner}}


def leader(G: Mapping[str, Json]) -> str | None:
    """Who has bought the most value, or of equals has the most money."""
    # Money is worth less than any value: it only tells equals apart.
    return highest(
        {
            seat: value * (PURSE + 1) + G["purses"][seat]
            for seat, value in G["values"].items()
        }
    )


def legal_actions(ctx: StateContext, seat: str) -> Iterator[tuple[str, Json]]:
    """Every amount that the seat has, once for each lot."""
    if seat in waiting_for(ctx):
        for amount in range(ctx.G["purses"][seat] + 1):
            yield "bid", {"amount": amount}


def public_view(ctx: StateContext) -> Json:
    """The lots, what was paid for those that are sold, and who still has to bid."""
    over = ctx.position.name == "over"
    return {
        "lots": LOTS,
        "sold": ctx.G["sold"],
        "purses": ctx.G["purses"],
        "values": ctx.G["values"],
        "waitingFor": [] if over else waiting_for(ctx),
    }


def player_view(ctx: StateContext, seat: str) -> Json:
    """The public view and the seat's own bid."""
    mine = ctx.G["bids"].get(seat)
    return {**public_view(ctx), "myBid": mine, "myPlayerID": seat}


def imagine(ctx: ImagineContext) -> Json:
    """Any amount that a seat has, where its bid is sealed."""
    seen = ctx.view
    bids = {
        seat: seen["myBid"]
        if seat == ctx.seat
        else ctx.rng.int_(seen["purses"][seat] + 1)
        for seat in ctx.players
        if seat not in seen["waitingFor"]
    }
    kept = {name: seen[name] for name in ("purses", "values", "sold")}
    return {**kept, "bids": bids}


def over_label(ctx: StateContext) -> str:
    """How it ended."""
    winner = leader(ctx.G)
    return "Draw" if winner is None else f"Player {winner} has won"


game = define_game(
    name="sealed-auction",
    min_players=2,
    max_players=4,
    events={"bid": event(Bid)},
    initial="bidding",
    setup=lambda ctx: {
        "bids": {},
        "purses": dict.fromkeys(ctx.players, PURSE),
        "values": dict.fromkeys(ctx.players, 0),
        "sold": [],
    },
    states={
        "bidding": state(
            active_players=waiting_for,
            label=lambda ctx: f"Lot {len(ctx.G['sold']) + 1} of {len(LOTS)}",
        ),
        "over": state(active_players=[], label=over_label),
    },
    transitions=[
        transition("bid", "bidding", "bidding", keep_sealed, label="sealed"),
        transition(
            "bid", "bidding", "bidding", next_lot, label="opened", turn="increment"
        ),
        transition(
            "bid", "bidding", "over", finish, label="last lot", turn="increment"
        ),
    ],
    views=views(public=public_view, player=player_view),
    legal_actions=legal_actions,
    imagine=imagine,
)
