"""Typed payloads: what does not fit is refused with path, expectation and value."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Raw, Struct

from hotseat.engine import (
    Batch,
    DefinitionError,
    Game,
    Refusal,
    create_session,
    define_game,
    event,
    state,
    transition,
)

LONG = "x" * 99


class Cell(Struct, forbid_unknown_fields=True):
    row: Annotated[int, Meta(ge=0, le=2)]
    column: int = 0
    colour: Literal["black", "white"] = "black"


class Place(Struct, tag="place"):
    cell: Cell


class Resign(Struct, tag="resign"):
    why: str | None


class Suit(Enum):
    CLUBS = "clubs"
    HEARTS = "hearts"


class Even(Struct):
    n: int

    def __post_init__(self) -> None:
        if self.n % 2:
            raise ValueError("n must be even")


def game(payload: Any) -> Game:
    return define_game(
        name="typed",
        max_players=1,
        events={"go": event(payload)},
        states={"play": state(active_players=["0"])},
        initial="play",
        setup=lambda ctx: None,
        transitions=[transition("go", "play", "play", lambda ctx: {})],
    )


def answer(kind: Any, payload: Any) -> Batch | Refusal:
    session = create_session(game(kind), {"players": ["0"]})
    return session.apply("0", "go", payload, now=1)


@pytest.mark.parametrize(
    ("kind", "payload", "path", "expected", "got"),
    [
        (int, "3", "$", "int", "str"),
        (int, None, "$", "int", "null"),
        (Cell, [1], "$", "object", "array"),
        (Cell, {}, "$.row", "int", "nothing"),
        (Cell, {"row": 3}, "$.row", "int <= 2", "3"),
        (Cell, {"row": 1.5}, "$.row", "int", "float"),
        (
            Cell,
            {"row": 1, "colour": "red"},
            "$.colour",
            'one of "black", "white"',
            '"red"',
        ),
        (
            Cell,
            {"row": 1, "col": 2},
            "$.col",
            'no such field (there are "row", "column", "colour")',
            "2",
        ),
        (list[Cell], [{"row": 1}, {"row": -1}], "$[1].row", "int >= 0", "-1"),
        (list[Cell], [{}], "$[0].row", "int", "nothing"),
        (tuple[int, str], [1], "$", "array of length 2", "length 1"),
        (tuple[int, str], [1, 2], "$[1]", "str", "int"),
        (dict[str, int], {"a": 1, "b": "x"}, "$.b", "int", "str"),
        (
            dict[str, Cell],
            {"a": {"row": 1}, "b": {"row": []}},
            "$.b.row",
            "int",
            "array",
        ),
        (dict[str, Cell], {"a": {"row": 9}}, "$.a.row", "int <= 2", "9"),
        (
            dict[str, Suit],
            {"a": "clubs", "b": "x"},
            "$[...]",
            'one of "clubs", "hearts"',
            "another value",
        ),
        (dict[int, int], {"x": 1}, "$", "a key that is int", '"x"'),
        (
            Place | Resign,
            {"type": "pass"},
            "$.type",
            'one of "place", "resign"',
            '"pass"',
        ),
        (Place | Resign, {"type": "resign"}, "$.why", "str | null", "nothing"),
        (
            Place | Resign,
            {"type": "place", "cell": {"row": "a"}},
            "$.cell.row",
            "int",
            "str",
        ),
        (int | str, [1, 2], "$", "int | str", "array"),
        (Suit, "spades", "$", 'one of "clubs", "hearts"', '"spades"'),
        (
            Annotated[str, Meta(max_length=2)],
            LONG,
            "$",
            "str of length <= 2",
            f'"{LONG[:59]}...',
        ),
        (
            Annotated[list[int], Meta(max_length=1)],
            [1, 2],
            "$",
            "array of length <= 1",
            "array of length 2",
        ),
        (Even, {"n": 3}, "$", "n must be even", "object of length 1"),
    ],
)
def test_payload_that_does_not_fit(
    kind: Any, payload: Any, path: str, expected: str, got: str
) -> None:
    """The refusal says where, what was expected, and what was there instead."""
    refusal = answer(kind, payload)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "invalid_payload"
    assert refusal.details == {"path": path, "expected": expected, "got": got}
    assert refusal.message == f"go: at {path}, expected {expected}, got {got}"


def test_payload_that_fits_is_converted() -> None:
    """The resolver sees the declared type, with its defaults."""
    seen: list[Any] = []
    base = game(Cell)
    watching = define_game(
        name="typed",
        max_players=1,
        events=base.events,
        states=base.states,
        initial="play",
        setup=base.setup,
        transitions=[transition("go", "play", "play", lambda c: seen.append(c.event))],
    )
    session = create_session(watching, {"players": ["0"]})
    session.apply("0", "go", {"row": 2}, now=1)
    assert seen[0].payload == Cell(2, 0, "black")


class Hostile(Struct):
    n: int

    def __post_init__(self) -> None:
        raise LookupError("the author's mistake")


def test_type_that_fails_is_told_to_the_operator_alone() -> None:
    """An exception of the type's own code is a fault, and no part of the answer."""
    refusal = answer(Hostile, {"n": 1})
    assert isinstance(refusal, Refusal)
    assert refusal.code == "invalid_payload"
    assert "mistake" not in refusal.message
    assert refusal.fault is not None
    assert "the author's mistake" in refusal.fault.message


class Opaque:
    """A class that msgspec does not know."""


class Holds(Struct):
    own: list[Holds]
    inner: Opaque | None = None


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (Opaque, "Opaque is a plain class"),
        (list[Opaque], "Opaque is a plain class"),
        (dict[str, tuple[int, Opaque]], "Opaque is a plain class"),
        (Holds, "Opaque is a plain class"),
        (Callable[[], int], "Callable is a plain class"),
        (list[Raw], "a payload is JSON"),
        (list["Nowhere"], "not supported"),  # type: ignore[name-defined] # noqa: F821
    ],
)
def test_type_that_no_payload_fits_is_refused_where_it_is_declared(
    payload: Any, why: str
) -> None:
    """However deep inside the type it is, what msgspec cannot judge is told at once."""
    with pytest.raises(DefinitionError, match=why):
        event(payload)


@pytest.mark.parametrize("payload", [set[str], dict[str, frozenset[str]]])
def test_payloads_are_no_sets(payload: Any) -> None:
    """A set is listed in another order in each process, so no payload becomes one."""
    with pytest.raises(DefinitionError, match=r"write list\[\.\.\.\]"):
        event(payload)


def test_keys_that_are_declared_as_numbers_become_numbers() -> None:
    """JSON has only strings for keys; the record keeps them, the resolver does not."""
    seen: list[Any] = []
    played = define_game(
        name="typed",
        max_players=1,
        events={"go": event(dict[int, str])},
        states={"play": state(active_players=["0"])},
        initial="play",
        setup=lambda ctx: None,
        transitions=[
            transition("go", "play", "play", lambda ctx: seen.append(ctx.event.payload))
        ],
    )
    session = create_session(played, {"players": ["0"]})
    session.apply("0", "go", {"1": "a"}, now=1)
    assert seen == [{1: "a"}]
