"""Connect four, played by hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from hotseat.engine import Batch, Refusal, Session, create_session
from hotseat.engine.games.connect_four import game
from hotseat.engine.testing import random_playout


def played(columns: str) -> Session:
    """A match after these moves, the players alternating."""
    session = create_session(game, {"players": ["0", "1"]})
    for number, column in enumerate(columns):
        move = {"column": int(column)}
        answer = session.apply(str(number % 2), "drop", move, now=number)
        assert isinstance(answer, Batch), answer
    return session


@pytest.mark.parametrize(
    ("columns", "winner"),
    [
        ("0101010", "0"),  # upright
        ("0011223", "0"),  # level
        ("6001122435", None),  # level, with a hole
        ("01122323363", "0"),  # rising
        ("65544343303", "0"),  # falling
        ("5051520", None),
    ],
)
def test_four_in_a_line(columns: str, winner: str | None) -> None:
    """Four in a line win, in each direction, at the move that completes them."""
    assert played(columns[:-1]).result is None
    result = None if winner is None else {"winner": winner}
    assert played(columns).result == result


def test_winner_agrees_with_a_look_at_every_line() -> None:
    """The look around the last disc finds what a search of the whole board finds."""
    for seed in range(40):
        finished = random_playout(game, str(seed))
        columns = finished.snapshot.G["columns"]
        owners = {owner for line in lines() for owner in owners_of(columns, line)}
        expected = {"winner": owners.pop()} if owners else {"draw": True}
        assert finished.result == expected
        assert not owners, "two players with a line each"


def lines() -> Iterator[list[tuple[int, int]]]:
    """Every four places in a row."""
    for column, row, (across, up) in product(
        range(7), range(6), ((1, 0), (0, 1), (1, 1), (1, -1))
    ):
        yield [(column + across * i, row + up * i) for i in range(4)]


def owners_of(columns: Any, line: list[tuple[int, int]]) -> set[str]:
    """The one player who holds the whole line, if there is one."""
    discs = [
        columns[column][row]
        for column, row in line
        if 0 <= column < 7 and 0 <= row < len(columns[column])
    ]
    return set(discs) if len(discs) == 4 and len(set(discs)) == 1 else set()


def test_full_column_is_refused() -> None:
    """A column holds six discs."""
    answer = played("000000").apply("0", "drop", {"column": 0}, now=9)
    assert isinstance(answer, Refusal)
    assert (answer.reason, answer.details) == ("column_full", {"column": 0})


def test_full_board_is_a_draw() -> None:
    """Forty-two discs without a line are a draw."""
    session = played("123041432545152623511062312304536566600044")
    assert session.result == {"draw": True}
    assert session.snapshot.derived.control_meta.label == "Draw"


def test_move_shares_the_other_columns() -> None:
    """A move changes one column; the others are the same objects before and after."""
    session = played("12")
    before = session.snapshot.G["columns"]
    session.apply("0", "drop", {"column": 2}, now=3)
    after = session.snapshot.G["columns"]
    assert [i for i in range(7) if before[i] is not after[i]] == [2]
