"""Tic-tac-toe, played by hand."""

from __future__ import annotations

import pytest

from hotseat.engine import Batch, Refusal, Session, create_session
from hotseat.engine.games.tic_tac_toe import game


def played(*cells: int) -> Session:
    """A match after these moves, the players alternating."""
    session = create_session(game, {"players": ["0", "1"]})
    for number, cell in enumerate(cells):
        answer = session.apply(str(number % 2), "place", {"cell": cell}, now=number)
        assert isinstance(answer, Batch), answer
    return session


def test_line_wins() -> None:
    """Three in a line end the match."""
    session = played(0, 3, 1, 4, 2)
    assert session.result == {"winner": "0"}
    assert session.snapshot.derived.control_meta.label == "X has won"
    answer = session.apply("1", "place", {"cell": 8}, now=9)
    assert isinstance(answer, Refusal)
    assert answer.code == "game_over"


def test_full_board_is_a_draw() -> None:
    """A full board without a line is a draw."""
    session = played(0, 1, 2, 4, 3, 5, 7, 6, 8)
    assert session.result == {"draw": True}
    assert session.snapshot.derived.control_meta.label == "Draw"


def test_last_cell_may_win() -> None:
    """A line that fills the board wins, and is no draw."""
    assert played(0, 1, 2, 3, 4, 5, 7, 6, 8).result == {"winner": "0"}


def test_taken_cell_is_refused_with_its_place() -> None:
    """A taken cell is refused with a reason and the cell."""
    answer = played(4).apply("1", "place", {"cell": 4}, now=1)
    assert isinstance(answer, Refusal)
    assert (answer.reason, answer.details) == ("cell_taken", {"cell": 4})


def test_views_show_the_board_and_who_is_to_move() -> None:
    """Both see the board; a seat also sees which seat it is."""
    session = played(4)
    board = [None, None, None, None, "X", None, None, None, None]
    shown = {"board": board, "marks": {"0": "X", "1": "O"}, "toMove": "1"}
    assert session.public_view() == shown
    assert session.player_view("1") == {**shown, "myPlayerID": "1"}
    assert played(0, 3, 1, 4, 2).public_view()["toMove"] is None


@pytest.mark.parametrize("seats", [["1", "0"], ["0", "1"]])
def test_first_seat_of_the_match_is_x(seats: list[str]) -> None:
    """Whoever sits first moves first and plays X."""
    session = create_session(game, {"players": seats})
    assert session.snapshot.derived.active_players == [seats[0]]
    session.apply(seats[0], "place", {"cell": 0}, now=1)
    assert session.public_view()["board"][0] == "X"
