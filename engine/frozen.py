"""G that cannot be changed: JSON containers as frozen subclasses of dict and list.

Why subclasses: every read and every encoder (json, msgpack, msgspec) works on them at
native speed, and `isinstance(x, dict)` holds. Only the methods that change raise, and
say what to write instead. Operators and methods that make a new value (`{**g}`,
`g | {...}`, `[*xs, x]`, `xs[1:]`, `.copy()`) give plain dicts and lists.

Rules:
- `freeze` copies every plain container and keeps every frozen one as the same object.
  So a value built from the old one costs what is new in it, and shares the rest.
- A frozen container holds only scalars and frozen containers, and knows its height (the
  nesting inside it), so that the limit on nesting holds without looking inside.
- Only this module makes frozen containers; calling the classes raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from .errors import FrozenError, InvalidJsonValueError, TooDeepError
from .jsonvalue import Json, JsonProblem, checked_key, checked_scalar, path_text
from .limits import NESTING_MAX, SAFE_INT_MAX

__all__ = ["EMPTY_DICT", "EMPTY_LIST", "FDict", "FList", "freeze", "thaw"]

_DICT_ADVICE = "return a new one: {**old, key: value}"
_LIST_ADVICE = "return a new one: [*old, item]"


def _refuse_dict(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise FrozenError(f"this dict is frozen; {_DICT_ADVICE}")


def _refuse_list(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise FrozenError(f"this list is frozen; {_LIST_ADVICE}")


class FDict(dict[str, Any]):
    """A dict that cannot be changed. Made by `freeze` alone."""

    __slots__ = ("_height",)

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
        return (freeze, (dict(self),))


class FList(list[Any]):
    """A list that cannot be changed. Made by `freeze` alone."""

    __slots__ = ("_height",)

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
        return (freeze, (list(self),))


def freeze(value: object, *, label: str = "the value") -> Json:
    """Return the value, frozen. What is frozen already is returned as it is.

    Plain containers (dict, list, their subclasses, tuple) are copied, never kept.
    `label` names the value in errors.

    Raises:
        InvalidJsonValueError: something in it is not JSON; the path says where.
        TooDeepError: more than `NESTING_MAX` containers inside each other, which is
            also how a value that contains itself ends.
    """
    kind = type(value)
    if kind is FDict or kind is FList or value is None:
        return value
    try:
        return _freeze(value, NESTING_MAX)
    except JsonProblem as problem:
        path = path_text(problem.path[::-1])
        error = TooDeepError if problem.too_deep else InvalidJsonValueError
        raise error(label, path, problem.problem) from None


def thaw(value: Json) -> Json:
    """Return a plain copy of a frozen value, free to change and to encode."""
    if isinstance(value, dict):
        return _thaw_dict(value)
    if isinstance(value, list):
        return _thaw_list(value)
    return value


# The descriptors write what __setattr__ refuses; the bare constructors make what
# __init__ refuses. All four are C functions: this is the engine's hottest path.
_new_dict = dict.__new__
_new_list = list.__new__
_fill_dict = dict.update
_fill_list = list.extend
_put_dict = dict.__setitem__
_put_list = list.__setitem__
_set_dict_height = FDict.__dict__["_height"].__set__
_set_list_height = FList.__dict__["_height"].__set__


def _freeze(value: object, room: int) -> Json:
    """Freeze a value that may hold `room` levels of containers."""
    if isinstance(value, (list, tuple)):
        if isinstance(value, list) or type(value) is tuple:
            return _freeze_list(value, room)
        raise JsonProblem(f"{type(value).__name__} is not a JSON type")
    if isinstance(value, dict):
        return _freeze_dict(value, room)
    return checked_scalar(value)


def _freeze_dict(value: dict[Any, Any], room: int) -> FDict:
    if room == 0:
        raise _too_deep()
    frozen: FDict = _new_dict(FDict)
    _fill_dict(frozen, value)
    for key in frozen:
        if type(key) is not str or not key.isascii():
            checked = _with_checked_keys(frozen)
            frozen = _new_dict(FDict)
            _fill_dict(frozen, checked)
            break
    changed, height = _frozen_children(frozen.items(), room)
    for name, child in changed:
        _put_dict(frozen, name, child)
    _set_dict_height(frozen, height + 1)
    return frozen


def _freeze_list(value: list[Any] | tuple[Any, ...], room: int) -> FList:
    if room == 0:
        raise _too_deep()
    frozen: FList = _new_list(FList)
    _fill_list(frozen, value)
    changed, height = _frozen_children(enumerate(frozen), room)
    for index, child in changed:
        _put_list(frozen, index, child)
    _set_list_height(frozen, height + 1)
    return frozen


def _frozen_children(items: Any, room: int) -> tuple[list[tuple[Any, Json]], int]:
    """Check children; return those that must be replaced, and the greatest height.

    The commonest kinds are told apart here, by exact type and without a call.
    """
    changed: list[tuple[Any, Json]] = []
    height = 0
    for place, child in items:
        kind = type(child)
        if child is None or kind is bool:
            continue
        if kind is str:
            if child.isascii():
                continue
        elif kind is int:
            if -SAFE_INT_MAX <= child <= SAFE_INT_MAX:
                continue
        elif kind is FDict or kind is FList:
            if child._height > height:
                height = child._height
                if height >= room:
                    raise _placed(_too_deep(), place)
            continue
        try:
            frozen = _freeze(child, room - 1)
        except JsonProblem as problem:
            raise _placed(problem, place) from None
        if type(frozen) in _CONTAINERS and frozen._height > height:
            height = frozen._height
        changed.append((place, frozen))
    return changed, height


_CONTAINERS: Final = frozenset({FDict, FList})


def _with_checked_keys(value: Mapping[Any, Any]) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for key, child in value.items():
        try:
            name = checked_key(key)
        except JsonProblem as problem:
            raise _placed(problem, str(key) if isinstance(key, str) else "?") from None
        if name in checked:
            raise _placed(JsonProblem("the key stands here twice"), name)
        checked[name] = child
    return checked


def _placed(problem: JsonProblem, place: str | int) -> JsonProblem:
    problem.path.append(place)
    return problem


def _too_deep() -> JsonProblem:
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
