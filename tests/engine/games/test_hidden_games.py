"""Shipped games that hide something: nobody learns it before the rules say so."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from hotseat.engine import StateContext
from hotseat.engine.games import (
    battleship,
    crazy_eights,
    pig_dice,
    rock_paper_scissors,
    sealed_auction,
)
from hotseat.engine.testing import (
    LeakFault,
    SecretAction,
    SecretStart,
    SecretState,
    assert_no_leak,
)


@pytest.mark.parametrize("hands", [*combinations(("rock", "paper", "scissors"), 2)])
@pytest.mark.parametrize("seat", ["0", "1"])
def test_a_choice_is_secret_until_both_have_chosen(seat: str, hands: Any) -> None:
    """Whatever was chosen, and by whom."""
    one, other = ({"hand": hand} for hand in hands)
    assert_no_leak(
        rock_paper_scissors.game,
        SecretAction(seat, "choose", one, other),
        until=lambda one, other: not one.G["choices"],
    )


@pytest.mark.parametrize("seat", ["0", "1"])
@pytest.mark.parametrize("amounts", [(0, 1), (2, 12)])
def test_a_bid_is_secret_until_the_last_one(seat: str, amounts: Any) -> None:
    """With two, three and four bidders."""
    one, other = ({"amount": amount} for amount in amounts)
    assert_no_leak(
        sealed_auction.game,
        SecretAction(seat, "bid", one, other),
        until=lambda one, other: not one.G["bids"],
        seeds="abcdef",
    )


@pytest.mark.parametrize("seat", ["0", "1"])
def test_a_fleet_is_secret_until_it_is_hit(seat: str) -> None:
    """Or missed where it would have been hit; and all is shown at the end."""
    assert_no_leak(
        battleship.game,
        SecretAction(
            seat, "place", {"cell": 0, "across": True}, {"cell": 24, "across": False}
        ),
        until=shots_tell_or_over,
    )


def shots_tell_or_over(one: StateContext, other: StateContext) -> bool:
    return bool(one.G["shots"] != other.G["shots"] or one.position.name == "over")


def swap_first_card(ctx: StateContext) -> Any:
    """Seat 0 holds what lies at the bottom of the stock, and the other way round."""
    hands, stock = ctx.G["hands"], ctx.G["stock"]
    if not stock or not hands["0"]:
        return None
    hand = [stock[0], *hands["0"][1:]]
    return {
        **ctx.G,
        "hands": {**hands, "0": hand},
        "stock": [hands["0"][0], *stock[1:]],
    }


def swap_stock(ctx: StateContext) -> Any:
    """The stock lies in another order."""
    stock = ctx.G["stock"]
    return {**ctx.G, "stock": stock[::-1]} if len(stock) > 1 else None


def is_seen(one: StateContext, other: StateContext) -> bool:
    """The card was played; or somebody has drawn it, who may know."""
    theirs = [
        {seat: hand for seat, hand in ctx.G["hands"].items() if seat != "0"}
        for ctx in (one, other)
    ]
    return bool(theirs[0] != theirs[1] or one.G["pile"] != other.G["pile"])


def is_drawn(one: StateContext, other: StateContext) -> bool:
    return bool(one.G["hands"] != other.G["hands"])


def test_a_card_is_secret_until_it_is_played() -> None:
    """Who has it, and what else lies in the stock."""
    assert_no_leak(
        crazy_eights.game,
        SecretState("0", swap_first_card),
        until=is_seen,
        seeds="abcdef",
    )


def test_the_order_of_the_stock_is_nobodys() -> None:
    """Not even the dealer's."""
    assert_no_leak(crazy_eights.game, SecretState(None, swap_stock), until=is_drawn)


def test_the_seed_is_secret() -> None:
    """Until chance has spoken."""
    seeds = SecretStart(None, {"seed": "one"}, {"seed": "another"})
    for module, said in (
        (pig_dice, lambda one, other: one.G["lastRoll"] or other.G["lastRoll"]),
        (crazy_eights, lambda one, other: one.position.name != "deal"),
        (sealed_auction, None),
        (rock_paper_scissors, None),
        (battleship, None),
    ):
        assert_no_leak(module.game, seeds, until=said, seeds="a")


def test_the_check_sees_a_game_that_forgets_to_hide() -> None:
    """One leak planted in each game is found."""
    placing = replace(
        battleship.game.states["placing"], label=lambda ctx: str(ctx.G["fleets"]["0"])
    )
    states = {**battleship.game.states, "placing": placing}
    fleet = SecretAction(
        "0", "place", {"cell": 0, "across": True}, {"cell": 24, "across": False}
    )
    with pytest.raises(LeakFault, match="label"):
        assert_no_leak(replace(battleship.game, states=states), fleet)
    drawing = replace(crazy_eights.game, views=replace_public(crazy_eights))
    with pytest.raises(LeakFault, match="view"):
        assert_no_leak(drawing, SecretState(None, swap_stock), until=is_drawn)


def replace_public(module: Any) -> Any:
    return replace(
        module.game.views,
        public=lambda ctx: {**module.public_view(ctx), "next": ctx.G["stock"][-1:]},
    )
