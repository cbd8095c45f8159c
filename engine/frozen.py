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

__all__ = ["EMPTY_DICT", "EMPTY_LIST", "FDict", "FList", "enclose", "freeze", "thaw"]

# Levels that the engine's own records put around a value that is at the limit itself.
_ENCLOSING_LEVELS = 8

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
        return (enclose, (dict(self),))


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
        return (enclose, (list(self),))


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
    if (kind is FDict or kind is FList) and value._height <= NESTING_MAX:
        return value
    try:
        return _freeze(value, NESTING_MAX)
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
        return _freeze(value, NESTING_MAX + _ENCLOSING_LEVELS)
    except JsonProblem as problem:
        raise _error(problem, label) from None


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


def _freeze(value: Any, room: int) -> Json:
    """Freeze a value that may hold `room` levels of containers."""
    kind = type(value)
    if kind is dict:
        return _freeze_dict(value, room)
    if kind is list or kind is tuple:
        return _freeze_list(value, room)
    if kind is FDict or kind is FList:
        if value._height > room:
            raise _too_deep()
        return value
    if isinstance(value, dict):
        return _freeze_dict(value, room)
    if isinstance(value, list):
        return _freeze_list(value, room)
    return checked_scalar(value)


# The two loops below are alike on purpose: they tell the commonest kinds of children
# apart by exact type, without a call, and are most of what a step costs.


def _freeze_dict(value: dict[Any, Any], room: int) -> FDict:
    if room == 0:
        raise _too_deep()
    frozen: FDict = _new_dict(FDict)
    _fill_dict(frozen, value)
    height = 0
    for key, child in frozen.items():
        if type(key) is not str:
            return _freeze_dict(_with_plain_keys(frozen), room)
        if not key.isascii():
            _check_key(key)
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
                    raise _placed(_too_deep(), key)
            continue
        try:
            child = _freeze(child, room - 1)
        except JsonProblem as problem:
            raise _placed(problem, key) from None
        _put_dict(frozen, key, child)
        if (type(child) is FList or type(child) is FDict) and child._height > height:
            height = child._height
    _set_dict_height(frozen, height + 1)
    return frozen


def _freeze_list(value: list[Any] | tuple[Any, ...], room: int) -> FList:
    if room == 0:
        raise _too_deep()
    frozen: FList = _new_list(FList)
    _fill_list(frozen, value)
    height = 0
    for index, child in enumerate(frozen):
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
                    raise _placed(_too_deep(), index)
            continue
        try:
            child = _freeze(child, room - 1)
        except JsonProblem as problem:
            raise _placed(problem, index) from None
        _put_list(frozen, index, child)
        if (type(child) is FList or type(child) is FDict) and child._height > height:
            height = child._height
    _set_list_height(frozen, height + 1)
    return frozen


def _with_plain_keys(value: Mapping[Any, Any]) -> dict[str, Any]:
    """A copy whose keys are of type str itself.

    Raises:
        JsonProblem: a key is not a string, or two are the same one.
    """
    plain: dict[str, Any] = {}
    for key, child in value.items():
        name = _check_key(key)
        if name in plain:
            raise _placed(JsonProblem("the key stands here twice"), name)
        plain[name] = child
    return plain


def _check_key(key: object) -> str:
    try:
        return checked_key(key)
    except JsonProblem as problem:
        raise _placed(problem, key if isinstance(key, str) else "?") from None


def _placed(problem: JsonProblem, place: str | int) -> JsonProblem:
    problem.path.append(place)
    return problem


def _error(problem: JsonProblem, label: str) -> InvalidJsonValueError:
    error = TooDeepError if problem.too_deep else InvalidJsonValueError
    return error(label, path_text(problem.path[::-1]), problem.problem)


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
