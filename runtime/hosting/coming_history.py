"""A store with the history that has come from elsewhere and is not durable yet.

An install brings a match in parts, oldest records first; each is given out to be
written as it comes. Whoever reads the history meanwhile (a learner is fed, a state is
derived from it) finds it here: without durability, nobody waits for the disk.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..journal import MatchLine, SavedHistory, StoreReader

__all__ = ["ComingHistory"]


class ComingHistory:
    """Implements `StoreReader`. A part is known by its identity."""

    def __init__(self, store: StoreReader) -> None:
        self._store = store
        self._writing: dict[int, tuple[SavedHistory, int]] = {}  # and in whose shard
        self._refused: list[tuple[SavedHistory, int]] = []

    def came(self, part: SavedHistory, shard: int) -> None:
        """It is given out to be written."""
        self._writing[id(part)] = (part, shard)

    def written(self, op: object) -> None:
        """If it is a part, it is durable."""
        self._writing.pop(id(op), None)

    def failed(self, op: object) -> None:
        """If it is a part, it is not durable, and must be given out again."""
        held = self._writing.pop(id(op), None)
        if held is not None:
            self._refused.append(held)

    def give_out(self) -> list[SavedHistory]:
        """The parts that are to be written again."""
        refused, self._refused = self._refused, []
        for part, shard in refused:
            self.came(part, shard)
        return [part for part, _ in refused]

    def wipe(self, shard: int) -> None:
        """The shard's matches are here no longer."""
        self._writing = {k: h for k, h in self._writing.items() if h[1] != shard}
        self._refused = [held for held in self._refused if held[1] != shard]

    # StoreReader.

    def history(self, match: str, first: int, bytes_max: int) -> tuple[bytes, ...]:
        """What is stored; behind it, what has come.

        Raises:
            JournalCorrupt: A stored record's checksum is wrong.
        """
        stored = self._store.history(match, first, bytes_max)
        if stored:
            return stored
        for part, _ in [*self._writing.values(), *self._refused]:
            if part.match == match and 0 <= first - part.first < len(part.records):
                return _some(part.records[first - part.first :], bytes_max)
        return ()

    def manifest(self, shard: int, after: str = "") -> Iterator[MatchLine]:
        return self._store.manifest(shard, after)

    def line(self, match: str) -> MatchLine | None:
        return self._store.line(match)

    def state(self, match: str) -> bytes | None:
        return self._store.state(match)

    def marks(
        self, match: str, first: int, last: int, bytes_max: int
    ) -> tuple[tuple[int, bytes], ...]:
        return self._store.marks(match, first, last, bytes_max)


def _some(records: tuple[bytes, ...], bytes_max: int) -> tuple[bytes, ...]:
    """At least one, then as many as fit."""
    size = 0
    for count, record in enumerate(records):
        size += len(record)
        if count and size > bytes_max:
            return records[:count]
    return records
