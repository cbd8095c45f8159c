"""JSON Patch (RFC 6902) over JSON Pointer (RFC 6901), on values that cannot change.

`apply_patch` gives a new value, which shares with the old one what the patch did not
touch: an operation costs the containers on its path. `make_patch` gives a patch that
leads from one value to another.

Rules:
- A patch is applied as a whole or not at all, and its operations in order.
- What the RFC leaves open is refused: taking away the whole document, indexes with
  leading zeros, a pointer that does not begin with a slash.
- Values are equal as the digests say: 1 is 1.0, true is not 1.
- What `copy` multiplies is bounded by its packed size: a short patch could ask for more
  than any memory holds.
- A patch that was made keeps the order of keys: a game may look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ..digest import canonical_bytes
from ..errors import EngineError, InvalidJsonValueError
from ..frozen import freeze
from ..jsonvalue import Json
from ..limits import G_BYTES_HARD_MAX, PATCH_OPERATIONS_MAX

__all__ = ["PatchError", "apply_patch", "make_patch"]

# Characters of a path in an error.
_SHOWN_MAX: Final = 100

Tokens: TypeAlias = "tuple[str, ...]"

_OPERATIONS: Final = ("add", "remove", "replace", "move", "copy", "test")

# The index behind a list's last item.
_END: Final = "-"


class PatchError(EngineError):
    """A patch does not apply. `index` is the operation's, from 0; `path` its place.

    `index` is None: this is no patch at all.
    """

    code = "patch_failed"

    def __init__(self, why: str, index: int | None = None, path: str = "") -> None:
        self.why = why
        self.index = index
        self.path = path
        at = "" if index is None else f'operation {index} at "{path}": '
        super().__init__(f"{at}{why}")


def apply_patch(value: Json, patch: Json) -> Json:
    """The frozen value after a patch; both are frozen.

    Raises:
        PatchError: The patch does not apply; nothing is changed.
    """
    if not isinstance(patch, list):
        raise PatchError("a patch is a list of operations")
    if len(patch) > PATCH_OPERATIONS_MAX:
        raise PatchError(
            f"{len(patch):,} operations; the limit is {PATCH_OPERATIONS_MAX:,}"
        )
    copied = 0
    for index, operation in enumerate(patch):
        path = operation.get("path") if isinstance(operation, Mapping) else None
        try:
            changed, size = _done(value, operation, G_BYTES_HARD_MAX - copied)
            value = freeze(changed, label="the value")
        except (_Problem, InvalidJsonValueError) as problem:
            shown = path[:_SHOWN_MAX] if isinstance(path, str) else ""
            raise PatchError(str(problem), index, shown) from None
        copied += size
    return value


def make_patch(before: Json, after: Json) -> list[Json]:
    """A patch that leads from one frozen value to another, keys in order too."""
    made: list[Json] = []
    _compare(before, after, "", made)
    return made


class _Problem(Exception):
    """Why an operation does not apply."""


def _done(value: Json, operation: Json, room: int) -> tuple[Json, int]:
    """The value after one operation, and the bytes that were copied."""
    if not isinstance(operation, Mapping):
        raise _Problem("an operation is an object")
    kind = operation.get("op")
    if kind not in _OPERATIONS:
        raise _Problem(f"op is one of {', '.join(_OPERATIONS)}, not {kind!r:.40}")
    path = _tokens(operation, "path")
    if kind == "remove":
        return _removed(value, path), 0
    if kind == "move":
        return _moved(value, _tokens(operation, "from"), path), 0
    if kind == "copy":
        part = _found(value, _tokens(operation, "from"))
        size = len(canonical_bytes(part))
        if size > room:
            raise _Problem(f"more than {G_BYTES_HARD_MAX:,} bytes are copied")
        return _added(value, path, part), size
    if "value" not in operation:
        raise _Problem(f"{kind} needs a value")
    given = operation["value"]
    if kind == "add":
        return _added(value, path, given), 0
    found = _found(value, path)
    if kind == "replace":
        return _changed(value, path, lambda place, key: _set(place, key, given)), 0
    if canonical_bytes(found) != canonical_bytes(given):
        raise _Problem("the value there is another one")
    return value, 0


def _tokens(operation: Mapping[str, Json], name: str) -> Tokens:
    """The reference tokens of a pointer."""
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        raise _Problem(f"{name} is a JSON pointer, as in /board/3")
    if pointer == "":
        return ()
    if pointer[0] != "/":
        raise _Problem(f'{name} "{pointer:.80}" does not begin with a slash')
    tokens = pointer[1:].split("/")
    for token in tokens:
        if "~" in token.replace("~0", "").replace("~1", ""):
            raise _Problem("a tilde is written ~0, and a slash in a key ~1")
    return tuple([t.replace("~1", "/").replace("~0", "~") for t in tokens])


def _found(value: Json, tokens: Tokens) -> Json:
    for token in tokens:
        value = value[_key(value, token)]
    return value


def _key(place: Json, token: str, *, new: bool = False) -> Any:
    """The key or index that a token means; with `new` it need not be there yet."""
    if isinstance(place, Mapping):
        if not new and token not in place:
            raise _Problem(f'there is no key "{token:.80}"')
        return token
    if not isinstance(place, Sequence) or isinstance(place, str):
        raise _Problem(f'"{token:.80}" leads into a value that is no container')
    length = len(place)
    if new and token == _END:
        return length
    plain = token.isascii() and token.isdigit()
    if not plain or (token[0] == "0" and token != "0"):
        raise _Problem(f'"{token:.80}" is no index of a list')
    index = int(token) if len(token) <= len(str(length)) else length + 1
    if index >= length + new:
        raise _Problem(f"the list has {length} items: no index {token:.20}")
    return index


def _changed(
    value: Json, tokens: Tokens, change: Callable[[Json, Any], Json], new: bool = False
) -> Json:
    """The value with another container where the last token points into."""
    if not tokens:
        return change([value], 0)[0]
    token, rest = tokens[0], tokens[1:]
    if not rest:
        return change(value, _key(value, token, new=new))
    key = _key(value, token)
    return _set(value, key, _changed(value[key], rest, change, new))


def _set(place: Json, key: Any, value: Json) -> Json:
    if isinstance(place, Mapping):
        return {**place, key: value}
    return [*place[:key], value, *place[key + 1 :]]


def _added(value: Json, tokens: Tokens, part: Json) -> Json:
    if not tokens:
        return part

    def add(place: Json, key: Any) -> Json:
        if isinstance(place, Mapping):
            return {**place, key: part}
        return [*place[:key], part, *place[key:]]

    return _changed(value, tokens, add, new=True)


def _removed(value: Json, tokens: Tokens) -> Json:
    if not tokens:
        raise _Problem("the whole cannot be taken away")

    def remove(place: Json, key: Any) -> Json:
        if isinstance(place, Mapping):
            return {name: part for name, part in place.items() if name != key}
        return [*place[:key], *place[key + 1 :]]

    return _changed(value, tokens, remove)


def _moved(value: Json, source: Tokens, target: Tokens) -> Json:
    if source == target[: len(source)] and len(source) < len(target):
        raise _Problem("a value cannot be moved into itself")
    part = _found(value, source)
    return value if source == target else _added(_removed(value, source), target, part)


def _compare(before: Json, after: Json, path: str, made: list[Json]) -> None:
    if before is after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        kept = [key for key in before if key in after]
        if [*kept, *(key for key in after if key not in before)] == list(after):
            _compare_keys(before, after, path, made)
            return
    elif isinstance(before, list) and isinstance(after, list):
        _compare_items(before, after, path, made)
        return
    if canonical_bytes(before) != canonical_bytes(after) or isinstance(after, Mapping):
        made.append({"op": "replace", "path": path, "value": after})


def _compare_keys(
    before: Mapping[str, Json], after: Mapping[str, Json], path: str, made: list[Json]
) -> None:
    for key in before:
        if key not in after:
            made.append({"op": "remove", "path": _below(path, key)})
    for key, part in after.items():
        if key in before:
            _compare(before[key], part, _below(path, key), made)
        else:
            made.append({"op": "add", "path": _below(path, key), "value": part})


def _compare_items(
    before: Sequence[Json], after: Sequence[Json], path: str, made: list[Json]
) -> None:
    shared = min(len(before), len(after))
    for index in range(shared):
        _compare(before[index], after[index], f"{path}/{index}", made)
    for index in range(len(before) - 1, shared - 1, -1):
        made.append({"op": "remove", "path": f"{path}/{index}"})
    for part in after[shared:]:
        made.append({"op": "add", "path": f"{path}/{_END}", "value": part})


def _below(path: str, key: str) -> str:
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
