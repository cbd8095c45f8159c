"""Values that cannot be changed."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections import OrderedDict
from collections.abc import Callable
from enum import IntEnum, StrEnum
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.engine import (
    FDict,
    FList,
    FrozenError,
    InvalidJsonValueError,
    TooDeepError,
    freeze,
    thaw,
)
from hotseat.engine.limits import NESTING_MAX, SAFE_INT_MAX

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-SAFE_INT_MAX, SAFE_INT_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=20,
)


def nested(levels: int) -> Any:
    """A list inside a list, so many of them."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@given(JSON)
def test_freezing_keeps_the_value(value: Any) -> None:
    """A frozen value equals the plain one, and thawing gives it back."""
    frozen = freeze(value)
    assert value == frozen
    assert value == thaw(frozen)


@given(JSON)
def test_freezing_is_idempotent_and_shares(value: Any) -> None:
    """What is frozen already is kept as the same object, at the top and inside."""
    frozen = freeze(value)
    assert freeze(frozen) is frozen
    around = freeze({"a": frozen, "b": [frozen]})
    assert around["a"] is frozen or not isinstance(frozen, (dict, list))
    assert around["b"][0] is around["a"]


@given(JSON)
def test_every_encoder_writes_a_frozen_value_like_the_plain_one(value: Any) -> None:
    """json, msgpack and msgspec need no help, and read back what was frozen."""
    frozen = freeze(value)
    plain = thaw(frozen)
    assert json.dumps(plain) == json.dumps(frozen)
    assert msgpack.packb(plain) == msgpack.packb(frozen)
    assert msgspec.json.encode(plain) == msgspec.json.encode(frozen)
    assert freeze(json.loads(json.dumps(frozen))) == frozen


@given(JSON)
def test_pickling_gives_a_frozen_value_again(value: Any) -> None:
    """A frozen value crosses a process boundary and stays frozen."""
    frozen = freeze(value)
    again = pickle.loads(pickle.dumps(frozen))
    assert again == frozen
    assert type(again) is type(frozen)
    assert freeze(again) is again


def test_copies_are_plain() -> None:
    """Whoever copies wants to change: copies of all kinds are plain values."""
    frozen = freeze({"a": [1, {"b": 2}]})
    assert type(copy.copy(frozen)) is dict
    assert type(frozen.copy()) is dict
    deep = copy.deepcopy(frozen)
    deep["a"][1]["b"] = 3
    assert frozen == {"a": [1, {"b": 2}]}
    assert type(frozen["a"][:1]) is list
    assert type(frozen | {"c": 1}) is dict


def _iadd(x: Any) -> None:
    x += [1]


def _imul(x: Any) -> None:
    x *= 2


def _ior(x: Any) -> None:
    x |= {"b": 1}


DICT_MUTATIONS: list[Callable[[Any], object]] = [
    lambda x: x.__setitem__("b", 1),
    lambda x: x.__delitem__("a"),
    lambda x: x.clear(),
    lambda x: x.pop("a"),
    lambda x: x.popitem(),
    lambda x: x.setdefault("b", 1),
    lambda x: x.update(b=1),
    lambda x: x.__init__({"b": 1}),
    lambda x: setattr(x, "b", 1),
    lambda x: delattr(x, "a"),
    _ior,
]
LIST_MUTATIONS: list[Callable[[Any], object]] = [
    lambda x: x.__setitem__(0, 1),
    lambda x: x.__setitem__(slice(None), []),
    lambda x: x.__delitem__(0),
    lambda x: x.append(1),
    lambda x: x.clear(),
    lambda x: x.extend([1]),
    lambda x: x.insert(0, 1),
    lambda x: x.pop(),
    lambda x: x.remove(1),
    lambda x: x.reverse(),
    lambda x: x.sort(),
    lambda x: x.__init__([1]),
    lambda x: setattr(x, "b", 1),
    _iadd,
    _imul,
]


@pytest.mark.parametrize("mutate", DICT_MUTATIONS)
def test_a_frozen_dict_refuses_every_change(mutate: Callable[[Any], object]) -> None:
    """Each mutator raises a TypeError that says what to write instead."""
    frozen = freeze({"a": 1})
    with pytest.raises(FrozenError, match=r"\{\*\*old, key: value\}") as caught:
        mutate(frozen)
    assert isinstance(caught.value, TypeError)
    assert frozen == {"a": 1}


@pytest.mark.parametrize("mutate", LIST_MUTATIONS)
def test_a_frozen_list_refuses_every_change(mutate: Callable[[Any], object]) -> None:
    """Each mutator raises a TypeError that says what to write instead."""
    frozen = freeze([1, 2])
    with pytest.raises(FrozenError, match=r"\[\*old, item\]"):
        mutate(frozen)
    assert frozen == [1, 2]


def test_no_mutator_is_forgotten() -> None:
    """Whatever dict and list can do beyond reading, the frozen classes override."""
    readers = {
        *("__class_getitem__", "__contains__", "__eq__", "__format__", "__ge__"),
        *("__getattribute__", "__getitem__", "__getstate__", "__gt__", "__iter__"),
        *("__le__", "__len__", "__lt__", "__ne__", "__new__", "__or__", "__repr__"),
        *("__reversed__", "__ror__", "__sizeof__", "__str__", "__add__", "__mul__"),
        *("__rmul__", "__dir__", "__subclasshook__", "__init_subclass__"),
        *("__reduce__", "__hash__", "__class__", "__doc__"),
        *("copy", "fromkeys", "get", "items", "keys", "values", "count", "index"),
    }
    for frozen, plain in ((FDict, dict), (FList, list)):
        inherited = {name for name in dir(plain) if name not in vars(frozen)}
        assert inherited <= readers


def test_only_freeze_makes_frozen_containers() -> None:
    """An author cannot smuggle unchecked children in through the class itself."""
    made = type(freeze({}))
    attempts: list[Callable[[], object]] = [
        lambda: made({"a": {1, 2}}),
        lambda: made.fromkeys(["a"], {1}),
        lambda: FList([{1, 2}]),
    ]
    for attempt in attempts:
        with pytest.raises(FrozenError):
            attempt()


def test_nothing_aliases_the_callers_containers() -> None:
    """A later change of what was frozen does not reach the frozen value."""
    inner = [1]
    given_value = {"a": inner, "b": ({"c": inner},)}
    frozen = freeze(given_value)
    inner.append(2)
    given_value["d"] = inner
    assert frozen == {"a": [1], "b": [{"c": [1]}]}


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    BIG = 3


def test_subclasses_are_stored_as_plain_values() -> None:
    """Enum members, ordered dicts and tuples become the JSON they stand for."""
    frozen = freeze(
        OrderedDict([(Colour.RED, Size.BIG), ("t", (1, 2)), ("c", Colour.RED)])
    )
    assert frozen == {"red": 3, "t": [1, 2], "c": "red"}
    assert [type(key) for key in frozen] == [str, str, str]
    assert type(frozen["red"]) is int
    assert type(frozen["c"]) is str


@pytest.mark.parametrize(
    ("value", "stored"),
    [(1.0, 1), (-0.0, 0), (float(SAFE_INT_MAX), SAFE_INT_MAX), (-3.0, -3)],
)
def test_integral_floats_become_integers(value: float, stored: int) -> None:
    """A trip through JSON or JavaScript changes nothing."""
    for frozen in (freeze(value), freeze([value])[0], freeze({"a": value})["a"]):
        assert type(frozen) is int
        assert stored == frozen
        assert math.copysign(1, frozen) == math.copysign(1, stored)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (math.nan, "$"),
        ([1, math.inf], "$[1]"),
        ({"a": {"b": [0, {1, 2}]}}, "$.a.b[1]"),
        ({"a": object()}, "$.a"),
        ({"a": {1: 2}}, "$.a.?"),
        ([SAFE_INT_MAX + 1], "$[0]"),
        ({"n": -SAFE_INT_MAX - 1}, "$.n"),
        ({"s": "\ud800"}, "$.s"),
        ({"a": {"\udfff": 1}}, "$.a.\\udfff"),
        (b"bytes", "$"),
        ({"big": 1e300 * 10**10}, "$.big"),
    ],
)
def test_what_is_not_json_is_refused_with_its_path(value: Any, path: str) -> None:
    """The error names the very place."""
    if path == "$.big":
        value = {"big": 10**400}
    with pytest.raises(InvalidJsonValueError) as caught:
        freeze(value, label="G")
    assert path == caught.value.path
    assert str(caught.value).startswith(f"G is not JSON at {path}: ")


def test_keys_that_become_equal_are_refused() -> None:
    """Two keys of which only one could be stored are a mistake."""

    class Odd(str):
        __slots__ = ()

        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            return self is other

    with pytest.raises(InvalidJsonValueError, match="twice"):
        freeze({Odd("a"): 1, "a": 2})


def test_nesting_is_allowed_up_to_the_limit_and_no_further() -> None:
    """The 64th container is fine, the 65th is too deep."""
    freeze(nested(NESTING_MAX))
    with pytest.raises(TooDeepError) as caught:
        freeze(nested(NESTING_MAX + 1))
    assert caught.value.code == "too_deep"


def test_frozen_parts_count_toward_the_nesting() -> None:
    """Wrapping the old value at every step cannot grow beyond the limit."""
    value = freeze([])
    for _ in range(NESTING_MAX - 1):
        value = freeze({"old": value})
    for around in ({"old": value}, [value], {"a": 1, "b": [[], value]}):
        with pytest.raises(TooDeepError):
            freeze(around)


@pytest.mark.parametrize("kind", [list, dict])
def test_deep_and_cyclic_values_are_too_deep_and_nothing_worse(kind: type) -> None:
    """20,000 levels and a value inside itself end in the same clear error."""
    deep: Any = 0
    for _ in range(20_000):
        deep = [deep] if kind is list else {"a": deep}
    cyclic: Any = kind()
    if kind is list:
        cyclic.append(cyclic)
    else:
        cyclic["me"] = cyclic
    for value in (deep, cyclic):
        with pytest.raises(TooDeepError):
            freeze(value)


WIDE = st.lists(JSON, min_size=16, max_size=40)


@given(WIDE, st.data())
def test_wide_containers_keep_the_same_promises(
    value: list[Any], data: st.DataObject
) -> None:
    """Width is an occasion for speed, never for another result."""
    at = data.draw(st.integers(0, len(value) - 1))
    new = data.draw(JSON)
    named = {f"k{n}": child for n, child in enumerate(value)}
    rows, cells = freeze([[child] for child in value]), freeze(named)
    for changed, old, place in (
        ([*rows[:at], [new], *rows[at + 1 :]], rows, at),
        ({**cells, f"k{at}": new}, cells, f"k{at}"),
    ):
        frozen: Any = freeze(changed)
        assert thaw(changed) == thaw(frozen)
        places = frozen if isinstance(frozen, dict) else range(len(frozen))
        for other in places:
            assert other == place or frozen[other] is old[other]
        assert freeze([frozen])[0] is frozen
        assert isinstance(frozen[at] if old is rows else 0, (FList, int))


@pytest.mark.parametrize("bad", [{1, 2}, math.nan, [{1}], SAFE_INT_MAX + 1, "\ud800"])
def test_one_bad_child_among_many_is_found(bad: Any) -> None:
    """In a wide container too the path leads to the very child."""
    rows = freeze([[n] for n in range(40)])
    for place, value in (
        ("$[20]", [*rows[:20], bad, *rows[21:]]),
        ("$.k20", {f"k{n}": bad if n == 20 else row for n, row in enumerate(rows)}),
    ):
        with pytest.raises(InvalidJsonValueError) as caught:
            freeze(value)
        assert caught.value.path.startswith(place)


def test_one_tall_child_among_many_is_found() -> None:
    """The limit on nesting holds in wide containers."""
    rows = [*freeze([[n] for n in range(40)]), freeze(nested(NESTING_MAX))]
    for value in (rows, {f"k{n}": row for n, row in enumerate(rows)}):
        with pytest.raises(TooDeepError) as caught:
            freeze(value)
        assert caught.value.path in ("$[40]", "$.k40")
    freeze([*rows[:-1], nested(NESTING_MAX - 1)])


def test_a_wide_dict_checks_its_keys() -> None:
    """Speed does not let a bad key through."""
    rows = freeze([[n] for n in range(40)])
    good = {f"k{n}": row for n, row in enumerate(rows)}
    freeze({**good, "é": rows})
    for key in (1, "\ud800", None):
        with pytest.raises(InvalidJsonValueError):
            freeze({**good, key: rows})
