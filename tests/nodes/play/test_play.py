"""What `hotseat play` shows and understands, without a terminal."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct

from hotseat.engine import event, views
from hotseat.engine.games.connect_four import game as connect_four
from hotseat.engine.games.connect_four import render as render_connect_four
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.engine.games.tic_tac_toe import render as render_tic_tac_toe
from hotseat.engine.testing import random_playout
from hotseat.nodes.client.outcome import Refusal
from hotseat.nodes.operator_error import OperatorError
from hotseat.nodes.play.command import sitters
from hotseat.nodes.play.local_table import LocalTable
from hotseat.nodes.play.show import (
    action_text,
    payload_text,
    pretty,
    refusal_text,
    safe,
    step_text,
)
from hotseat.nodes.play.typed import Act, Command, Unclear, read_typed

from ...engine.samples import one_state


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        (None, ["-"]),
        (True, ["true"]),
        (1.5, ["1.5"]),
        ("rock", ["rock"]),
        ("", ['""']),
        ("-", ['"-"']),
        (" padded ", ['" padded "']),
        ({}, ["{}"]),
        ([], ["[]"]),
        ([1, 2, 3], ["1, 2, 3"]),
        ({"left": 21, "last": None}, ["left: 21", "last: -"]),
        ({"hand": [1, 2], "none": []}, ["hand: 1, 2", "none: (none)"]),
        ({"scores": {"0": 3, "1": 4}}, ["scores: {0: 3, 1: 4}"]),
        ([[1, None], [10, 2]], ["1  .", "10 2"]),
        ({"board": [["x", "o"], ["o", "x"]]}, ["board:", "  x o", "  o x"]),
        ([{"a": 1}, {"a": 2}], ["- a: 1", "- a: 2"]),
        ({"deep": {"more": {"a": [1]}}}, ["deep:", "  more:", "    a: 1"]),
    ],
)
def test_values_are_laid_out_for_people(value: Any, lines: list[str]) -> None:
    """Any JSON, in few lines."""
    assert pretty(value) == lines


def test_a_long_list_is_broken_into_lines() -> None:
    """Nothing runs out of the screen for want of a line break."""
    lines = pretty({"words": ["word" * 5] * 9})
    assert len(lines) == 10
    assert max(map(len, lines)) < 80


@pytest.mark.parametrize("evil", ["\x1b[2J", "a\rb", "\u202egnp", "\x9b31m", "\x00"])
def test_nothing_of_a_match_can_steer_the_terminal(evil: str) -> None:
    """Another player's words are shown, not obeyed."""
    refusal = Refusal("invalid_event", evil, evil, {evil: evil})
    shown = [
        safe(evil, lines=True),
        action_text(evil, evil),
        refusal_text(refusal),
        *pretty({evil: [evil, {evil: evil}]}),
    ]
    bad = {"\x1b", "\r", "\u202e", "\x9b", "\x00"}
    assert not any(bad & set(text) for text in shown)


def test_a_refused_shape_is_told_once() -> None:
    """What a payload lacks stands in the message; the details repeat it for code."""
    message = "take: at $, expected int, got str"
    details = {"path": "$", "expected": "int", "got": "str"}
    refusal = Refusal("invalid_payload", message, None, details)
    assert refusal_text(refusal) == f"refused: {message} [invalid_payload]"


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("1", Act("take", 1)),
        (" 2 ", Act("pass", None)),
        ("take 3", Act("take", 3)),
        ('take {"n": [1]}', Act("take", {"n": [1]})),
        ("pass", Act("pass", None)),
        ("log", Act("log", None)),
        (":log", Command("log")),
        ("help", Command("help")),
        ("quit", Command("quit")),
    ],
)
def test_what_is_typed_is_a_choice_an_event_or_a_command(
    line: str, meant: object
) -> None:
    """An event hides a command of the same name."""
    choices = [("take", 1), ("pass", None)]
    assert read_typed(line, choices, ["take", "pass", "log"]) == meant


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "type a number"),
        ("0", "1 to 2"),
        ("3", "1 to 2"),
        ("1 2", "1 to 2"),
        ("9" * 5000, "1 to 2"),
        ("take three", 'write take 3, take "text"'),
        ("tkae 3", 'Did you mean "take"?'),
        ("hepl", 'Did you mean "help"?'),
        ("help me", "help stands alone"),
        ("\x1b[A", "help shows what there is"),
        ("take " + "[" * 100_000, "is not JSON"),
    ],
)
def test_what_cannot_be_meant_is_answered_with_what_to_type(
    line: str, said: str
) -> None:
    """Never an exception, whatever is typed."""
    answer = read_typed(line, [("take", 1), ("pass", None)], ["take", "pass"])
    assert isinstance(answer, Unclear)
    assert said in answer.message
    assert "\x1b" not in answer.message


class Place(Struct):
    """A payload."""

    cell: int


def test_payloads_are_described_by_their_type() -> None:
    """Help says what may follow an event."""
    assert payload_text(event(int)) == "int"
    assert payload_text(event(list[int])) == "list[int]"
    assert payload_text(event(Place)) == '{"cell": int}'
    assert payload_text(event(type(None))) == ""
    assert payload_text(event()) == "[any JSON]"


def test_steps_are_told_as_far_as_they_may_be_known() -> None:
    """A hidden payload is called hidden; a step redacted by the game is shown as is."""
    action = {"type": "event", "event": "bid", "player_id": "1"}
    assert step_text({"event": action}) == "1: bid (hidden)"
    assert step_text({"event": {**action, "payload": 3}}) == "1: bid 3"
    assert step_text({"event": action}, but_of="1") == ""
    assert step_text({"event": {**action, "type": "timeout"}}) == "time ran out"
    assert step_text({"event": {**action, "type": "internal"}}) == "then bid (hidden)"
    assert step_text({"what": "ever"}) == "{what: ever}"


@pytest.mark.parametrize(
    ("asked", "sits"),
    [
        ([], {"0": "human", "1": "bot"}),
        (["1=human"], {"0": "human", "1": "human"}),
        (["0=bot"], {"0": "bot", "1": "bot"}),
        (["1=human", "0=bot"], {"0": "bot", "1": "human"}),
    ],
)
def test_seats_that_nobody_asks_for_have_a_default(
    asked: list[str], sits: dict[str, str]
) -> None:
    """The first seat is yours, the others are bots'."""
    assert sitters(tic_tac_toe, asked) == sits
    assert list(sitters(tic_tac_toe, asked)) == ["0", "1"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["2=bot"], "tic-tac-toe has the seats 0, 1"),
        (["0"], "--seat 0=human or --seat 0=bot"),
        (["0=cat"], "--seat 0=human or --seat 0=bot"),
        (["0=bot", "0=human"], "given twice"),
    ],
)
def test_a_wrong_seat_is_a_usage_error(asked: list[str], said: str) -> None:
    """It says what to write."""
    with pytest.raises(OperatorError, match="invalid_seat") as caught:
        sitters(tic_tac_toe, asked)
    assert said in caught.value.message
    assert caught.value.exit_code == 2


def test_boards_of_shipped_games_are_drawn() -> None:
    """Every view of a match can be drawn, as a board of the right size."""
    board = render_tic_tac_toe(random_playout(tic_tac_toe, "r").player_view("0"))
    assert [len(row.split()) for row in board.splitlines()] == [3, 3, 3]
    board = render_connect_four(random_playout(connect_four, "r").public_view())
    assert [len(row.split()) for row in board.splitlines()] == [7] * 7
    assert board.splitlines()[-1] == "0 1 2 3 4 5 6"


async def test_a_failing_view_tells_the_author_where() -> None:
    """In a local match it is the author who plays."""
    game = one_state(
        lambda ctx: {"G": {"sum": 1}},
        setup={"sum": 0},
        views=views(public=lambda ctx: {"share": 1 / (1 - ctx.G["sum"])}),
    )
    table = LocalTable(game, ["0", "1"], "s")
    assert (await table.look("1")).view == {"share": 1}
    assert await table.act("0", "go", None) is None
    with pytest.raises(OperatorError) as caught:
        await table.look("0")
    assert caught.value.code == "view_error"
    assert "ZeroDivisionError" in caught.value.message
    assert __file__ in caught.value.message
