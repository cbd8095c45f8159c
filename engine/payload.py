"""Payloads of a declared type: converted for the resolver, or refused precisely.

The types are msgspec's, and so is the judgement. A refusal says at which `path` what
was `expected` and what it `got` instead, in its message and, for programs, in its
details. It goes to whoever sent the payload, so that it may repeat a little of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import inspect

from .context import EventInput
from .definition import Event
from .jsonvalue import Json
from .refusal import Refusal, fault_from, refuse

__all__ = ["read_payload"]

# Characters of a refused value, or of a list of allowed ones, that a message repeats.
_SHOWN_MAX: Final = 60

# How msgspec words what is wrong; see its decoder's source for the whole list.
_PLACE: Final = re.compile(r"(?s)(.*?)(?: - at (`key` in )?`(\$.*)`)?")
_EXPECTED: Final = re.compile(r"(?s)Expected (.*?)(?:, got (.*))?")
_FIELD: Final = re.compile(r"Object (missing required|contains unknown) field `(.*)`")
_CHOICE: Final = re.compile(r"(?s)Invalid (?:enum )?value .*")

_SEGMENT: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]|(\[\.\.\.\])")
_ANY: Final = ...
_NOWHERE: Final = object()

Segment: TypeAlias = "str | int | Any"

_NAMES: Final = {
    inspect.NoneType: "null",
    inspect.BoolType: "bool",
    inspect.IntType: "int",
    inspect.FloatType: "float",
    inspect.StrType: "str",
    inspect.ListType: "array",
    inspect.SetType: "array",
    inspect.FrozenSetType: "array",
    inspect.VarTupleType: "array",
    inspect.TupleType: "array",
    inspect.DictType: "object",
    inspect.StructType: "object",
    inspect.TypedDictType: "object",
    inspect.DataclassType: "object",
    inspect.NamedTupleType: "array",
}


class _Problem(NamedTuple):
    path: Sequence[Segment]
    expected: str
    got: str


def read_payload(name: str, declared: Event, payload: Json) -> EventInput | Refusal:
    """The event as its resolver sees it: the payload of the declared type.

    Refuses with invalid_payload and details {path, expected, got}.
    """
    if declared.payload is None:
        return EventInput(name, payload)
    try:
        # The keys of JSON are strings; a declared dict[int, ...] has them as numbers.
        given = msgspec.convert(payload, declared.payload, str_keys=True)
        return EventInput(name, given)
    except msgspec.ValidationError as error:
        found = _problem(str(error), declared.payload, payload)
    except Exception as error:
        fault = fault_from(error, event=name, label=f"payload of {name}")
        return refuse("invalid_payload", fault=fault)
    path = _text(found.path)
    return refuse(
        "invalid_payload",
        f"{name}: at {path}, expected {found.expected}, got {found.got}",
        details={"path": path, "expected": found.expected, "got": found.got},
    )


def _problem(told: str, kind: Any, payload: Json) -> _Problem:
    """What msgspec told, taken apart and completed from the type and the payload."""
    place = _PLACE.fullmatch(told)
    assert place is not None
    what, in_key, where = place[1], bool(place[2]), place[3] or "$"
    path = [_segment(match) for match in _SEGMENT.finditer(where)]
    expected, field = _EXPECTED.fullmatch(what), _FIELD.fullmatch(what)
    got = expected[2].strip("`") if expected is not None and expected[2] else None
    path = list(_located(payload, path, got))
    value = _at(payload, path)
    if in_key:
        at_key = "a key that is " + (expected[1] if expected is not None else what)
        return _Problem(path, at_key.replace("`", ""), _keys(value))
    if expected is not None:
        if got is not None and got.isdigit():
            got = f"length {got}"
        return _Problem(path, expected[1].replace("`", ""), got or _brief(value))
    known = list(_types_at(_type_info(kind), path))
    if field is not None:
        path.append(field[2])
        if field[1] == "missing required":
            return _Problem(
                path, _described(_types_at(_type_info(kind), path)), "nothing"
            )
        there = _listed(_field_names(known))
        return _Problem(
            path, f"no such field (there are {there})", _brief(value[field[2]])
        )
    if _CHOICE.fullmatch(what):
        tags = _tags(_types_at(_type_info(kind), path[:-1])) if path else []
        choices = [choice for part in known for choice in _choices(part)] or tags
        return _Problem(path, f"one of {_listed(choices)}", _brief(value))
    return _Problem(path, what.replace("Invalid", "a valid"), _brief(value))


def _segment(match: re.Match[str]) -> Segment:
    if match[1] is not None:
        return match[1]
    return int(match[2]) if match[2] is not None else _ANY


def _located(
    value: Json, path: Sequence[Segment], got: str | None
) -> Iterator[Segment]:
    """The path with the key found that msgspec leaves open, as `[...]`, if it can be.

    It is the only entry's, or else that of the first which has at that place the type
    it should not have: entries are judged in order, all by one type.
    """
    for depth, segment in enumerate(path):
        if segment is _ANY and isinstance(value, dict):
            rest = list(path[depth + 1 :])
            for key, child in value.items():
                inner = list(_located(child, rest, got))
                if len(value) == 1 or _type_name(_at(child, inner)) == got:
                    yield key
                    yield from inner
                    return
        yield segment
        value = _at(value, [segment])


def _at(value: Json, path: Sequence[Segment]) -> Any:
    for segment in path:
        try:
            value = value[segment]
        except (LookupError, TypeError):
            return _NOWHERE
    return value


def _text(path: Sequence[Segment]) -> str:
    parts = (
        "[...]" if s is _ANY else f"[{s}]" if isinstance(s, int) else f".{s}"
        for s in path
    )
    return "$" + "".join(parts)


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else type(value).__name__


def _brief(value: Any) -> str:
    """A scalar as JSON, cut; the kind of anything else."""
    if value is _NOWHERE:
        return "another value"
    if isinstance(value, (dict, list)):
        return f"{_type_name(value)} of length {len(value)}"
    return _cut(json.dumps(value, ensure_ascii=False))


def _keys(value: Any) -> str:
    return _listed(list(value)) if isinstance(value, dict) else _brief(value)


def _listed(values: Sequence[Any]) -> str:
    return _cut(", ".join(_brief(value) for value in values) or "none")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."


# --- the declared type, where a message of msgspec's leaves it open -----------------


def _type_info(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _types_at(part: inspect.Type, path: Sequence[Segment]) -> Iterator[inspect.Type]:
    """The types that a path may lead to; several where there is a union."""
    if isinstance(part, inspect.Metadata):
        yield from _types_at(part.type, path)
    elif isinstance(part, inspect.UnionType):
        for choice in part.types:
            yield from _types_at(choice, path)
    elif not path:
        yield part
    elif (child := _child(part, path[0])) is not None:
        yield from _types_at(child, path[1:])


def _child(part: Any, segment: Segment) -> inspect.Type | None:
    if isinstance(part, inspect.DictType):
        return part.value_type
    if isinstance(part, inspect.TupleType) and isinstance(segment, int):
        return part.item_types[segment] if segment < len(part.item_types) else None
    for field in getattr(part, "fields", ()):
        if field.encode_name == segment:
            found: inspect.Type = field.type
            return found
    return getattr(part, "item_type", None)


def _field_names(parts: Sequence[Any]) -> list[str]:
    return [f.encode_name for part in parts for f in getattr(part, "fields", ())]


def _tags(parts: Iterator[Any]) -> list[Any]:
    return [part.tag for part in parts if getattr(part, "tag", None) is not None]


def _choices(part: inspect.Type) -> list[Any]:
    if isinstance(part, inspect.LiteralType):
        return list(part.values)
    if isinstance(part, inspect.EnumType):
        return [member.value for member in part.cls]
    return []


def _described(parts: Iterator[inspect.Type]) -> str:
    """The types in a few words: `int | null`, `one of "x", "y"`."""
    words = []
    for part in parts:
        choices = _choices(part)
        word = f"one of {_listed(choices)}" if choices else _NAMES.get(type(part))
        words.append(word or "a value")
    return " | ".join(dict.fromkeys(words)) or "a value"
