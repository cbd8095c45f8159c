"""Liar's dice: phases, computed values, and dice that only their owner sees.

Everybody rolls at once, in secret. Then each in turn raises the bid ("five fours among
all of us") or challenges the last one; a challenge shows all dice, and whoever was
wrong loses one. The last player with dice wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from ..context import ImagineContext, SetupContext
from ..gamekit import (
    ComputedContext,
    GameBuilder,
    MoveContext,
    Outcome,
    PhaseContext,
    end_turn,
    finish,
    goto,
    invalid,
    stay,
    view,
)
from ..jsonvalue import Json

__all__ = ["DICE", "Bid", "game"]

DICE = 5
"""Dice of each player at the start."""

FACES = 6


class Bid(Struct, frozen=True, forbid_unknown_fields=True):
    """A claim: at least `count` dice of all show `face`."""

    count: Annotated[int, Meta(ge=1)]
    face: Annotated[int, Meta(ge=1, le=FACES)]


g = GameBuilder("liars-dice", max_players=6, min_players=2, initial_phase="rolling")


@g.setup
def setup(ctx: SetupContext) -> Json:
    """Nobody has rolled yet; the first player will begin."""
    return {
        "dice": dict.fromkeys(ctx.players),
        "left": dict.fromkeys(ctx.players, DICE),
        "begins": ctx.players[0],
        "bid": None,
        "shown": None,
    }


@g.computed
def standing(ctx: ComputedContext) -> list[str]:
    """The players who still have dice."""
    return [seat for seat in ctx.turn.players if ctx.G["left"][seat]]


@g.computed
def caller(ctx: ComputedContext) -> str:
    """Who must answer the bid, or make the first one."""
    if ctx.G["bid"] is None:
        begins: str = ctx.G["begins"]
        return begins
    return after(ctx.G["bid"]["seat"], ctx.turn.players, ctx.G["left"])


def after(seat: str, players: Sequence[str], left: Mapping[str, int]) -> str:
    """The next player around the table who has dice."""
    start = players.index(seat) + 1
    around = [*players[start:], *players[:start]]
    return next(other for other in around if left[other])


@g.phase("rolling", label="Everybody rolls")
def still_to_roll(ctx: PhaseContext) -> list[str]:
    """Those who have not rolled; they do so in any order, all at once."""
    return [seat for seat in ctx.C["standing"] if ctx.G["dice"][seat] is None]


@g.phase("bidding", label=lambda ctx: f"Player {ctx.C['caller']} bids or challenges")
def to_answer(ctx: PhaseContext) -> list[str]:
    """One player at a time."""
    return [ctx.C["caller"]]


@g.move(phases=["rolling"])
def roll(ctx: MoveContext[None]) -> Outcome:
    """Roll all of one's dice; the last one to do so opens the bidding."""
    rolled = sorted(ctx.rng.d6() for _ in range(ctx.G["left"][ctx.player]))
    dice = {**ctx.G["dice"], ctx.player: rolled}
    if any(dice[seat] is None for seat in ctx.C["standing"]):
        return stay({"dice": dice})
    return goto("bidding", {"dice": dice, "bid": None})


@g.move(phases=["bidding"], public=True)
def bid(ctx: MoveContext[Bid]) -> Outcome:
    """Claim more than the last bid: more dice, or as many of a higher face."""
    said = {"seat": ctx.player, "count": ctx.args.count, "face": ctx.args.face}
    if said["count"] > sum(ctx.G["left"].values()):
        return invalid("more_than_there_are", {"dice": sum(ctx.G["left"].values())})
    if ctx.G["bid"] is not None and rank(said) <= rank(ctx.G["bid"]):
        return invalid("not_higher", {"bid": ctx.G["bid"]})
    return end_turn({"bid": said})


def rank(said: Mapping[str, Any]) -> tuple[int, int]:
    """Bids in their order."""
    return said["count"], said["face"]


@g.move(phases=["bidding"], public=True)
def challenge(ctx: MoveContext[None]) -> Outcome:
    """Show all dice. Whoever was wrong loses one, and begins the next round."""
    said = ctx.G["bid"]
    if said is None:
        return invalid("no_bid")
    dice = ctx.G["dice"]
    found = sum(dice[seat].count(said["face"]) for seat in ctx.C["standing"])
    loser = ctx.player if found >= said["count"] else said["seat"]
    left = {**ctx.G["left"], loser: ctx.G["left"][loser] - 1}
    patch = {
        "dice": dict.fromkeys(dice),
        "left": left,
        "begins": loser if left[loser] else after(loser, ctx.players, left),
        "bid": None,
        "shown": {"dice": dice, "bid": said, "found": found, "loser": loser},
    }
    rest = [seat for seat in ctx.players if left[seat]]
    if len(rest) == 1:
        return finish({"winner": rest[0]}, patch)
    return goto("rolling", patch, end_turn=True)


@g.legal_actions
def legal_actions(ctx: PhaseContext, seat: str) -> Iterator[tuple[str, Json]]:
    """Rolling; or every higher bid, and the challenge of one."""
    if ctx.phase == "rolling":
        yield "roll", None
        return
    said = ctx.G["bid"]
    if said is not None:
        yield "challenge", None
    for count in range(1, sum(ctx.G["left"].values()) + 1):
        for face in range(1, FACES + 1):
            claim = {"count": count, "face": face}
            if said is None or rank(claim) > rank(said):
                yield "bid", claim


@g.view.public
def public(ctx: PhaseContext) -> dict[str, Json]:
    """Everything but the dice; those of the last round are shown."""
    seen = {
        "left": ctx.G["left"],
        "rolled": [seat for seat in ctx.players if ctx.G["dice"][seat] is not None],
        "bid": ctx.G["bid"],
        "shown": ctx.G["shown"],
    }
    return view.merge(seen, ctx, "standing", "caller")


@g.view.player
def player(ctx: PhaseContext, seat: str) -> dict[str, Json]:
    """One's own dice too."""
    return {**public(ctx), "myDice": ctx.G["dice"].get(seat), "myPlayerID": seat}


@g.imagine
def imagine(ctx: ImagineContext) -> Json:
    """Any dice for the others. Who began matters only before the first bid."""
    seen, left = ctx.view, ctx.view["left"]
    dice = {
        seat: sorted(ctx.rng.d6() for _ in range(left[seat]))
        if seat in seen["rolled"]
        else None
        for seat in ctx.players
    }
    dice[ctx.seat] = seen["myDice"]
    said = {name: seen[name] for name in ("left", "bid", "shown")}
    return {**said, "dice": dice, "begins": seen["caller"]}


game = g.build()
