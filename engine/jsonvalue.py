"""What counts as JSON here: the scalar rules, shared by everything that checks values.

Rules (I-JSON, narrowed so that a value means the same in every language):
- Integers lie within +-(2^53 - 1). Floats are finite. An integral float within that
  range is stored as an integer, so 1.0 is 1 and -0.0 is 0.
- Strings and keys hold no lone surrogates: they can be encoded as UTF-8.
- Subclasses of str, int and float (enum members, say) are stored as the plain value.

Containers are `frozen.py`'s matter.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, TypeAlias

from .limits import SAFE_INT_MAX

__all__ = ["Json", "JsonProblem", "checked_key", "checked_scalar", "path_text"]

# None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]. Spelled Any:
# the recursive union makes every author narrow types at every index, for no safety.
Json: TypeAlias = Any

# Segments of a path that are shown before it is cut.
_PATH_SEGMENTS_SHOWN = 12


class JsonProblem(Exception):
    """Why a value is not JSON. `path` is filled from the inside out while unwinding.

    Internal: callers of this package see `InvalidJsonValueError`.
    """

    def __init__(self, problem: str, *, too_deep: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.too_deep = too_deep
        self.path: list[str | int] = []


def checked_scalar(value: object) -> Json:
    """Return the value as it is stored.

    Raises:
        JsonProblem: it is not a JSON scalar.
    """
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return _checked_text(str.__str__(value))
    if isinstance(value, int):
        number = int.__int__(value)
        if -SAFE_INT_MAX <= number <= SAFE_INT_MAX:
            return number
        raise JsonProblem("integers beyond 2^53 - 1 are not exact in JSON")
    if isinstance(value, float):
        return _checked_float(float.__float__(value))
    raise JsonProblem(f"{type(value).__name__} is not a JSON type")


def checked_key(key: object) -> str:
    """Return a key as it is stored.

    Raises:
        JsonProblem: it is not a string that UTF-8 can hold.
    """
    if isinstance(key, str):
        return _checked_text(str.__str__(key))
    raise JsonProblem(f"keys are strings, not {type(key).__name__}")


def path_text(path: list[str | int]) -> str:
    """Write a path, outermost segment first, as `$.board[3].owner`."""
    shown = path[:_PATH_SEGMENTS_SHOWN]
    parts = [f"[{s}]" if isinstance(s, int) else f".{s}" for s in shown]
    text = "$" + "".join(parts) + ("..." if len(path) > len(shown) else "")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _checked_text(text: str) -> str:
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise JsonProblem("the string holds a lone surrogate") from None
    return text


def _checked_float(number: float) -> int | float:
    if not isfinite(number):
        raise JsonProblem(f"{number} is not a JSON number")
    if number.is_integer() and -SAFE_INT_MAX <= number <= SAFE_INT_MAX:
        return int(number)
    return number
