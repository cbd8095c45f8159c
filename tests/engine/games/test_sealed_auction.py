"""The sealed-bid auction: bids are secret until the last one for the lot."""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.engine.games.sealed_auction import LOTS, PURSE, game, leader
from hotseat.engine.testing import ScriptedMatch, check_game, script


def auction(seats: str = "012") -> ScriptedMatch:
    return script(game, players=list(seats))


def bid(match: ScriptedMatch, bids: dict[str, int]) -> ScriptedMatch:
    for seat, amount in bids.items():
        match.play(seat, "bid", {"amount": amount})
    return match


def test_the_highest_bid_pays_and_takes_the_lot() -> None:
    """The bids are opened in the order of the seats, however they came."""
    match = bid(auction(), {"2": 4, "0": 1, "1": 5})
    sold = [{"value": LOTS[0], "bids": {"0": 1, "1": 5, "2": 4}, "buyer": "1"}]
    match.sees(None, {"sold": sold, "purses": {"0": 12, "1": 7, "2": 12}})
    assert list(match.view()["sold"][0]["bids"]) == ["0", "1", "2"]
    match.expect(label=f"Lot 2 of {len(LOTS)}", active=["0", "1", "2"], turn=2)


@pytest.mark.parametrize("bids", [{"0": 3, "1": 3, "2": 1}, {"0": 0, "1": 0, "2": 0}])
def test_equal_or_no_bids_sell_nothing(bids: dict[str, int]) -> None:
    """Nobody pays."""
    match = bid(auction(), bids)
    match.sees(None, {"purses": dict.fromkeys("012", PURSE)})
    assert match.view()["sold"][0]["buyer"] is None


def test_a_bid_is_seen_by_its_bidder_alone() -> None:
    """All see who has bid, and nobody bids twice."""
    match = bid(auction(), {"1": 7})
    match.sees("1", {"myBid": 7}).sees("0", {"myBid": None, "waitingFor": ["0", "2"]})
    assert "7" not in str(match.view("0")) + str(match.view())
    match.refused("1", "bid", {"amount": 1}, code="inactive_player")


def test_nobody_bids_more_than_they_have() -> None:
    """What one has is known to all."""
    match = bid(auction("01"), {"0": 10, "1": 2})
    match.refused(
        "0", "bid", {"amount": 3}, reason="more_than_you_have", details={"purse": 2}
    )
    assert match.session.legal_actions("0") == [
        ("bid", {"amount": amount}) for amount in (0, 1, 2)
    ]


def test_the_most_value_wins() -> None:
    """After the last lot."""
    match = auction("01")
    for bids in ({"0": 1, "1": 0}, {"0": 0, "1": 1}, {"0": 0, "1": 0}):
        bid(match, bids).expect(result=None)
    bid(match, {"0": 1, "1": 0})
    match.expect(state="over", result={"winner": "0"}, label="Player 0 has won")


@pytest.mark.parametrize(
    ("values", "purses", "wins"),
    [
        ({"0": 5, "1": 3}, {"0": 0, "1": 12}, "0"),
        ({"0": 5, "1": 5}, {"0": 0, "1": 1}, "1"),
        ({"0": 5, "1": 5}, {"0": 4, "1": 4}, None),
        ({"0": 0, "1": 0}, {"0": 12, "1": 12}, None),
    ],
)
def test_money_tells_equals_apart(values: Any, purses: Any, wins: str | None) -> None:
    """And only them."""
    assert leader({"values": values, "purses": purses}) == wins


def test_no_money_appears() -> None:
    """Purses only shrink, by what was paid."""

    def paid_for(ctx: Any) -> None:
        for seat in ctx.players:
            bought = [lot for lot in ctx.G["sold"] if lot["buyer"] == seat]
            paid = sum(lot["bids"][seat] for lot in bought)
            assert ctx.G["purses"][seat] == PURSE - paid >= 0
            assert ctx.G["values"][seat] == sum(lot["value"] for lot in bought)

    check_game(game, invariants=[paid_for])
