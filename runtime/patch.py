"""A value said as what differs from another one that it shares much with.

`patch(old, new)` is JSON; `patched(old, patch(old, new))` equals `new`, in the order of
its keys too, and shares with `old` what it did not change. Making it costs what
differs where the two share parts, as two snapshots of a match do.

A patch is one of
    0                       the same
    [1, value]              replaced
    [2, [[key, patch]…]]    a dict with the same keys in the same order
    [3, [[key, patch]…], [key…]]  a dict; these are its keys, in order
    [4, [[index, patch]…], size]  a list: changed places, items behind the old end too
"""

from __future__ import annotations

from typing import Any, Final

from ..engine.frozen import enclose
from ..engine.jsonvalue import Json
from .errors import ContentMalformed

__all__ = ["patch", "patched"]

_SAME: Final = 0
_VALUE, _KEPT_KEYS, _DICT, _LIST = 1, 2, 3, 4


def patch(old: Json, new: Json) -> Json:
    """What turns `old` into `new`; both frozen."""
    if new is old:
        return _SAME
    if isinstance(new, dict) and isinstance(old, dict):
        return _dict_patch(old, new)
    if isinstance(new, list) and isinstance(old, list):
        return _list_patch(old, new)
    if type(new) is type(old) and new == old:
        return _SAME
    return [_VALUE, new]


def patched(old: Json, change: Any) -> Json:
    """The value that `patch` was made for, frozen.

    Raises:
        ContentMalformed: `change` is no patch of `old`.
    """
    try:
        return _patched(old, change)
    except (
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise ContentMalformed(f"a patch that does not fit: {error!r:.200}") from error


def _dict_patch(old: dict[str, Json], new: dict[str, Json]) -> Json:
    changed = []
    for key, child in new.items():
        if key not in old:
            changed.append([key, [_VALUE, child]])
        elif (part := patch(old[key], child)) != _SAME:
            changed.append([key, part])
    if list(old) == list(new):
        return [_KEPT_KEYS, changed] if changed else _SAME
    return [_DICT, changed, list(new)]


def _list_patch(old: list[Json], new: list[Json]) -> Json:
    changed = []
    for index, child in enumerate(new):
        if index >= len(old):
            changed.append([index, [_VALUE, child]])
        elif (part := patch(old[index], child)) != _SAME:
            changed.append([index, part])
    if not changed and len(old) == len(new):
        return _SAME
    return [_LIST, changed, len(new)]


def _patched(old: Any, change: Any) -> Json:
    if type(change) is int and change == _SAME:
        return old
    kind, *rest = change
    if kind == _VALUE:
        (new,) = rest
    elif kind == _LIST:
        new = _patched_list(old, *rest)
    elif kind in (_DICT, _KEPT_KEYS):
        new = _patched_dict(old, *rest)
    else:
        raise ValueError("a patch of an unknown kind")
    return enclose(new)


def _patched_dict(old: dict[str, Json], changed: Any, keys: Any = None) -> Json:
    new: dict[str, Json] = dict(old)
    for key, part in changed:
        new[key] = _patched(old.get(key), part)
    return new if keys is None else {key: new[key] for key in keys}


def _patched_list(old: list[Json], changed: Any, size: int) -> Json:
    new: list[Json] = list(old[:size])
    for index, part in changed:
        if index == len(new) < size:
            new.append(_patched(None, part))
        elif index >= 0:
            new[index] = _patched(new[index], part)
    if len(new) != size:
        raise ValueError("a list of another size")
    return new
