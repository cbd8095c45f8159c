"""How two JSON values differ: one entry for each place, with what was and what is.

What two frozen values share is not looked into, so the diff of two neighbours in a
match costs what changed. The order of keys, and that an absent key is a null, are the
reference implementation's: its inspector shows the same entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

import msgspec

from .jsonvalue import Json

__all__ = ["ValueChange", "diff_values", "iter_changes"]


class ValueChange(msgspec.Struct, frozen=True):
    """One place that differs. What is absent on a side is None there."""

    path: str
    """From `$`, such as `$.board[3].owner`. Keys are not escaped."""
    before: Json
    after: Json


def diff_values(before: Json, after: Json, path: str = "$") -> list[ValueChange]:
    """Every place where two values differ, in order. Empty when they are equal."""
    return list(iter_changes(before, after, path))


def iter_changes(before: Json, after: Json, path: str = "$") -> Iterator[ValueChange]:
    """As `diff_values`, one at a time: the first one costs no more than itself."""
    if before is after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in _keys(before, after):
            yield from iter_changes(before.get(key), after.get(key), f"{path}.{key}")
    elif isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        for index, (old, new) in enumerate(zip_longest(before, after)):
            yield from iter_changes(old, new, f"{path}[{index}]")
    elif not _same(before, after):
        yield ValueChange(path, before, after)


def _same(before: Json, after: Json) -> bool:
    """Equal as JSON: 1 is 1.0, but true is not 1."""
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    return bool(before == after)


def _keys(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The keys of `before`, then the new ones; each as JavaScript lists them."""
    new = [key for key in after if key not in before]
    return [*sorted(before, key=_rank), *sorted(new, key=_rank)]


def _rank(key: str) -> tuple[int, int]:
    """Integer-like keys come first, ascending; the others stay as they stand."""
    if key.isascii() and key.isdigit() and (key == "0" or key[0] != "0"):
        return (0, int(key))
    return (1, 0)
