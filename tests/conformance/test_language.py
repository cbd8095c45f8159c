"""The reader of the little language: values as JavaScript has them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from .language import (
    ScriptError,
    ScriptReject,
    evaluate,
    json_text,
    number_text,
    run,
    same,
    truthy,
)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (0.1, "0.1"),
        (100, "100"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (1e-6, "0.000001"),
        (1.25e-7, "1.25e-7"),
        (math.nan, "null"),
        (math.inf, "null"),
    ],
)
def test_numbers_print_as_in_javascript(number: float, text: str) -> None:
    """The text of a number is the one that the recordings were made with."""
    assert number_text(number) == text


def test_equality_is_of_json_text() -> None:
    """1 is 1.0 but not true; integer-like keys have one order, other keys their own."""
    assert same(1, 1.0)
    assert not same(1, True)
    assert same({"10": 0, "9": 1}, {"9": 1, "10": 0})
    assert not same({"a": 0, "b": 1}, {"b": 1, "a": 0})
    assert json_text({"b": [None, True], "1": "é"}) == '{"1":"é","b":[null,true]}'


def test_truthiness() -> None:
    """Empty lists and objects are true; null, false, 0 and empty text are not."""
    values: list[Any] = [None, False, 0, 0.0, "", [], {}, "0", 1]
    assert list(map(truthy, values)) == [False] * 5 + [True] * 4


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ({"$get": "G.list.1"}, "b"),
        ({"$get": "G.list.9"}, None),
        ({"$get": "G.no.where"}, None),
        ({"$get": ["G", {"$concat": ["li", "st"]}, 0]}, "a"),
        ({"$lit": {"$add": [1]}}, {"$add": [1]}),
        ({"$add": [1, {"$get": "G.missing"}, 2.5]}, 3.5),
        ({"$add": [2**53 - 1, 2]}, float(2**53)),
        ({"$sub": [1, 3]}, -2),
        ({"$mul": [3, 4]}, 12),
        ({"$mod": [-1, 3]}, 2),
        ({"$concat": ["a", 1.0, None, ["x"]]}, 'a1null["x"]'),
        ({"$eq": [{"$get": "G.missing"}, None]}, True),
        ({"$ne": ["1", 1]}, True),
        ({"$lt": [None, 1]}, True),
        ({"$le": [1, 1]}, True),
        ({"$gt": [None, 0]}, False),
        ({"$ge": [0, None]}, True),
        ({"$not": [0]}, False),
        ({"$not": 0}, True),
        ({"$and": [1, "x", []]}, True),
        ({"$and": [0, {"$throw": "not reached"}]}, False),
        ({"$or": [1, {"$throw": "not reached"}]}, True),
        ({"$if": [False, {"$throw": "not reached"}, "else"]}, "else"),
        ({"$len": "a😀"}, 3),
        ({"$len": [1, 2]}, 2),
        ({"$append": [[1], 2]}, [1, 2]),
        ({"$without": [[1, True, "1", 1.0], 1]}, [True, "1"]),
        ({"$in": [True, [1]]}, False),
        ({"$at": [["a"], 1]}, None),
        ({"$at": [["a"], -1]}, None),
        ({"$assoc": [{"$get": "G.missing"}, "k", 1]}, {"k": 1}),
        ({"$merge": [{"a": 1}, None, {"a": 2}]}, {"a": 2}),
        ({"$current_player": True}, "y"),
    ],
)
def test_expression(expression: Any, value: Any) -> None:
    """Every operator gives what the recordings' host gives."""
    scope = {
        "G": {"list": ["a", "b"]},
        "match": {"players": ["x", "y"]},
        "position": {"turn": 4},
    }
    assert evaluate(expression, scope) == value


def test_errors_of_the_author_pass_through() -> None:
    """`$throw` raises; so does what a host cannot do; an unknown operator is named."""
    with pytest.raises(ScriptError, match="boom"):
        evaluate({"$throw": "boom"}, {})
    with pytest.raises(TypeError):
        evaluate({"$at": [None, 0]}, {})
    with pytest.raises(ValueError, match=r"no operator '\$nope'"):
        evaluate({"$nope": [1]}, {})


def test_statements_run_in_order() -> None:
    """A body binds names, branches, and leaves at the first answer."""
    body: list[dict[str, Any]] = [
        {"let": ["n", {"$add": [{"$get": "G"}, 1]}]},
        {"when": {"$gt": [{"$get": "n"}, 5]}, "then": [{"reject": {"reason": "big"}}]},
        {
            "when": {"$eq": [{"$get": "n"}, 1]},
            "then": [{"no_match": "null"}],
            "else": [{"let": ["m", 7]}],
        },
        {"return": {"G": {"$get": "m"}}},
    ]
    assert run(body, {"G": 9}) == ScriptReject({"reason": "big"})
    assert run(body, {"G": 0}) is None
    assert run(body, {"G": 1}) == {"G": 7}
    assert run([{"return_raw": {"$bad": "undefined"}}], {}) is None
    assert run([{"return_raw": 0}], {}) == 0
    assert run([], {}) is None
