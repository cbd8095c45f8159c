"""What became of one case, and how two JSON values differ."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .language import json_text

__all__ = ["Outcome", "Skip", "difference", "judge", "skipped"]

SHOWN_DIFFERENCES_MAX = 5
SHOWN_VALUE_MAX = 200  # characters of one value in a message


@dataclass(frozen=True)
class Outcome:
    """A case's name, what became of it, and why if it did not pass."""

    case: str
    status: Literal["passed", "failed", "skipped"]
    text: str = ""


class Skip(Exception):
    """A case that cannot be checked here; the text says why."""


def judge(case: str, problems: Callable[[], Iterable[str]]) -> Outcome:
    """Run a case's check, which yields what is wrong; empty lines say nothing.

    An exception that is no answer of the engine fails the case, and only the case: it
    is a crash of the engine, or a case that is not of its format.
    """
    try:
        text = "\n".join(line for line in problems() if line)
    except Skip as skip:
        return skipped(case, str(skip))
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = f"raised {type(error).__name__}: {error} ({place.name}, {place.lineno})"
    return Outcome(case, "failed", text) if text else Outcome(case, "passed")


def skipped(case: str, text: str) -> Outcome:
    """A case that was not checked, and why."""
    return Outcome(case, "skipped", text)


def difference(expected: Any, actual: Any, root: str = "$") -> str:
    """Where two values differ, one place a line; empty when they do not."""
    lines: list[str] = []
    for line in _differences(expected, actual, root):
        if len(lines) == SHOWN_DIFFERENCES_MAX:
            lines.append("...")
            break
        lines.append(line)
    return "\n".join(lines)


def _differences(expected: Any, actual: Any, path: str) -> Iterator[str]:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key in [*expected, *(key for key in actual if key not in expected)]:
            place = f"{path}.{key}"
            if key not in actual:
                yield f"{place}: expected {_shown(expected[key])}, actual is missing"
            elif key not in expected:
                yield f"{place}: expected nothing, actual {_shown(actual[key])}"
            else:
                yield from _differences(expected[key], actual[key], place)
    elif isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
        if len(expected) != len(actual):
            yield (
                f"{path}: expected {len(expected)} items, actual {len(actual)}: "
                f"expected {_shown(expected)}, actual {_shown(actual)}"
            )
            return
        for index, (left, right) in enumerate(zip(expected, actual, strict=True)):
            yield from _differences(left, right, f"{path}[{index}]")
    elif not _same_scalar(expected, actual):
        yield f"{path}: expected {_shown(expected)}, actual {_shown(actual)}"


def _same_scalar(expected: Any, actual: Any) -> bool:
    if _is_number(expected) and _is_number(actual):
        left, right = float(expected), float(actual)
        return left == right or (math.isnan(left) and math.isnan(right))
    return type(expected) is type(actual) and bool(expected == actual)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    text = json_text(value) if not _is_odd(value) else repr(value)
    return text if len(text) <= SHOWN_VALUE_MAX else f"{text[:SHOWN_VALUE_MAX]}..."


def _is_odd(value: Any) -> bool:
    """Whether it is no JSON at all, so that its JSON text would hide what it is."""
    if isinstance(value, float):
        return not math.isfinite(value)
    return not isinstance(value, (str, int, Mapping, list, tuple, type(None)))
