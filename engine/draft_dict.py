"""The part of a draft that is a dict. What the classes mean: `drafting.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NoReturn

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
from .frozen import DICTS, HEIGHTS, FDict, freeze_dict, thaw
from .jsonvalue import Json, JsonProblem

__all__ = ["DraftDict", "open_dict"]

# The content as it stands, behind the methods that record and open.
_new = dict.__new__
_get = dict.__getitem__
_set = dict.__setitem__
_delete = dict.__delitem__
_pop = dict.pop
_popitem = dict.popitem
_update = dict.update
_items = dict.items

_ABSENT: Final = object()


class DraftDict(dict[str, Any], Drafted):
    """A dict that records what is done to it."""

    __slots__ = ("_family", "_looked", "_origin", "_value")

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise TypeError("a draft is made by ctx.draft(), or by draft(G)")

    @staticmethod
    def fromkeys(*args: Any) -> dict[Any, Any]:
        """A plain dict, as of any dict."""
        return dict.fromkeys(*args)

    def __setitem__(self, key: str, value: Any) -> None:
        if type(value) in OPENERS:
            value = OPENERS[type(value)](value, self._family)
        _set(self, key, value)
        if self._looked is not None:
            self._looked.setdefault(key, False)

    def __delitem__(self, key: str) -> None:
        _delete(self, key)
        if self._looked is not None:
            self._looked[key] = True

    def pop(self, key: str, *default: Any) -> Any:
        """As of a dict; the child remains a part of the draft, free to move."""
        value = _pop(self, key, *default)
        if self._looked is not None:
            self._looked[key] = True
        if type(value) in OPENERS:
            return OPENERS[type(value)](value, self._family)
        return value

    def popitem(self) -> tuple[str, Any]:
        """As of a dict; the child remains a part of the draft, free to move."""
        key, value = _popitem(self)
        if self._looked is not None:
            self._looked[key] = True
        if type(value) in OPENERS:
            value = OPENERS[type(value)](value, self._family)
        return key, value

    def setdefault(self, key: str, default: Any = None) -> Any:
        """As of a dict."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *args: Any, **kwargs: Any) -> None:
        """As of a dict, all at once: a source that fails has changed nothing."""
        given = dict(*args, **kwargs)
        _update(self, zip(given, adopted(given.values(), self._family), strict=True))
        if self._looked is not None:
            for key in given:
                self._looked.setdefault(key, False)

    def __ior__(self, other: Any) -> DraftDict:  # type: ignore[override,misc]
        self.update(other)
        return self

    def clear(self) -> None:
        """As of a dict."""
        dict.clear(self)
        self._looked = None

    def __copy__(self) -> dict[str, Any]:
        """A plain dict of the same children, as of `copy()`."""
        return self.copy()

    def __deepcopy__(self, memo: object) -> Json:
        """A plain copy all the way down; no part of the draft."""
        return thaw(dict(_items(self)))

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        """Pickle to a plain dict."""
        return (dict, (thaw(dict(_items(self))),))

    def _frozen_within(self, room: int) -> Json:
        was = type(self)
        self.__class__ = FreezingDict
        try:
            value = self._value = self._frozen(room)
        except BaseException:
            self.__class__ = was
            raise
        self.__class__ = FinishedDict
        return value

    def _frozen(self, room: int) -> FDict:
        """What it holds, frozen; its origin if nothing is different."""
        origin, looked = self._origin, self._looked
        if looked is None:
            return freeze_dict(dict(self), room)
        changed = False
        old = new = 0
        for key, removed in looked.items():
            if type(key) is not str or not key.isascii():
                return freeze_dict(dict(self), room)
            before = origin.get(key, _ABSENT)
            child = self.get(key, _ABSENT)
            if child is not _ABSENT:
                child = settled(child, room, key)
            if child is before and not removed:
                _set(self, key, child)
                continue
            changed = True
            height = HEIGHTS.get(type(before), 0)
            if height > old:
                old = height
            if child is not _ABSENT:
                _set(self, key, child)
                height = HEIGHTS.get(type(child), 0)
                if height > new:
                    new = height
        if not changed:
            return origin  # type: ignore[no-any-return]
        height = height_of(HEIGHTS[type(origin)], old, new, self.values())
        frozen: FDict = _new(DICTS[height])
        _update(frozen, self)
        return frozen

    def _close(self) -> None:
        self._value = None
        self.__class__ = FinishedDict


class TallDict(DraftDict):
    """A dict that opens its frozen children as they are read."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        child = _get(self, key)
        if type(child) not in OPENERS:
            return child
        child = OPENERS[type(child)](child, self._family)
        _set(self, key, child)
        if self._looked is not None:
            self._looked.setdefault(key, False)
        return child

    def __iter__(self) -> Iterator[str]:
        # Like that of dict; but that it is there makes C code that copies a dict, such
        # as {**draft}, ask for the children one by one, and so get opened ones.
        return dict.__iter__(self)

    def get(self, key: str, default: Any = None) -> Any:
        """As of a dict."""
        return self[key] if key in self else default  # noqa: SIM401

    def values(self) -> Any:
        """As of a dict."""
        self._open_all()
        return dict.values(self)

    def items(self) -> Any:
        """As of a dict."""
        self._open_all()
        return _items(self)

    def _open_all(self) -> None:
        for key in [key for key, child in _items(self) if type(child) in OPENERS]:
            self[key]


class FreezingDict(DraftDict):
    """On its way to be frozen: whoever meets it again has come around a circle."""

    __slots__ = ()

    def _frozen_within(self, room: int) -> NoReturn:
        raise JsonProblem("it contains itself", too_deep=True)


class FinishedDict(DraftDict):
    """Frozen. Its value can still be placed elsewhere in the same answer."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<finished draft of a dict>"

    def _frozen_within(self, room: int) -> Json:
        if self._value is None:
            raise DraftError("a draft of another step was returned; ask for a new one")
        return self._value


for _name in (
    *("__getitem__", "__setitem__", "__delitem__", "__contains__", "__iter__"),
    *("__len__", "__reversed__", "__eq__", "__ne__", "__or__", "__ror__"),
    *("__ior__", "__copy__", "__deepcopy__", "__reduce_ex__"),
    *("clear", "copy", "get", "items", "keys", "pop", "popitem", "setdefault"),
    *("update", "values"),
):
    setattr(FinishedDict, _name, refuse_finished)


def open_dict(origin: FDict, family: Family) -> DraftDict:
    """A part that begins as a copy of the origin."""
    tall = HEIGHTS[type(origin)] > 1
    part: DraftDict = _new(TallDict if tall else DraftDict)
    _update(part, origin)
    part._origin = origin
    part._looked = {}
    part._family = family
    family.append(part)
    return part


OPENERS.update(dict.fromkeys(DICTS, open_dict))
