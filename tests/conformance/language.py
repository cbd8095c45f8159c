"""A reader of the small language in which the vector files write their games.

Expressions are JSON: a literal, a list, an object, or an object with exactly one
key that starts with "$", which is an operator. A resolver is a list of statements.
The recordings come from JavaScript, so numbers are IEEE doubles here, and text is
what `JSON.stringify` would give.

This file knows the language only: a scope is a plain mapping of names to values,
and what a resolver returns is a value of this file, for `definition.py` to hand on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

__all__ = [
    "NO_MATCH",
    "RNG_NAMES",
    "Scope",
    "UNDEFINED",
    "ScriptError",
    "ScriptReject",
    "evaluate",
    "has_operator",
    "javascript_keys",
    "json_text",
    "run",
]


Scope = dict[str, Any]

RNG_NAMES = {"int": "int_", "bool": "bool_"}  # names that Python has taken

SAFE_INTEGER_MAX = 2**53 - 1  # beyond it a double no longer holds every integer


class ScriptError(Exception):
    """What `$throw` raises: an exception of the game's author."""


class Undefined:
    """JavaScript's undefined, which is never JSON."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = Undefined()
NO_MATCH = None


@dataclass(frozen=True)
class ScriptReject:
    """A resolver's rejection; `given` holds the keys it named, and only these."""

    given: Mapping[str, Any] = field(default_factory=dict)


# --- expressions ---------------------------------------------------------------


def has_operator(expression: Any) -> bool:
    """Whether anything within must be evaluated (else it is a constant)."""
    if isinstance(expression, list):
        return any(map(has_operator, expression))
    if isinstance(expression, dict):
        return is_operator(expression) or any(map(has_operator, expression.values()))
    return False


def is_operator(expression: Any) -> bool:
    return (
        isinstance(expression, dict)
        and len(expression) == 1
        and next(iter(expression)).startswith("$")
    )


def evaluate(expression: Any, scope: Scope) -> Any:
    """The value of an expression.

    Raises:
        ScriptError: The expression says `$throw`.
        TypeError, ValueError, LookupError: It does what its host cannot do.
    """
    if isinstance(expression, list):
        return [evaluate(item, scope) for item in expression]
    if not isinstance(expression, dict):
        return expression
    if not is_operator(expression):
        return {key: evaluate(value, scope) for key, value in expression.items()}
    ((name, argument),) = expression.items()
    if name in LAZY:
        return LAZY[name](argument, scope)
    if name in EAGER:
        return EAGER[name](*[evaluate(item, scope) for item in argument])
    raise ValueError(f"the language has no operator {name!r}")


def run(body: Sequence[Mapping[str, Any]], scope: Scope) -> Any:
    """What a resolver answers: NO_MATCH, a ScriptReject, a result, or a raw value."""
    answer = _run(body, scope)
    return NO_MATCH if answer is _FELL_OFF else answer


_FELL_OFF = object()


def _run(body: Sequence[Mapping[str, Any]], scope: Scope) -> Any:
    for statement in body:
        if "let" in statement:
            name, expression = statement["let"]
            scope[name] = evaluate(expression, scope)
        elif "when" in statement:
            branch = "then" if truthy(evaluate(statement["when"], scope)) else "else"
            answer = _run(statement.get(branch) or [], scope)
            if answer is not _FELL_OFF:
                return answer
        else:
            return _leave(statement, scope)
    return _FELL_OFF


def _leave(statement: Mapping[str, Any], scope: Scope) -> Any:
    if "no_match" in statement:
        return NO_MATCH
    if "reject" in statement:
        return ScriptReject(evaluate_values(statement["reject"] or {}, scope))
    if "return" in statement:
        return evaluate_values(statement["return"], scope)
    if "return_raw" in statement:
        value = evaluate(statement["return_raw"], scope)
        return NO_MATCH if value is UNDEFINED else value
    raise ValueError(f"the language has no statement {sorted(statement)}")


def evaluate_values(mapping: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    return {key: evaluate(value, scope) for key, value in mapping.items()}


# --- operators that decide what to evaluate --------------------------------------


def _get(path: Any, scope: Scope) -> Any:
    keys = path.split(".") if isinstance(path, str) else evaluate(path, scope)
    found: Any = scope
    for key in keys:
        found = _child(found, key)
        if found is None:
            return None
    return found


def _child(container: Any, key: Any) -> Any:
    if isinstance(container, Mapping):
        return container.get(key if isinstance(key, str) else json_text(key))
    if isinstance(container, (list, tuple)):
        try:
            index = int(key)
        except (TypeError, ValueError):
            return None
        return container[index] if 0 <= index < len(container) else None
    return None


def _bad(kind: str, scope: Scope) -> Any:
    """A value that is not JSON: functions, dates and the like are any object here."""
    numbers = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
    if kind in numbers:
        return numbers[kind]
    return UNDEFINED if kind == "undefined" else object()


def _throw(message: Any, scope: Scope) -> Any:
    raise ScriptError(evaluate(message, scope))


def _if(argument: Sequence[Any], scope: Scope) -> Any:
    condition, then, otherwise = argument
    return evaluate(then if truthy(evaluate(condition, scope)) else otherwise, scope)


def _rng(argument: Sequence[Any], scope: Scope) -> Any:
    method, *arguments = argument
    method = RNG_NAMES.get(method, method)
    return getattr(scope["rng"], method)(*[evaluate(x, scope) for x in arguments])


def _current_player(argument: Any, scope: Scope) -> Any:
    players = scope["match"]["players"]
    return players[(scope["position"]["turn"] - 1) % len(players)]


LAZY: dict[str, Callable[[Any, Scope], Any]] = {
    "$lit": lambda argument, scope: json.loads(json.dumps(argument)),
    "$bad": _bad,
    "$throw": _throw,
    "$get": _get,
    "$if": _if,
    "$and": lambda items, scope: all(truthy(evaluate(x, scope)) for x in items),
    "$or": lambda items, scope: any(truthy(evaluate(x, scope)) for x in items),
    "$not": lambda item, scope: not truthy(evaluate(item, scope)),
    "$len": lambda item, scope: length(evaluate(item, scope)),
    "$rng": _rng,
    "$current_player": _current_player,
}


# --- operators on values ---------------------------------------------------------


def number(value: Any) -> Any:
    """The double that JavaScript holds: null is 0, huge integers lose digits."""
    if value is None:
        return 0
    if isinstance(value, int) and abs(value) > SAFE_INTEGER_MAX:
        return float(value)
    return value


def _add(*items: Any) -> Any:
    total: Any = 0
    for item in items:
        total = number(total + number(item))
    return total


def _modulo(a: Any, b: Any) -> Any:
    return number(number(a) % number(b)) if number(b) != 0 else math.nan


def _without(items: Sequence[Any], unwanted: Any) -> list[Any]:
    return [item for item in items if not same(item, unwanted)]


def _at(items: Sequence[Any], index: Any) -> Any:
    size = len(items)  # a null list raises, as in JavaScript
    if isinstance(index, float) and index.is_integer():
        index = int(index)
    return items[index] if isinstance(index, int) and 0 <= index < size else None


def _assoc(mapping: Mapping[str, Any] | None, key: Any, value: Any) -> dict[str, Any]:
    return {**(mapping or {}), key if isinstance(key, str) else json_text(key): value}


def _merge(*mappings: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: value for m in mappings for key, value in (m or {}).items()}


EAGER: dict[str, Callable[..., Any]] = {
    "$add": _add,
    "$sub": lambda a, b: number(number(a) - number(b)),
    "$mul": lambda a, b: number(number(a) * number(b)),
    "$mod": _modulo,
    "$concat": lambda *items: "".join(
        item if isinstance(item, str) else json_text(item) for item in items
    ),
    "$eq": lambda a, b: same(a, b),
    "$ne": lambda a, b: not same(a, b),
    "$lt": lambda a, b: number(a) < number(b),
    "$le": lambda a, b: number(a) <= number(b),
    "$gt": lambda a, b: number(a) > number(b),
    "$ge": lambda a, b: number(a) >= number(b),
    "$append": lambda items, item: [*items, item],
    "$without": _without,
    "$in": lambda item, items: any(same(item, other) for other in items),
    "$at": _at,
    "$assoc": _assoc,
    "$merge": _merge,
}


def truthy(value: Any) -> bool:
    if value is None or value is False or value == "":
        return False
    return not (isinstance(value, (int, float)) and value == 0)


def same(a: Any, b: Any) -> bool:
    """Equality by JSON text: 1 is 1.0, true is not 1, the order of keys counts."""
    return json_text(a) == json_text(b)


def length(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-16-le", "surrogatepass")) // 2
    return len(value)


def json_text(value: Any) -> str:
    """The text that `JSON.stringify` gives; what is not JSON is null."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, Mapping):
        pairs = (
            f"{json_text(k)}:{json_text(value[k])}" for k in javascript_keys(value)
        )
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(json_text, value)) + "]"
    return "null"


def javascript_keys(mapping: Mapping[str, Any]) -> list[str]:
    """Keys as JavaScript lists them: integer-like ones first, ascending."""
    return sorted(mapping, key=_key_rank)


def _key_rank(key: str) -> tuple[int, int]:
    integer_like = key.isascii() and key.isdigit() and str(int(key)) == key
    return (0, int(key)) if integer_like else (1, 0)


def number_text(value: float) -> str:
    """A number as JavaScript prints it (ECMA-262, Number::toString, radix 10)."""
    double = float(value)
    if not math.isfinite(double):
        return "null"
    if double == 0:
        return "0"
    sign, digit_tuple, exponent = Decimal(repr(double)).normalize().as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, digit_tuple))
    point = len(digits) + exponent  # where the decimal point stands in the digits
    if len(digits) <= point <= 21:
        body = digits.ljust(point, "0")
    elif 0 < point <= 21:
        body = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        body = f"0.{'0' * -point}{digits}"
    else:
        mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
        body = f"{mantissa}e{point - 1:+d}"
    return ("-" if sign else "") + body
