"""A reader of the recipes in profile.json: small changes of a draft, in JavaScript.

A recipe is statements between semicolons, on the draft `d`::

    d.a.b += 1          d.list[0] = {x: 1}      d.n++       delete d.a
    d.list.push(1, 2)   d.list.splice(-1)       d.a.$inc('n', 2)
    d.list.pop() x3     (nothing)

Each becomes what hotseat's drafts call it. What no Python list can do the way a
JavaScript array does it (writing beyond the end) is a `Skip`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .outcome import Skip

__all__ = ["read_recipe"]

Recipe = Callable[[Any], None]

TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w$]))
      | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<name>[A-Za-z_$][\w$]*)
      | (?P<sign>\+\+|--|[-+*]=|[-+*=.,:;()\[\]{}])
    )""",
    re.VERBOSE,
)
WORDS = {"true": True, "false": False, "null": None}
ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
SILENT = ("(nothing)", "unknown player", "")


def read_recipe(text: str) -> Recipe:
    """The recipe as a function of a hotseat draft.

    Raises:
        Skip: It is written in more JavaScript than is known here.
    """
    statements = [] if text.strip() in SILENT else list(Reader(text).statements())

    def recipe(draft: Any) -> None:
        for statement in statements:
            statement(draft)

    return recipe


class Reader:
    """Recursive descent over the tokens; every part read is a function of the draft."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split(text)

    def statements(self) -> Iterator[Recipe]:
        while self._tokens:
            statement = self._statement()
            for _ in range(self._repeats()):
                yield statement
            if self._tokens:
                self._take(";")

    def _split(self, text: str) -> list[tuple[str, str]]:
        tokens, at, end = [], 0, len(text.rstrip())
        while at < end:
            found = TOKEN.match(text, at)
            if found is None or found.lastgroup is None:
                raise Skip(f"the recipe {text!r} is not understood at {text[at:]!r}")
            tokens.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()
        return tokens

    def _statement(self) -> Recipe:
        if self._took("delete"):
            container, key = self._place()
            return lambda d: delete(container(d), key(d))
        container, key = self._place()
        if self._took("("):
            method, arguments = key(None), self._values(")")
            if method not in METHODS:
                raise Skip(f"the recipe {self._text!r} calls {method}()")
            return lambda d: METHODS[method](container(d), *(a(d) for a in arguments))
        sign = self._next()
        if sign in ("++", "--"):
            operand: Callable[[Any], Any] = lambda d: 1
        else:
            operand = self._sum()
        if sign == "=":
            return lambda d: assign(container(d), key(d), operand(d))
        combine = ARITHMETIC.get(sign[0])
        if combine is None:
            raise Skip(f"the recipe {self._text!r} has {sign!r}")
        return lambda d: assign(
            container(d), key(d), combine(read(container(d), key(d)), operand(d))
        )

    def _repeats(self) -> int:
        """`x3` after a statement."""
        if self._tokens and re.fullmatch(r"x\d+", self._tokens[0][1]):
            return int(self._next()[1:])
        return 1

    def _place(self) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
        """Where a chain `d.a[0].b` ends: its last container, and its last key."""
        self._take("d")
        container: Callable[[Any], Any] = lambda d: d
        key = self._segment()
        while self._tokens and self._tokens[0][1] in (".", "["):
            container, key = step(container, key), self._segment()
        return container, key

    def _segment(self) -> Callable[[Any], Any]:
        if self._took("."):
            name = self._next()
            return lambda d: name
        self._take("[")
        key = self._sum()
        self._take("]")
        return key

    def _sum(self) -> Callable[[Any], Any]:
        value = self._value()
        while self._tokens and self._tokens[0][1] in ("+", "-"):
            value = combined(ARITHMETIC[self._next()], value, self._value())
        return value

    def _value(self) -> Callable[[Any], Any]:
        if not self._tokens:
            raise Skip(f"the recipe {self._text!r} ends too early")
        kind, token = self._tokens[0]
        if token == "d":
            return step(*self._place())
        self._tokens.pop(0)
        if token == "-":
            value = self._value()
            return lambda d: -value(d)
        if token == "[":
            items = self._values("]")
            return lambda d: [item(d) for item in items]
        if token == "{":
            return self._object()
        constant = self._constant(kind, token)
        return lambda d: constant

    def _constant(self, kind: str, token: str) -> Any:
        if kind == "number":
            return float(token) if re.search("[.eE]", token) else int(token)
        if kind == "text":
            return re.sub(r"\\(.)", r"\1", token[1:-1])
        if token in WORDS:
            return WORDS[token]
        raise Skip(f"the recipe {self._text!r} has {token!r}")

    def _values(self, end: str) -> Sequence[Callable[[Any], Any]]:
        values = []
        while not self._took(end):
            values.append(self._sum())
            if not self._took(","):
                self._take(end)
                break
        return values

    def _object(self) -> Callable[[Any], Any]:
        entries: dict[str, Callable[[Any], Any]] = {}
        while not self._took("}"):
            kind, key = self._tokens.pop(0)
            self._take(":")
            entries[key[1:-1] if kind == "text" else key] = self._sum()
            if not self._took(","):
                self._take("}")
                break
        return lambda d: {key: value(d) for key, value in entries.items()}

    def _next(self) -> str:
        if not self._tokens:
            raise Skip(f"the recipe {self._text!r} ends too early")
        return self._tokens.pop(0)[1]

    def _took(self, token: str) -> bool:
        if self._tokens and self._tokens[0][1] == token:
            self._tokens.pop(0)
            return True
        return False

    def _take(self, token: str) -> None:
        if not self._took(token):
            raise Skip(f"the recipe {self._text!r} is not understood: no {token!r}")


def step(
    container: Callable[[Any], Any], key: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    return lambda d: read(container(d), key(d))


def combined(
    combine: Callable[[Any, Any], Any],
    left: Callable[[Any], Any],
    right: Callable[[Any], Any],
) -> Callable[[Any], Any]:
    return lambda d: combine(left(d), right(d))


# --- what JavaScript does, done to hotseat's drafts --------------------------------


def read(container: Any, key: Any) -> Any:
    return len(container) if key == "length" else container[key]


def assign(container: Any, key: Any, value: Any) -> None:
    if key == "length" or (isinstance(key, int) and key >= len(container)):
        raise Skip("only a JavaScript array is written to beyond its end")
    container[key] = value


def delete(container: Any, key: Any) -> None:
    if isinstance(key, int):
        raise Skip("only a JavaScript array has holes")
    container.remove(key)


def push(items: Any, *values: Any) -> None:
    for value in values:
        items.append(value)


def pop(items: Any) -> None:
    if len(items):
        items.pop()


def shift(items: Any) -> None:
    if len(items):
        items.pop(0)


def splice(items: Any, start: int, count: int | None = None, *inserted: Any) -> None:
    at = max(0, len(items) + start) if start < 0 else min(start, len(items))
    end = len(items) if count is None else at + max(0, count)
    if inserted:
        items[at:end] = inserted
    else:
        del items[at:end]


def remove(container: Any, key: Any) -> None:
    if isinstance(key, int):
        if key < 0:
            raise IndexError(key)
        del container[key]
    else:
        container.remove(key)


def rebuild(items: Any, *arguments: Any) -> None:
    items[:] = arguments


METHODS: Mapping[str, Callable[..., None]] = {
    "push": push,
    "pop": pop,
    "shift": shift,
    "splice": splice,
    "sort": lambda items: items.sort(),
    "reverse": lambda items: items.reverse(),
    "unshift": rebuild,
    "fill": rebuild,
    "copyWithin": rebuild,
    "$inc": lambda container, key, amount: container.inc(key, amount),
    "$remove": remove,
}
