"""The reader of recipes: JavaScript that changes a draft."""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.engine.errors import ProfileDraftError
from hotseat.engine.profile_draft import draft_profile

from .outcome import Skip
from .recipe import read_recipe

PROFILE = {"wins": 1, "items": ["a", "b"], "deep": {"n": 1, "grid": [[1], [2]]}}


def recorded(text: str) -> list[tuple[Any, ...]]:
    """What a recipe records, one tuple for an operation."""
    delta = draft_profile(PROFILE, read_recipe(text))
    return [
        (op["op"], op["path"], *([op["value"]] if "value" in op else []))
        for op in delta
    ]


@pytest.mark.parametrize(
    ("text", "operations"),
    [
        ("d.deep.n -= 2", [("set", ["deep", "n"], -1)]),
        ("d.wins++; d.wins--", [("set", ["wins"], 2), ("set", ["wins"], 1)]),
        ("d['wins'] = d.deep.n + 5 - 1", [("set", ["wins"], 5)]),
        (
            "d.items[0] = {a: [1.5, true, null], 'b c': \"x\"};",
            [("set", ["items", 0], {"a": [1.5, True, None], "b c": "x"})],
        ),
        ("d.deep.grid[1].push(-3)", [("push", ["deep", "grid", 1], -3)]),
        ("d.items[d.items.length - 1] = 'z'", [("set", ["items", 1], "z")]),
        (
            "d.items.splice(1, 5); delete d.deep.n",
            [("remove", ["items", 1]), ("remove", ["deep", "n"])],
        ),
        ("d.items.shift() x3", [("remove", ["items", 0])] * 2),
        ("(nothing)", []),
    ],
)
def test_recipe(text: str, operations: list[tuple[Any, ...]]) -> None:
    """Each form of statement does to a draft what it says."""
    assert recorded(text) == operations


@pytest.mark.parametrize(
    "call",
    [
        "sort()",
        "reverse()",
        "unshift(1)",
        "fill(0)",
        "copyWithin(0, 1)",
        "splice(0,0,1)",
    ],
)
def test_recipe_that_no_delta_can_say(call: str) -> None:
    """What cannot be recorded is an error of the draft, as in the recording."""
    with pytest.raises(ProfileDraftError):
        recorded(f"d.items.{call}")


@pytest.mark.parametrize(
    "text",
    [
        "d.wins **= 2",
        "d.items.flat()",
        "if (d.wins) d.wins = 0",
        "d.items[7] = 1",
        "d.",
        "d.wins = new Map()",
    ],
)
def test_recipe_beyond_the_language_is_skipped(text: str) -> None:
    """More JavaScript than the reader knows is told apart from a failing case."""
    with pytest.raises(Skip):
        recorded(text)
