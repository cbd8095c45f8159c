"""Liar's dice: secret rolls, rising bids, and challenges that cost a die."""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.engine.context import StateContext
from hotseat.engine.games.liars_dice import DICE, game
from hotseat.engine.testing import (
    ScriptedMatch,
    SecretState,
    assert_no_leak,
    check_game,
    script,
)

from .standing import standing


def table(**changed: Any) -> ScriptedMatch:
    """A match of two in which all dice are known: three twos, and player 0 to call."""
    G = {
        "dice": {"0": [2, 2, 5], "1": [2, 6]},
        "left": {"0": 3, "1": 2},
        "begins": "0",
        "bid": None,
        "shown": None,
        "__gamekit": {"result": None},
    }
    return standing(game, {**G, **changed}, state="bidding")


def bid(count: int, face: int) -> dict[str, int]:
    return {"count": count, "face": face}


def test_everybody_rolls_before_the_bidding() -> None:
    """In any order, each their own dice, which only they see."""
    match = script(game, players=["0", "1", "2"])
    match.expect(state="rolling", active=["0", "1", "2"])
    match.play("2", "roll").expect(active=["0", "1"])
    match.refused("2", "roll", code="inactive_player")
    match.refused("0", "bid", bid(1, 1))
    match.play("0", "roll").play("1", "roll")
    match.expect(state="bidding", active=["0"])
    session = match.session
    mine = session.player_view("1")["myDice"]
    assert mine == session.snapshot.G["dice"]["1"] == sorted(mine)
    assert len(mine) == DICE
    assert "dice" not in session.public_view()


def test_bids_rise() -> None:
    """By the count, or by the face at the same count; never beyond the dice."""
    match = table().refused("0", "challenge", reason="no_bid")
    match.play("0", "bid", bid(2, 4)).expect(active=["1"])
    for lower in (bid(2, 4), bid(2, 3), bid(1, 6)):
        match.refused("1", "bid", lower, reason="not_higher")
    match.refused("1", "bid", bid(6, 1), reason="more_than_there_are")
    match.play("1", "bid", bid(2, 5)).play("0", "bid", bid(3, 1))
    match.expect(active=["1"], label="Player 1 bids or challenges")


@pytest.mark.parametrize(("count", "loser"), [(3, "1"), (4, "0")])
def test_a_challenge_costs_a_die(count: int, loser: str) -> None:
    """The challenger's if the bid holds, else the bidder's; the loser begins."""
    match = table().play("0", "bid", bid(count, 2)).play("1", "challenge")
    match.expect(state="rolling", active=["0", "1"])
    seen = match.session.public_view()
    assert seen["shown"]["found"] == 3
    assert seen["shown"]["loser"] == loser
    assert seen["shown"]["dice"] == {"0": [2, 2, 5], "1": [2, 6]}
    assert seen["left"] == {"0": 3 - (loser == "0"), "1": 2 - (loser == "1")}
    assert seen["caller"] == loser


def test_the_last_player_with_dice_wins() -> None:
    """At the challenge that takes the other's last die."""
    match = table(dice={"0": [3], "1": [4, 4]}, left={"0": 1, "1": 2})
    match.play("0", "bid", bid(1, 6)).play("1", "challenge")
    match.expect(result={"winner": "1"})
    assert match.session.public_view()["standing"] == ["1"]


def test_dice_only_disappear() -> None:
    """One a round, and nobody has others than they hold."""

    def all_dice(ctx: StateContext) -> None:
        for seat, dice in ctx.G["dice"].items():
            assert dice is None or len(dice) == ctx.G["left"][seat] <= DICE

    check_game(game, seeds="ab", invariants=[all_dice])


def test_dice_stay_secret_until_a_challenge() -> None:
    """No byte that others receive depends on them."""

    def other_dice(ctx: StateContext) -> Any:
        dice = ctx.G["dice"]
        if ctx.position.name != "bidding" or not dice["0"]:
            return None
        flipped = sorted(7 - die for die in dice["0"])
        return {**ctx.G, "dice": {**dice, "0": flipped}}

    def shown(one: StateContext, other: StateContext) -> bool:
        return bool(one.G["shown"] != other.G["shown"])

    assert_no_leak(game, SecretState("0", other_dice), until=shown, seeds="ab")
