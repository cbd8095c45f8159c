"""Records of a log that goes on, each read when it is looked at, and then kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias, overload

from ..record import Record

__all__ = ["LateRecords", "Unread"]

Unread: TypeAlias = Callable[[], Record]
"""Reads one record. Raises ReplayError, if it is none."""


class LateRecords(Sequence[Record]):
    """`append` grows it. Whoever has it sees what came since; slices are tuples."""

    def __init__(self, items: Iterable[Record | Unread] = ()) -> None:
        self._items = list(items)

    def append(self, items: Iterable[Record | Unread]) -> None:
        """Take in the next ones."""
        self._items += items

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Record, ...]: ...
    def __getitem__(self, place: int | slice) -> Record | tuple[Record, ...]:
        if isinstance(place, slice):
            return tuple(map(self._read, range(*place.indices(len(self._items)))))
        return self._read(place)

    def __iter__(self) -> Iterator[Record]:
        return map(self._read, range(len(self._items)))

    def _read(self, place: int) -> Record:
        item = self._items[place]
        if not isinstance(item, Record):
            item = self._items[place] = item()
        return item
