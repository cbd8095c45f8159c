"""Reversi: what a disc turns, and who must pass."""

from __future__ import annotations

import pytest

from hotseat.engine.games.reversi import game, opening, render, turned_by
from hotseat.engine.testing import random_playout, script

from .standing import standing


def board_of(drawn: str) -> list[str | None]:
    return [None if cell == "." else cell for cell in drawn if cell in "BW."]


EDGE = board_of(
    """
    . W B . . . . .
    . . . . . . . .
    """
    + ". . . . . . . .\n" * 6
)

# White cannot move: black's only neighbours are at the edge. Black can, at 3 and 8.
MUST_PASS = board_of("B W . . . . . B" + ". . . . . . . ." * 7)


def test_the_opening_has_four_moves() -> None:
    """The first player's discs are black."""
    match = script(game).expect(active=["0"], label="B to move")
    cells = [payload["cell"] for _, payload in match.session.legal_actions("0")]
    assert cells == [19, 26, 37, 44]


def test_discs_in_between_are_turned() -> None:
    """In every direction, up to the next disc of one's own."""
    board = board_of(
        """
        . . . . . . . .
        . B . B . B . .
        . . W W W . . .
        . B W . W B . .
        . . W W W . . .
        . B . B . B . .
        . . . . . . . .
        . . . . . . . W
        """
    )
    assert sorted(turned_by(board, 27, "B")) == [18, 19, 20, 26, 28, 34, 35, 36]
    assert turned_by(EDGE, 0, "B") == [1]
    assert turned_by(EDGE, 0, "W") == []
    assert turned_by(EDGE, 3, "W") == [2]


def test_a_move_must_turn_a_disc() -> None:
    """On a free cell."""
    match = script(game)
    match.refused("0", "place", {"cell": 27}, reason="cell_taken")
    match.refused("0", "place", {"cell": 0}, reason="turns_no_disc")
    match.refused("0", "pass", reason="you_can_move")
    match.play("0", "place", {"cell": 19}).sees(None, {"count": {"0": 4, "1": 1}})


def test_who_cannot_move_passes() -> None:
    """And the other goes on; the match is over when neither can."""
    match = standing(game, {"board": MUST_PASS}, state="play", turn=2)
    assert match.session.legal_actions("1") == [("pass", None)]
    match.refused("1", "place", {"cell": 9}, reason="turns_no_disc").play("1", "pass")
    match.play("0", "place", {"cell": 2})
    match.expect(state="over", result={"winner": "0"}, label="B has won")


@pytest.mark.parametrize("seed", "abc")
def test_the_board_is_drawn(seed: str) -> None:
    """Eight rows of eight."""
    rows = render(random_playout(game, seed).public_view()).splitlines()
    assert [len(row.split()) for row in rows] == [8] * 8
    assert len(opening()) == 64
