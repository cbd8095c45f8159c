"""Which types an event may declare for its payload, told where it is declared.

msgspec judges payloads, so it must be able to judge the type, all the way in: a class
that it does not know would fail at the first payload, or never fit one. Sets are no
types of payloads: the order in which Python lists one differs between processes, and
what a resolver makes of it must not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import inspect

from .errors import DefinitionError

__all__ = ["check_payload_type", "empty_payload"]

_INSTEAD: Final = "give a type such as int, list[str], or a class Place(msgspec.Struct)"
_SETS: Final = (inspect.SetType, inspect.FrozenSetType)


def check_payload_type(payload: Any) -> None:
    """Make sure that payloads can be of this type.

    Raises:
        DefinitionError: they cannot; the message says what to write instead.
    """
    what = f"msgspec cannot validate the payload type {payload!r}"
    try:
        msgspec.convert(None, payload)
    except msgspec.ValidationError:
        pass  # None is not such a payload; that it could be asked is all we want.
    except Exception as error:
        raise DefinitionError(f"{what}: {error}; {_INSTEAD}") from error
    for part in _parts(inspect.type_info(payload), []):
        if isinstance(part, _SETS):
            raise DefinitionError(
                f"the payload type {payload!r} has a set, whose order differs between "
                "processes; write list[...] instead"
            )
        unknown = _unknown(part)
        if unknown:
            raise DefinitionError(f"{what}: {unknown}; {_INSTEAD}")


def empty_payload(payload: Any) -> tuple[None] | tuple[dict[str, Any]] | None:
    """The one that says nothing: null, else an empty object; None: it must say more.

    `payload` is the declared type; None declares none.
    """
    if payload is None or _fits(None, payload):
        return (None,)
    return ({},) if _fits({}, payload) else None


def _fits(given: object, payload: Any) -> bool:
    try:
        msgspec.convert(given, payload, str_keys=True)
    except msgspec.ValidationError:
        return False
    return True


def _unknown(part: inspect.Type) -> str:
    """Why no payload fits a type; "" if some may."""
    if isinstance(part, inspect.CustomType):
        name = getattr(part.cls, "__qualname__", repr(part.cls))
        return f"{name} is a plain class"
    if isinstance(part, (inspect.RawType, inspect.ExtType)):
        return "a payload is JSON, not a part of an encoded message"
    return ""


def _parts(part: Any, seen: list[Any]) -> Iterator[inspect.Type]:
    """A type and all types in it; a type inside itself is given once."""
    if any(part is known for known in seen):
        return
    seen.append(part)
    yield part
    inner = [getattr(part, name, None) for name in _ONE]
    for name in _MANY:
        inner.extend(getattr(part, name, ()))
    inner.extend(field.type for field in getattr(part, "fields", ()))
    for each in inner:
        if isinstance(each, inspect.Type):
            yield from _parts(each, seen)


# How msgspec's descriptions name the types inside a type.
_ONE: Final = ("type", "item_type", "key_type", "value_type")
_MANY: Final = ("types", "item_types")
