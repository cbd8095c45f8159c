"""G that cannot be changed: JSON containers as frozen subclasses of dict and list.

Why subclasses: every read and every encoder (json, msgpack, msgspec) works on them at
native speed, and `isinstance(x, dict)` holds. Only the methods that change raise, and
say what to write instead. Operators and methods that make a new value (`{**g}`,
`g | {...}`, `[*xs, x]`, `xs[1:]`, `.copy()`) give plain dicts and lists.

Rules:
- `freeze` copies every plain container and keeps every frozen one as the same object.
  So a value built from the old one costs what is new in it, and shares the rest.
- A frozen container holds only scalars and frozen containers.
- Its class says its height, the levels of containers in it: there is one subclass of
  `FDict` and of `FList` for each. So the types of the children alone, which C can
  collect, tell that a child is frozen and how deep it is; no child is looked into.
- Only this module makes frozen containers; calling the classes raises.

What Python cannot prevent: `dict.__setitem__(g, ...)`, and C functions that write into
any list (`heapq`), go behind the methods. `testing.check_game` finds games that do so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from .errors import FrozenError, InvalidJsonValueError, TooDeepError
from .jsonvalue import Json, JsonProblem, checked_key, checked_scalar, path_text
from .limits import NESTING_MAX, SAFE_INT_MAX

__all__ = [
    "DICTS",
    "EMPTY_DICT",
    "EMPTY_LIST",
    "FDict",
    "FList",
    "HEIGHTS",
    "LISTS",
    "Unfrozen",
    "enclose",
    "freeze",
    "freeze_dict",
    "freeze_list",
    "freeze_parts",
    "freeze_within",
    "placed",
    "thaw",
    "too_deep",
    "without",
]

# Levels that the engine's own records put around a value that is at the limit itself.
_ENCLOSING_LEVELS = 8

_DICT_ADVICE = "return a new one, {**old, key: value}, or change ctx.draft()"
_LIST_ADVICE = "return a new one, [*old, item], or change ctx.draft()"


def _refuse_dict(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise FrozenError(f"this dict is frozen; {_DICT_ADVICE}")


def _refuse_list(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise FrozenError(f"this list is frozen; {_LIST_ADVICE}")


class FDict(dict[str, Any]):
    """A dict that cannot be changed. Made by `freeze` alone."""

    __slots__ = ()

    __init__ = _refuse_dict
    __setitem__ = _refuse_dict
    __delitem__ = _refuse_dict
    __ior__ = _refuse_dict
    __setattr__ = _refuse_dict
    __delattr__ = _refuse_dict
    clear = _refuse_dict
    pop = _refuse_dict
    popitem = _refuse_dict
    setdefault = _refuse_dict
    update = _refuse_dict

    def __copy__(self) -> dict[str, Any]:
        """A plain dict of the same children: a copy is made to be changed."""
        return dict(self)

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        """A plain copy all the way down."""
        return _thaw_dict(self)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        """Pickle to a frozen dict again."""
        return (enclose, (dict(self),))


class FList(list[Any]):
    """A list that cannot be changed. Made by `freeze` alone."""

    __slots__ = ()

    __init__ = _refuse_list
    __setitem__ = _refuse_list
    __delitem__ = _refuse_list
    __iadd__ = _refuse_list
    __imul__ = _refuse_list
    __setattr__ = _refuse_list
    __delattr__ = _refuse_list
    append = _refuse_list
    clear = _refuse_list
    extend = _refuse_list
    insert = _refuse_list
    pop = _refuse_list
    remove = _refuse_list
    reverse = _refuse_list
    sort = _refuse_list

    def __copy__(self) -> list[Any]:
        """A plain list of the same children: a copy is made to be changed."""
        return list(self)

    def __deepcopy__(self, memo: object) -> list[Any]:
        """A plain copy all the way down."""
        return _thaw_list(self)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        """Pickle to a frozen list again."""
        return (enclose, (list(self),))


class Unfrozen:
    """A container that freezes itself, and may only do so once: a part of a draft."""

    __slots__ = ()

    def _frozen_within(self, room: int) -> Json:
        """The frozen value of what it holds now."""
        raise NotImplementedError


def freeze(value: Any, *, label: str = "the value") -> Json:
    """Return the value, frozen. What is frozen already is returned as it is.

    Plain containers (dict, list, their subclasses, tuple) are copied, never kept.
    `label` names the value in errors.

    Raises:
        InvalidJsonValueError: something in it is not JSON; the path says where.
        TooDeepError: more than `NESTING_MAX` containers inside each other, which is
            also how a value that contains itself ends.
    """
    kind = type(value)
    if value is None or HEIGHTS.get(kind, _TALLEST) <= NESTING_MAX:
        return value
    try:
        if kind is dict:
            return freeze_dict(value, NESTING_MAX)
        return freeze_within(value, NESTING_MAX)
    except JsonProblem as problem:
        raise _error(problem, label) from None


def enclose(value: object, *, label: str = "the value") -> Json:
    """Freeze a value of the engine's own around others that are frozen.

    The limit on nesting is that of what it encloses; for the rest as `freeze`.

    Raises:
        InvalidJsonValueError: something in it is not JSON; the path says where.
        TooDeepError: what it encloses is nested beyond `NESTING_MAX`.
    """
    try:
        return freeze_within(value, NESTING_MAX + _ENCLOSING_LEVELS)
    except JsonProblem as problem:
        raise _error(problem, label) from None


def freeze_parts(parts: dict[str, Json]) -> FDict:
    """Freeze a dict whose names are plain and whose values are frozen; trusts it."""
    height = 0
    for part in parts.values():
        known = HEIGHTS.get(type(part), 0)
        if known > height:
            height = known
    frozen: FDict = _new_dict(DICTS[height + 1])
    _fill_dict(frozen, parts)
    return frozen


def without(value: FDict, key: str) -> FDict:
    """The same without one key. Costs a copy of this one container, in C."""
    kept = dict(value)
    height = HEIGHTS[type(value)]
    if HEIGHTS.get(type(kept.pop(key, None)), 0) == height - 1:
        height = 1
        for kind in set(map(type, kept.values())):
            height = max(height, HEIGHTS.get(kind, 0) + 1)
    frozen: FDict = _new_dict(DICTS[height])
    _fill_dict(frozen, kept)
    return frozen


def thaw(value: Json) -> Json:
    """Return a plain copy of a frozen value, free to change and to encode."""
    if isinstance(value, dict):
        return _thaw_dict(value)
    if isinstance(value, list):
        return _thaw_list(value)
    return value


_TALLEST: Final = NESTING_MAX + _ENCLOSING_LEVELS


def _classes(family: type) -> list[type[Any]]:
    """One subclass for each height; they differ in nothing else."""
    return [
        type(family.__name__, (family,), {"__slots__": ()}) for _ in range(_TALLEST + 1)
    ]


DICTS: Final = _classes(FDict)
LISTS: Final = _classes(FList)

# The types of children that need no look, and the height of each.
HEIGHTS: Final[dict[type, int]] = {
    type(None): 0,
    bool: 0,
    **{kind: height for height, kind in enumerate(DICTS)},
    **{kind: height for height, kind in enumerate(LISTS)},
}

# Children from which on collecting their types in C is faster than a loop.
_WIDE: Final = 16

# These make and fill what the classes' own methods refuse to.
_new_dict = dict.__new__
_new_list = list.__new__
_fill_dict = dict.update
_fill_list = list.extend


def freeze_within(value: Any, room: int) -> Json:
    """Freeze a value that may hold `room` levels of containers."""
    kind = type(value)
    if kind is dict:
        return freeze_dict(value, room)
    if kind is list or kind is tuple:
        return freeze_list(value, room)
    if isinstance(value, Unfrozen):
        value = value._frozen_within(room)
        kind = type(value)
    height = HEIGHTS.get(kind)
    if height is not None:
        if height > room:
            raise too_deep()
        return value
    if isinstance(value, dict):
        return freeze_dict(dict(value), room)
    if isinstance(value, list):
        return freeze_list(list(value), room)
    return checked_scalar(value)


# The two loops below are alike on purpose: they tell the commonest kinds of children
# apart by exact type, without a call, and are most of what a step costs.


def freeze_dict(value: dict[Any, Any], room: int) -> FDict:
    if room == 0:
        raise too_deep()
    items: Iterable[tuple[Any, Any]] = value.items()
    changed: dict[str, Json] | None = None
    height = 0
    if len(value) >= _WIDE and _are_plain(value):
        names, children = list(value), list(value.values())
        places, height = _worth_a_look(children, room)
        items = [(names[at], children[at]) for at in places]
    for key, child in items:
        if type(key) is not str:
            return freeze_dict(_with_plain_keys(value), room)
        if not key.isascii():
            _check_key(key)
        if child is None:
            continue
        kind = type(child)
        if kind is str:
            if child.isascii():
                continue
        elif kind is int:
            if -SAFE_INT_MAX <= child <= SAFE_INT_MAX:
                continue
        elif kind in HEIGHTS:
            known = HEIGHTS[kind]
            if known > height:
                height = known
                if height >= room:
                    raise placed(too_deep(), key)
            continue
        try:
            if kind is list:
                child = freeze_list(child, room - 1)
            else:
                child = freeze_within(child, room - 1)
        except JsonProblem as problem:
            raise placed(problem, key) from None
        changed = changed or dict(value)
        changed[key] = child
        known = HEIGHTS.get(type(child), 0)
        if known > height:
            height = known
    frozen: FDict = _new_dict(DICTS[height + 1])
    _fill_dict(frozen, changed or value)
    return frozen


def freeze_list(value: list[Any] | tuple[Any, ...], room: int) -> FList:
    if room == 0:
        raise too_deep()
    items: Iterable[tuple[int, Any]] = enumerate(value)
    changed: list[Json] | None = None
    height = 0
    if len(value) >= _WIDE:
        places, height = _worth_a_look(value, room)
        items = [(at, value[at]) for at in places]
    for index, child in items:
        if child is None:
            continue
        kind = type(child)
        if kind is str:
            if child.isascii():
                continue
        elif kind is int:
            if -SAFE_INT_MAX <= child <= SAFE_INT_MAX:
                continue
        elif kind in HEIGHTS:
            known = HEIGHTS[kind]
            if known > height:
                height = known
                if height >= room:
                    raise placed(too_deep(), index)
            continue
        try:
            child = freeze_within(child, room - 1)
        except JsonProblem as problem:
            raise placed(problem, index) from None
        changed = changed or list(value)
        changed[index] = child
        known = HEIGHTS.get(type(child), 0)
        if known > height:
            height = known
    frozen: FList = _new_list(LISTS[height + 1])
    _fill_list(frozen, changed or value)
    return frozen


def _worth_a_look(children: Sequence[Any], room: int) -> tuple[Sequence[int], int]:
    """Where the children are that need a look, and the height of the others.

    The usual wide container is an old one of which few children are new, or a row of
    numbers or words; both are told in passes of C. Where something is wrong, all need
    the look that tells where.
    """
    kinds = set(map(type, children))
    height = 0
    new: list[type] = []
    for kind in kinds:
        known = HEIGHTS.get(kind)
        if known is not None:
            if known > height:
                height = known
                if height >= room:
                    return range(len(children)), 0
        elif kind is int or kind is str:
            if not _are_sound(kind, children, alone=len(kinds) == 1):
                return range(len(children)), 0
        elif kind is float:
            return range(len(children)), 0
        else:
            new.append(kind)
    if not new:
        return (), height
    types = list(map(type, children))
    if len(new) == 1:
        return list(_places_of(new[0], types)), height
    return sorted(at for kind in new for at in _places_of(kind, types)), height


def _are_sound(kind: type, children: Sequence[Any], *, alone: bool) -> bool:
    """Whether the children of this kind, int or str, can be stored as they are."""
    some = children
    if not alone:
        some = [child for child in children if type(child) is kind]
    if kind is str:
        return "".join(some).isascii()
    return bool(min(some) >= -SAFE_INT_MAX and max(some) <= SAFE_INT_MAX)


def _places_of(kind: type, types: list[type]) -> Iterator[int]:
    at = -1
    try:
        while True:
            at = types.index(kind, at + 1)
            yield at
    except ValueError:
        return


def _are_plain(keys: Iterable[Any]) -> bool:
    """Whether all keys are ASCII and of type str itself."""
    return set(map(type, keys)) == {str} and "".join(keys).isascii()


def _with_plain_keys(value: Mapping[Any, Any]) -> dict[str, Any]:
    """A copy whose keys are of type str itself.

    Raises:
        JsonProblem: a key is not a string, or two are the same one.
    """
    plain: dict[str, Any] = {}
    for key, child in value.items():
        name = _check_key(key)
        if name in plain:
            raise placed(JsonProblem("the key stands here twice"), name)
        plain[name] = child
    return plain


def _check_key(key: object) -> str:
    try:
        return checked_key(key)
    except JsonProblem as problem:
        raise placed(problem, key if isinstance(key, str) else "?") from None


def placed(problem: JsonProblem, place: str | int) -> JsonProblem:
    problem.path.append(place)
    return problem


def _error(problem: JsonProblem, label: str) -> InvalidJsonValueError:
    error = TooDeepError if problem.too_deep else InvalidJsonValueError
    return error(label, path_text(problem.path[::-1]), problem.problem)


def too_deep() -> JsonProblem:
    return JsonProblem(f"nested deeper than {NESTING_MAX} levels", too_deep=True)


def _thaw_dict(value: dict[str, Any]) -> dict[str, Any]:
    return {
        key: thaw(child) if isinstance(child, (dict, list)) else child
        for key, child in value.items()
    }


def _thaw_list(value: list[Any]) -> list[Any]:
    return [
        thaw(child) if isinstance(child, (dict, list)) else child for child in value
    ]


EMPTY_DICT: Final[FDict] = freeze({})
EMPTY_LIST: Final[FList] = freeze([])
