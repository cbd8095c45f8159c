"""The part of a draft that is a list. What the classes mean: `drafting.py`.

Some C functions write into a list behind its methods (`heapq` does). So what a list
recorded is compared with what it holds before it is relied on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import index as as_index
from operator import is_
from typing import Any, NoReturn

from .drafting import (
    OPENERS,
    Drafted,
    Family,
    adopted,
    height_of,
    refuse_finished,
    settled,
)
from .errors import DraftError
from .frozen import HEIGHTS, LISTS, FList, freeze_list, thaw
from .jsonvalue import Json, JsonProblem

__all__ = ["DraftList", "open_list"]

# The content as it stands, behind the methods that record and open.
_new = list.__new__
_get = list.__getitem__
_set = list.__setitem__
_delete = list.__delitem__
_append = list.append
_extend = list.extend
_pop = list.pop
_content = list.copy
_iterate = list.__iter__


class DraftList(list[Any], Drafted):
    """A list that records what is done to it."""

    __slots__ = ("_family", "_looked", "_origin", "_value")

    def __init__(self, *args: object) -> None:
        raise TypeError("a draft is made by ctx.draft(), or by draft(G)")

    def __setitem__(self, place: Any, value: Any) -> None:
        if isinstance(place, slice):
            _set(self, place, adopted(value, self._family))
            self._looked = None
            return
        if type(value) in OPENERS:
            value = OPENERS[type(value)](value, self._family)
        _set(self, place, value)
        if self._looked is not None:
            at = as_index(place)
            self._looked[at + len(self) if at < 0 else at] = False

    def __delitem__(self, place: Any) -> None:
        _delete(self, place)
        self._looked = None

    def append(self, value: Any) -> None:
        """As of a list."""
        if type(value) in OPENERS:
            value = OPENERS[type(value)](value, self._family)
        if self._looked is not None:
            self._looked[len(self)] = False
        _append(self, value)

    def extend(self, values: Iterable[Any]) -> None:
        """As of a list."""
        added = adopted(values, self._family)
        if self._looked is not None:
            at = len(self)
            self._looked.update(dict.fromkeys(range(at, at + len(added)), False))
        _extend(self, added)

    def __iadd__(self, values: Iterable[Any]) -> DraftList:  # type: ignore[misc]
        self.extend(values)
        return self

    def __imul__(self, times: Any) -> DraftList:  # type: ignore[misc]
        times = as_index(times)
        self[:] = [*self] * times
        return self

    def insert(self, place: Any, value: Any) -> None:
        """As of a list."""
        list.insert(self, place, *adopted((value,), self._family))
        self._looked = None

    def pop(self, place: Any = -1) -> Any:
        """As of a list; the child remains a part of the draft, free to move."""
        value = _pop(self, place)
        if place != -1:
            self._looked = None
        if type(value) in OPENERS:
            return OPENERS[type(value)](value, self._family)
        return value

    def remove(self, value: Any) -> None:
        """As of a list."""
        list.remove(self, value)
        self._looked = None

    def reverse(self) -> None:
        """As of a list."""
        list.reverse(self)
        self._looked = None

    def sort(self, **how: Any) -> None:
        """As of a list."""
        self._looked = None
        list.sort(self, **how)

    def clear(self) -> None:
        """As of a list."""
        list.clear(self)
        self._looked = None

    def __copy__(self) -> list[Any]:
        """A plain list of the same children, as of `copy()`."""
        return self.copy()

    def __deepcopy__(self, memo: object) -> Json:
        """A plain copy all the way down; no part of the draft."""
        return thaw(_content(self))

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        """Pickle to a plain list."""
        return (list, (thaw(_content(self)),))

    def _frozen_within(self, room: int) -> Json:
        was = type(self)
        self.__class__ = FreezingList
        try:
            value = self._value = self._frozen(room)
        except BaseException:
            self.__class__ = was
            raise
        self.__class__ = FinishedList
        return value

    def _frozen(self, room: int) -> FList:
        """What it holds, frozen; its origin if nothing is different."""
        origin, looked, content = self._origin, self._looked, _content(self)
        if looked is None or not _explains(looked, origin, content):
            return freeze_list(content, room)
        length, known = len(content), len(origin)
        changed = length != known
        # What was popped may have been the tallest.
        old = HEIGHTS[type(origin)] if length < known else 0
        new = 0
        for at in looked:
            if at >= length:
                continue
            child = content[at] = settled(content[at], room, at)
            if at < known:
                before = origin[at]
                if child is before:
                    continue
                changed = True
                height = HEIGHTS.get(type(before), 0)
                if height > old:
                    old = height
            height = HEIGHTS.get(type(child), 0)
            if height > new:
                new = height
        if not changed:
            return origin  # type: ignore[no-any-return]
        height = height_of(HEIGHTS[type(origin)], old, new, content)
        frozen: FList = _new(LISTS[height])
        _extend(frozen, content)
        return frozen

    def _close(self) -> None:
        self._value = None
        self.__class__ = FinishedList


class TallList(DraftList):
    """A list that opens its frozen children as they are read."""

    __slots__ = ()

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            for at in range(*place.indices(len(self))):
                self[at]
            return _get(self, place)
        child = _get(self, place)
        if type(child) not in OPENERS:
            return child
        child = OPENERS[type(child)](child, self._family)
        at = as_index(place)
        at = at + len(self) if at < 0 else at
        _set(self, at, child)
        if self._looked is not None:
            self._looked[at] = False
        return child

    def __iter__(self) -> Iterator[Any]:
        self._open_all()
        return _iterate(self)

    def __reversed__(self) -> Iterator[Any]:
        self._open_all()
        return list.__reversed__(self)

    def __add__(self, other: Any) -> Any:
        return [*self, *other] if isinstance(other, list) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return [*other, *self] if isinstance(other, list) else NotImplemented

    def __mul__(self, times: Any) -> list[Any]:
        self._open_all()
        return list.__mul__(self, times)

    __rmul__ = __mul__

    def copy(self) -> list[Any]:
        """As of a list."""
        self._open_all()
        return _content(self)

    def _open_all(self) -> None:
        if OPENERS.keys().isdisjoint(map(type, _iterate(self))):
            return
        for at in range(len(self)):
            self[at]


class FreezingList(DraftList):
    """On its way to be frozen: whoever meets it again has come around a circle."""

    __slots__ = ()

    def _frozen_within(self, room: int) -> NoReturn:
        raise JsonProblem("it contains itself", too_deep=True)


class FinishedList(DraftList):
    """Frozen. Its value can still be placed elsewhere in the same answer."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<finished draft of a list>"

    def _frozen_within(self, room: int) -> Json:
        if self._value is None:
            raise DraftError("a draft of another step was returned; ask for a new one")
        return self._value


for _name in (
    *("__getitem__", "__setitem__", "__delitem__", "__contains__", "__iter__"),
    *("__len__", "__reversed__", "__eq__", "__ne__", "__lt__", "__le__"),
    *("__gt__", "__ge__", "__add__", "__radd__", "__mul__", "__rmul__"),
    *("__iadd__", "__imul__", "__copy__", "__deepcopy__", "__reduce_ex__"),
    *("append", "clear", "copy", "count", "extend", "index", "insert", "pop"),
    *("remove", "reverse", "sort"),
):
    setattr(FinishedList, _name, refuse_finished)


def open_list(origin: FList, family: Family) -> DraftList:
    """A part that begins as a copy of the origin."""
    tall = HEIGHTS[type(origin)] > 1
    part: DraftList = _new(TallList if tall else DraftList)
    _extend(part, _content(origin))
    part._origin = origin
    part._looked = {}
    part._family = family
    family.append(part)
    return part


def _explains(looked: dict[int, bool], origin: FList, content: list[Any]) -> bool:
    """Whether the recorded places are all that differs.

    Children that stayed are the same objects. Equal ones will not do: True is no 1.
    """
    expected = _content(origin)
    length, known = len(content), len(origin)
    if length < known:
        del expected[length:]
    for at in looked:
        if at < known:
            if at < length:
                expected[at] = content[at]
        elif at < length:
            expected.append(None)
    if len(expected) != length:
        return False
    expected[known:] = content[known:]
    return all(map(is_, expected, content))


OPENERS.update(dict.fromkeys(LISTS, open_list))
