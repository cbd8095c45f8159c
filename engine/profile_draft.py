"""Drafts of a profile: change it like a dict, and get the delta that says how.

A recipe is given a draft of one player's profile. What it does to the draft is written
down as the operations of a delta; the profile itself stays as it is::

    delta = draft_profile(profile, recipe)

    def recipe(draft):
        draft["rank"] = 3                    # set
        draft.inc("wins", 1)                 # inc
        draft["badges"].append("first win")  # push
        del draft["badges"][0]               # remove

Rules:
- Done to the same profile, the delta gives what the recipe left in the draft.
- `draft["wins"] += 1` is a read and a write, so it is recorded as `set`: it overwrites
  what another match may have counted meanwhile. `inc` adds to it.
- A value is copied as it is assigned; to change it afterwards, go through the draft.
- A part knows its place by looking: what was removed or replaced takes no more changes.
- What no operation can say (sort, insert in the middle) is refused, never rebuilt
  behind the author's back: assign the whole list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, MutableSequence
from typing import Any, NoReturn, TypeAlias

from .errors import ProfileDraftError
from .frozen import freeze
from .jsonvalue import Json
from .limits import NESTING_MAX

__all__ = ["ListDraft", "ObjectDraft", "draft_profile"]

Draft: TypeAlias = "ObjectDraft | ListDraft"
Operation: TypeAlias = dict[str, Json]


def draft_profile(profile: Json, recipe: Callable[[Any], object]) -> list[Operation]:
    """The delta that does to a profile what the recipe does to its draft.

    Raises:
        ProfileDraftError: The profile is neither an object nor a list, or the recipe
            asks for what no delta can say.
        InvalidJsonValueError: The profile, or a value that was assigned, is not JSON.
    """
    data = freeze(profile, label="profile")
    if not isinstance(data, (dict, list)):
        raise ProfileDraftError(
            "only a profile that is an object or a list has a draft; answer with "
            '{"op": "set", "path": [], "value": ...}'
        )
    recorder = _Recorder()
    draft = _draft(recorder, None, data)
    try:
        recipe(draft)
    finally:
        recorder.closed = True
    return recorder.operations


class _Recorder:
    """What one recipe has done so far."""

    __slots__ = ("closed", "operations")

    def __init__(self) -> None:
        self.closed = False
        self.operations: list[Operation] = []


class _Part:
    """What both kinds of draft are: a place in a profile, whose changes are recorded.

    Children are frozen JSON until somebody asks for them; then a container's draft
    takes its place, so that it is always the same one.
    """

    __slots__ = ("_items", "_parent", "_recorder")

    _items: Any
    _parent: Draft | None
    _recorder: _Recorder

    def __len__(self) -> int:
        return len(self._open())

    def __repr__(self) -> str:
        if self._recorder.closed:
            return "<draft of a profile, ended>"
        return f"<draft of {_plain(self)!r}>"

    def inc(self, key: Any, amount: float) -> None:
        """Add to the number at a key or index; a missing one counts as 0.

        Unlike `+=`, it adds to whatever the number is when the delta is done.
        """
        if isinstance(amount, bool) or not isinstance(amount, (int, float)):
            raise ProfileDraftError(f"inc adds a number, not {amount!r}")
        segment, current = self._locate(key)
        number = isinstance(current, (int, float)) and not isinstance(current, bool)
        total = freeze((current if number else 0) + amount, label="the number")
        self._record("inc", segment, freeze(amount, label="the amount"))
        self._items[segment] = total

    def _open(self) -> Any:
        if self._recorder.closed:
            raise ProfileDraftError(
                "a draft of a profile ends with its recipe; keep what you need of it "
                "in plain values"
            )
        return self._items

    def _record(self, op: str, segment: str | int | None, *value: Json) -> None:
        """Write an operation down; without a segment it is on this part itself."""
        self._open()
        path = [*self._path()] if segment is None else [*self._path(), segment]
        operation: Operation = {"op": op, "path": path}
        if value:
            operation["value"] = value[0]
        self._recorder.operations.append(operation)

    def _path(self) -> list[str | int]:
        if self._parent is None:
            return []
        for key, item in self._parent._entries():
            if item is self:
                return [*self._parent._path(), key]
        raise ProfileDraftError(
            "this part was removed from the profile or replaced; get it anew from "
            "the draft"
        )

    def _child(self, key: Any) -> Any:
        item = self._open()[key]
        if isinstance(item, (dict, list)):
            item = self._items[key] = _draft(self._recorder, self, item)
        return item

    def _entries(self) -> Iterator[tuple[Any, Any]]:
        raise NotImplementedError

    def _locate(self, key: Any) -> tuple[Any, Any]:
        """The segment of a path for a key, and what is there, if anything."""
        raise NotImplementedError


class ObjectDraft(_Part, MutableMapping[str, Any]):
    """A draft of an object. Beside what a dict does, it has `inc` and `remove`."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        return self._child(key)

    def __setitem__(self, key: str, value: Any) -> None:
        segment, current = self._locate(key)
        if value is current and isinstance(value, _Part):
            return  # draft["list"] += [...] comes here after it has appended
        settled = _settled(value)
        self._record("set", segment, settled)
        self._items[segment] = settled

    def __delitem__(self, key: str) -> None:
        if key not in self._open():
            raise KeyError(key)
        self.remove(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._open())

    def remove(self, key: str) -> None:
        """Remove a key, whether the draft has it or not: the delta will tell."""
        segment, _ = self._locate(key)
        self._record("remove", segment)
        self._items.pop(segment, None)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value at a key, which is first set if there is none."""
        if key not in self._open():
            self[key] = default
        return self[key]

    def _entries(self) -> Iterator[tuple[str, Any]]:
        return iter(self._items.items())

    def _locate(self, key: Any) -> tuple[str, Any]:
        if not isinstance(key, str):
            raise ProfileDraftError(f"the keys of an object are strings, not {key!r}")
        return key, self._open().get(key)


class ListDraft(_Part, MutableSequence[Any]):
    """A draft of a list: it grows at its end, shrinks anywhere, and has `inc`."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._child(at) for at in range(len(self))[index]]
        return self._child(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            self._refuse("assigning a slice")
        at, current = self._locate(index)
        if value is current and isinstance(value, _Part):
            return  # draft[0] += [...] comes here after it has appended
        settled = _settled(value)
        self._record("set", at, settled)
        self._items[at] = settled

    def __delitem__(self, index: Any) -> None:
        chosen = range(len(self))[index]
        places = sorted(chosen) if isinstance(index, slice) else [chosen]
        for gone, at in enumerate(places):
            self._record("remove", at - gone)
            del self._items[at - gone]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (list, tuple, ListDraft)):
            return NotImplemented
        return bool(_plain(self) == _plain(other))

    def append(self, value: Any) -> None:
        """Add a value at the end."""
        settled = _settled(value)
        if self._parent is None:
            # A push has a path; at the root only setting the next index says it.
            self._record("set", len(self), settled)
        else:
            self._record("push", None, settled)
        self._items.append(settled)

    def insert(self, index: int, value: Any) -> None:
        """Add a value at the end; nowhere else."""
        if index < len(self):
            self._refuse("insert()")
        self.append(value)

    def sort(self, *, key: object = None, reverse: bool = False) -> None:
        """Refused: a list is sorted by assigning it anew."""
        self._refuse("sort()")

    def reverse(self) -> None:
        """Refused: a list is reversed by assigning it anew."""
        self._refuse("reverse()")

    def _refuse(self, what: str) -> NoReturn:
        where = "".join(f"[{segment!r}]" for segment in self._path())
        raise ProfileDraftError(
            f"{what} cannot be said in a profile's delta; rebuild the list and assign "
            f"it whole: draft{where or '[...]'} = [...]"
        )

    def _entries(self) -> Iterator[tuple[int, Any]]:
        return enumerate(self._items)

    def _locate(self, key: Any) -> tuple[int, Any]:
        at = range(len(self))[key]
        return at, self._items[at]


def _draft(recorder: _Recorder, parent: Any, data: Json) -> Draft:
    draft: Draft = ObjectDraft() if isinstance(data, dict) else ListDraft()
    draft._recorder = recorder
    draft._parent = parent
    draft._items = dict(data) if isinstance(data, dict) else list(data)
    return draft


def _settled(value: Any) -> Json:
    return freeze(_plain(value), label="the new value")


def _plain(value: Any, room: int = NESTING_MAX) -> Any:
    """A value with every draft in it replaced by what it holds.

    Below `room` levels it is left as it is, for `freeze` to refuse.
    """
    if isinstance(value, _Part):
        value = value._open()
    if room == 0:
        return value
    if isinstance(value, dict):
        return {key: _plain(item, room - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, room - 1) for item in value]
    return value
