"""Crazy eights: what fits, what is drawn, and a pile that becomes the stock."""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.engine.context import StateContext
from hotseat.engine.games.crazy_eights import DECK, HAND, TURNS_MAX, game
from hotseat.engine.testing import ScriptedMatch, check_game, random_playout, script

from .standing import standing

HANDS = {"0": ["8H", "2C", "3C", "KD"], "1": ["2D", "9C"]}


def table(**changed: Any) -> ScriptedMatch:
    """A match of two in which everything is known: the jack of clubs is on top."""
    turn = changed.pop("turn", 1)
    G = {
        "hands": HANDS,
        "stock": ["4S", "5S"],
        "pile": ["JC"],
        "suit": "C",
        "drawn": False,
    }
    return standing(game, {**G, **changed}, state="play", turn=turn)


def no_card_is_lost(ctx: StateContext) -> None:
    """Once they are dealt, all 52 are somewhere."""
    hands = [card for hand in ctx.G["hands"].values() for card in hand]
    cards = [*hands, *ctx.G["stock"], *ctx.G["pile"]]
    assert sorted(cards) == (sorted(DECK) if ctx.position.name != "deal" else [])


def test_no_card_is_lost() -> None:
    """For two, three and four players."""
    check_game(game, seeds="abc", invariants=[no_card_is_lost])


def test_dealing_depends_on_the_seed_alone() -> None:
    """The same seed deals the same hands, another one others."""

    def hands(seed: str) -> Any:
        return script(game, seed=seed).play("0", "deal").session.snapshot.G["hands"]

    assert hands("a") == hands("a") != hands("b")
    assert [len(hand) for hand in hands("a").values()] == [HAND] * 4


def test_what_fits_may_be_played() -> None:
    """The suit, the rank, or an eight that names a suit."""
    match = table()
    match.refused("0", "play", {"card": "KD"}, reason="does_not_fit")
    match.refused("0", "play", {"card": "2D"}, reason="not_in_your_hand")
    match.refused("0", "play", {"card": "8H"}, reason="name_a_suit")
    match.refused(
        "0", "play", {"card": "2C", "suit": "C"}, reason="only_an_eight_names_a_suit"
    )
    match.play("0", "play", {"card": "2C"}).sees(None, {"top": "2C", "suit": "C"})
    match.play("1", "play", {"card": "2D"}).sees(None, {"top": "2D", "suit": "D"})
    match.play("0", "play", {"card": "8H", "suit": "C"})
    match.sees(None, {"top": "8H", "suit": "C"})
    match.play("1", "play", {"card": "9C"}).expect(result={"winner": "1"})


def test_one_card_is_drawn_before_a_pass() -> None:
    """Then one may play or pass."""
    match = table().refused("0", "pass", reason="draw_first").play("0", "draw")
    match.sees("0", {"myHand": [*HANDS["0"], "5S"], "stock": 1, "toMove": "0"})
    match.sees("1", {"myHand": HANDS["1"], "cards": {"0": 5, "1": 2}})
    match.refused("0", "draw", reason="already_drawn")
    match.play("0", "pass").expect(active=["1"])


def test_the_pile_becomes_the_stock() -> None:
    """All but its top, shuffled, when the stock is empty."""
    pile = ["3S", "4S", "5S", "6S", "JC"]
    match = table(stock=[], pile=pile).play("0", "draw")
    G = match.session.snapshot.G
    assert sorted([*G["stock"], G["hands"]["0"][-1]]) == sorted(pile[:-1])
    match.sees(None, {"top": "JC", "pile": 1, "stock": 3})


def test_with_nothing_to_draw_one_may_pass() -> None:
    """Even with a card that fits."""
    match = table(stock=[]).refused("0", "draw", reason="nothing_to_draw")
    match.play("0", "pass").expect(active=["1"])


@pytest.mark.parametrize(
    ("hands", "result"),
    [
        (HANDS, {"winner": "1"}),
        ({"0": ["4D"], "1": ["5D"]}, {"draw": True}),
    ],
)
def test_the_fewest_cards_win_when_the_turns_run_out(hands: Any, result: Any) -> None:
    """So that every match ends."""
    match = table(turn=TURNS_MAX, stock=[], hands=hands)
    match.play("1", "pass").expect(state="over", result=result)


def test_reshuffles_happen_in_play() -> None:
    """Random matches come to the end of the stock."""

    draws = [random_playout(game, str(n)).snapshot.meta.rng.draws for n in range(40)]
    assert max(draws) > min(draws) == len(DECK) - 1
