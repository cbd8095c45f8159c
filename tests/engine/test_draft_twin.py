"""A draft and a plain copy, changed alike, stay alike and freeze alike."""

from __future__ import annotations

import copy
import heapq
import json
from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from hotseat.engine import TooDeepError, draft, freeze
from hotseat.engine.digest import digest_of

KEYS = st.sampled_from(["a", "b", "c", "é"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 9) | st.sampled_from(["x", "ö"])
VALUES = st.recursive(
    SCALARS | st.just(1.0) | st.lists(st.integers(0, 9), min_size=2, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=6,
)
PLAIN = st.dictionaries(KEYS, VALUES, max_size=4) | st.lists(VALUES, max_size=4)
# Wide ones too: width takes other ways through the code.
ROOTS = PLAIN | st.builds(lambda row, n: [copy.deepcopy(row)] * n, PLAIN, st.just(18))
PLACES = st.integers(-4, 4)
SLICES = st.builds(slice, PLACES | st.none(), PLACES | st.none()) | st.builds(
    slice, st.just(None), st.just(None), st.sampled_from([-1, 2, -2])
)

BIG = 2_000  # characters; aliases multiply what they hold

Operation = Callable[[Any], object]


def _ior(x: Any, other: Any) -> None:
    x |= other


def _iadd(x: Any, other: Any) -> None:
    x += other


def _imul(x: Any, times: int) -> None:
    x *= times


def _set(x: Any, at: Any, value: Any) -> None:
    x[at] = copy.deepcopy(value)


def _delete(x: Any, at: Any) -> None:
    del x[at]


def _push(x: Any, value: int) -> None:
    """What heapq does behind the methods of a list."""
    if all(type(child) is int for child in x):
        heapq.heapify(x)
        heapq.heapreplace(x, value + 1)
        if value > 4:
            heapq.heappush(x, value)


def _mark(children: Any) -> None:
    """Change every child that was handed out."""
    for child in children:
        if isinstance(child, dict):
            child["marked"] = True
        elif isinstance(child, list):
            child.append("marked")


def _of(values: st.SearchStrategy[Any], do: Callable[[Any, Any], object]) -> Any:
    """An operation with one drawn argument; each twin gets a copy of its own."""
    return values.map(lambda value: lambda x: do(x, copy.deepcopy(value)))


def _at(places: Any, values: Any, do: Callable[[Any, Any, Any], object]) -> Any:
    return st.tuples(places, values).map(
        lambda given: lambda x: do(x, given[0], copy.deepcopy(given[1]))
    )


READS: list[Operation] = [
    len,
    repr,
    bool,
    json.dumps,
    copy.deepcopy,
    lambda x: json.dumps(x.copy()),
    lambda x: _mark(x.copy() if isinstance(x, list) else x.copy().values()),
    lambda x: _mark([*x] if isinstance(x, list) else {**x}.values()),
    lambda x: list(reversed(x)),
    lambda x: _mark(reversed(x)) if isinstance(x, list) else _mark(dict(x).values()),
]
DICT_CHANGES = st.one_of(
    _at(KEYS, VALUES, _set),
    _of(KEYS, _delete),
    _of(KEYS, lambda x, k: x.pop(k)),
    _at(KEYS, VALUES, lambda x, k, v: x.pop(k, v)),
    _at(KEYS, VALUES, lambda x, k, v: x.setdefault(k, v)),
    _at(KEYS, VALUES, lambda x, k, v: x.get(k, v)),
    _of(st.dictionaries(KEYS, VALUES, max_size=2), lambda x, v: x.update(v)),
    _of(VALUES, lambda x, v: x.update(a=v)),
    _of(VALUES, lambda x, v: x.update([("b", v)])),
    _of(st.dictionaries(KEYS, VALUES, max_size=2), _ior),
    st.just(lambda x: x.items()),
    st.just(lambda x: x.popitem()),
    st.just(lambda x: x.clear()),
    st.just(lambda x: _mark(x.values())),
    st.just(lambda x: _mark(child for _, child in x.items())),
    _of(
        st.dictionaries(KEYS, VALUES, max_size=2), lambda x, v: _mark((x | v).values())
    ),
    _of(
        st.dictionaries(KEYS, VALUES, max_size=2), lambda x, v: _mark((v | x).values())
    ),
)
LIST_CHANGES = st.one_of(
    _at(PLACES, VALUES, _set),
    _at(SLICES, st.lists(VALUES, max_size=3), _set),
    _of(PLACES, _delete),
    _of(SLICES, _delete),
    _of(VALUES, lambda x, v: x.append(v)),
    _of(st.lists(VALUES, max_size=3), lambda x, v: x.extend(v)),
    _of(st.lists(VALUES, max_size=3), _iadd),
    st.just(lambda x: x.extend(x[:2])),
    _of(st.integers(-1, 2), lambda x, n: _imul(x, n) if len(x) < 40 else None),
    _at(PLACES, VALUES, lambda x, i, v: x.insert(i, v)),
    st.just(lambda x: x.pop()),
    _of(PLACES, lambda x, i: x.pop(i)),
    _of(VALUES, lambda x, v: x.remove(v)),
    _of(VALUES, lambda x, v: (x.count(v), v in x, x.index(v))),
    st.just(lambda x: x.reverse()),
    st.just(lambda x: x.sort(key=repr)),
    st.just(lambda x: x.sort(key=len, reverse=True)),
    st.just(lambda x: x.clear()),
    st.just(lambda x: _mark(x)),
    _of(SLICES, lambda x, s: _mark(x[s])),
    _of(PLACES, lambda x, i: _mark([x[i]])),
    _of(st.lists(VALUES, max_size=2), lambda x, v: _mark(x + v)),
    _of(st.lists(VALUES, max_size=2), lambda x, v: _mark(v + x)),
    st.just(lambda x: _mark((x * 2)[:1] + (1 * x))),
    _of(st.integers(0, 9), _push),
)


def attempt(do: Operation, container: Any) -> tuple[str, Any]:
    """What came of it: a value, or the kind of an exception."""
    try:
        return "gave", do(container)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        return "raised", type(error)


def inside(outer: Any, seen: dict[int, Any]) -> dict[int, Any]:
    """Every container in a plain value, itself included, by identity."""
    if isinstance(outer, (dict, list, tuple)) and id(outer) not in seen:
        seen[id(outer)] = outer
        for child in outer.values() if isinstance(outer, dict) else outer:
            inside(child, seen)
    return seen


class Twins(RuleBasedStateMachine):
    """`pairs` holds containers of both twins that belong together."""

    @initialize(root=ROOTS)
    def begin(self, root: Any) -> None:
        self.origin = freeze(root)
        self.before = digest_of(self.origin)
        self.draft = draft(self.origin)
        self.plain = copy.deepcopy(self.origin)
        self.pairs: list[tuple[Any, Any]] = [(self.draft, self.plain)]

    @rule(data=st.data())
    def change(self, data: st.DataObject) -> None:
        """Do the same to both; the outcome is the same, up to the exception."""
        part, plain = self._pick(data)
        changes = DICT_CHANGES if isinstance(plain, dict) else LIST_CHANGES
        do = data.draw(changes | st.sampled_from(READS))
        got, expected = attempt(do, part), attempt(do, plain)
        if isinstance(plain, dict) and expected[0] == "gave":
            got = (got[0], list(got[1])) if hasattr(got[1], "mapping") else got
            gave = expected[1]
            expected = ("gave", list(gave)) if hasattr(gave, "mapping") else expected
        assert got == expected
        if isinstance(expected[1], (dict, list)):
            self.pairs.append((got[1], expected[1]))

    @rule(data=st.data(), key=KEYS, place=st.integers(0, 3))
    def descend(self, data: st.DataObject, key: str, place: int) -> None:
        """Take hold of a child, for later."""
        part, plain = self._pick(data)
        at: Any = key if isinstance(plain, dict) else place
        got, expected = (attempt(lambda x: x[at], x) for x in (part, plain))
        assert got == expected
        if isinstance(expected[1], (dict, list)):
            self.pairs.append((got[1], expected[1]))

    @rule(data=st.data(), key=KEYS)
    def move(self, data: st.DataObject, key: str) -> None:
        """Put a child in a second place, or back where it was taken out."""
        part, plain = self._pick(data)
        moved, moved_plain = self._pick(data)
        if id(plain) not in inside(moved_plain, {}) and len(repr(self.plain)) < BIG:
            for into, child in ((part, moved), (plain, moved_plain)):
                if isinstance(into, dict):
                    into[key] = child
                else:
                    into.append(child)

    @precondition(lambda self: hasattr(self, "plain"))
    @invariant()
    def are_alike(self) -> None:
        """Equal, and in the same order."""
        assert self.draft == self.plain
        assert repr(self.draft) == repr(self.plain)

    def teardown(self) -> None:
        """Frozen, the twins are the same; the origin never changed."""
        if not hasattr(self, "plain"):
            return
        try:
            expected = freeze(self.plain)
        except TooDeepError:
            return
        frozen = freeze(self.draft)
        assert_same(frozen, expected)
        assert digest_of(frozen) == digest_of(expected)
        assert digest_of(self.origin) == self.before

    def _pick(self, data: st.DataObject) -> tuple[Any, Any]:
        pair: tuple[Any, Any] = data.draw(st.sampled_from(self.pairs[-8:]))
        return pair


def assert_same(one: Any, other: Any) -> None:
    """Equal in value, type, height and order, all the way down."""
    assert type(one) is type(other)
    assert one == other
    if isinstance(one, dict):
        assert list(one) == list(other)
        for key, child in one.items():
            assert_same(child, other[key])
    elif isinstance(one, list):
        for child, twin in zip(one, other, strict=True):
            assert_same(child, twin)


TestTwins = Twins.TestCase
TestTwins.settings = settings(max_examples=100, stateful_step_count=25, deadline=None)
