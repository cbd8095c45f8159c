"""Deltas: how the change of one player's profile is written down, and done.

A delta is a list of operations, applied in order, all or none::

    {"op": "set",    "path": ["rank"],   "value": 3}      set [] replaces everything
    {"op": "inc",    "path": ["wins"],   "value": 1}      a missing number counts as 0
    {"op": "push",   "path": ["badges"], "value": "x"}    onto an existing list
    {"op": "remove", "path": ["badges", 0]}

A segment of a path is a key or an index; numeric text indexes a list, a number on an
object is its text. A list may grow by one at its end, never beyond. Nothing is
mutated: what did not change is shared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final, TypeAlias

from .errors import InvalidJsonValueError, ProfileDeltaError
from .frozen import freeze
from .jsonvalue import Json

__all__ = ["Delta", "apply_profile_delta", "validate_profile_delta"]

Delta: TypeAlias = "Sequence[Mapping[str, Json]]"

_MISSING: Final = object()
_OPS: Final = ("set", "inc", "push", "remove")

# Text that is a number wherever profiles travel; Python alone would take "1_0" too.
_NUMBER: Final = re.compile(
    r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*|\s*"
)


def validate_profile_delta(delta: object) -> None:
    """Make sure that a delta has the shape of one; whether it applies is not asked.

    Raises:
        ProfileDeltaError: invalid_delta; the message names the operation.
    """
    if not isinstance(delta, (list, tuple)):
        raise _malformed(f"a delta is a list of operations, not {type(delta).__name__}")
    for at, op in enumerate(delta):
        problem = _shape_problem(op)
        if problem is not None:
            raise _malformed(f"operation {at}: {problem}", at)


def apply_profile_delta(data: Json, delta: object) -> Json:
    """One player's profile after a delta; `data` itself stays as it is.

    Raises:
        ProfileDeltaError: It is malformed, or `at` does not apply; its `reason` is
            one of invalid_delta, empty_path, missing_path, invalid_container,
            type_mismatch, out_of_range, not_json.
        InvalidJsonValueError: `data` or a value is not JSON.
    """
    validate_profile_delta(delta)
    assert isinstance(delta, Sequence)
    changed = freeze(data, label="profile")
    for at, given in enumerate(delta):
        op = {**given, "value": freeze(given.get("value"), label="value")}
        try:
            # Frozen at once: a sum, a key or a depth may not be JSON.
            changed = freeze(_apply(changed, op, op["path"], 0), label="profile")
        except (_DoesNotApply, InvalidJsonValueError) as problem:
            reason = getattr(problem, "reason", "not_json")
            raise ProfileDeltaError(
                f"operation {at} ({op['op']}): {problem}", reason=reason, at=at
            ) from None
    return changed


class _DoesNotApply(Exception):
    def __init__(self, reason: str, text: str) -> None:
        self.reason = reason
        super().__init__(text)


def _apply(node: Any, op: Mapping[str, Any], path: Sequence[Any], depth: int) -> Any:
    """A copy of `node` with the operation done beneath it; siblings are shared."""
    if not path:
        if op["op"] != "set":
            raise _DoesNotApply("empty_path", f"{op['op']} requires a path")
        return op["value"]
    if depth == len(path) - 1:
        return _apply_here(node, op, path[depth])
    if not isinstance(node, (Mapping, list, tuple)):
        raise _DoesNotApply(
            "invalid_container", f"segment {depth} is not an object or array"
        )
    child = _child(node, path[depth])
    if child is _MISSING:
        raise _DoesNotApply(
            "missing_path", f"segment {depth} ({_key(path[depth])}) missing"
        )
    return _with_child(node, path[depth], _apply(child, op, path, depth + 1))


def _apply_here(node: Any, op: Mapping[str, Any], segment: Any) -> Any:
    if not isinstance(node, (Mapping, list, tuple)):
        raise _DoesNotApply(
            "invalid_container", "final container is not an object or array"
        )
    current = _child(node, segment)
    match op["op"]:
        case "set":
            return _with_child(node, segment, op["value"])
        case "inc":
            if current is not _MISSING and not _is_number(current):
                raise _DoesNotApply("type_mismatch", "inc target is not a number")
            total = (0 if current is _MISSING else current) + op["value"]
            return _with_child(node, segment, total)
        case "push":
            if not isinstance(current, (list, tuple)):
                raise _DoesNotApply("type_mismatch", "push target is not an array")
            return _with_child(node, segment, [*current, op["value"]])
        case _:
            return _without_child(node, segment, current)


def _child(node: Any, segment: Any) -> Any:
    if isinstance(node, Mapping):
        return node.get(_key(segment), _MISSING)
    index = _index(segment)
    return node[index] if index is not None and index < len(node) else _MISSING


def _with_child(node: Any, segment: Any, value: Any) -> Any:
    if isinstance(node, Mapping):
        return {**node, _key(segment): value}
    index = _index(segment)
    if index is None or index > len(node):
        raise _DoesNotApply("out_of_range", f"index {_key(segment)} out of range")
    return [*node[:index], value, *node[index + 1 :]]


def _without_child(node: Any, segment: Any, current: Any) -> Any:
    if isinstance(node, Mapping):
        if current is _MISSING:
            raise _DoesNotApply("missing_path", f"key {_key(segment)} not present")
        return {key: value for key, value in node.items() if key != _key(segment)}
    index = _index(segment)
    if index is None or index >= len(node):
        raise _DoesNotApply("out_of_range", f"index {_key(segment)} out of range")
    return [*node[:index], *node[index + 1 :]]


def _key(segment: str | float) -> str:
    """The text of a segment: 1.0 is 1 in JSON."""
    if isinstance(segment, float) and segment.is_integer():
        return str(int(segment))
    return str(segment)


def _index(segment: str | float) -> int | None:
    """A non-negative index; numeric text counts, and blank text is 0."""
    if isinstance(segment, str):
        if _NUMBER.fullmatch(segment) is None:
            return None
        segment = float(segment.strip() or 0)
    if isinstance(segment, float):
        return int(segment) if segment.is_integer() and segment >= 0 else None
    return segment if segment >= 0 else None


def _shape_problem(op: object) -> str | None:
    if not isinstance(op, Mapping):
        return f"an operation is an object with op and path, not {type(op).__name__}"
    name, path = op.get("op"), op.get("path")
    if name not in _OPS:
        return f"op is one of {', '.join(_OPS)}, not {name!r}"
    if not isinstance(path, (list, tuple)):
        return f"{name} needs a path, a list of keys and indexes"
    if not all(map(_is_segment, path)):
        return f"the path of {name} holds something that is no key and no index"
    if name != "remove" and "value" not in op:
        return f"{name} needs a value"
    if name == "inc" and not _is_number(op["value"]):
        return "the value of inc is a number"
    return None


def _is_segment(value: object) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _malformed(problem: str, at: int | None = None) -> ProfileDeltaError:
    return ProfileDeltaError(problem, reason="invalid_delta", at=at)
