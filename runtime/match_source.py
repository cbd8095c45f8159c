"""Where the committed matches of a node are kept, as its actors see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ..engine.record import Record
from ..engine.step import Batch
from .journal import MatchLine
from .match_state import MatchState

__all__ = ["KeptLog", "LogReader", "MatchSource", "SourceLog"]


# Records that one `KeptLog.read` gives, so that a long log is not copied for each page.
_READ_MAX = 1024


class MatchSource(Protocol):
    """Committed states of all matches that this node has a copy of."""

    def get(self, match: str) -> MatchState | MatchLine | None:
        """The state; a line, if that is all there is (set apart, or buried)."""

    def line(self, match: str) -> MatchLine | None:
        """What is known of the match without loading it."""

    def lines(self, shard: int) -> Iterator[MatchLine]:
        """The matches of a shard that have not ended, and perhaps others."""

    def records(self, match: str, first: int, bytes_max: int) -> tuple[Record, ...]:
        """Committed records from number `first` on, without a gap; at least one if
        there is one, then as many as `bytes_max` holds."""

    def marks(
        self, match: str, first: int, last: int, bytes_max: int
    ) -> tuple[tuple[int, bytes], ...]:
        """(index, packed state) after some of the records from `first` to `last`."""

    def batches(self, match: str, since: int, records_max: int) -> tuple[Batch, ...]:
        """What was done after the revision `since`, played back; nothing, if that
        takes more than so many records."""

    def quarantine(self, match: str, code: str) -> None:
        """Set the match apart on this node."""

    def bring_back(self, match: str) -> str:
        """Let it go on: "", or the code that it still answers with."""


class LogReader(Protocol):
    """The committed log of one match."""

    def __len__(self) -> int: ...

    def read(self, first: int, bytes_max: int) -> Sequence[Record]:
        """Records from number `first` on; perhaps fewer than are there, never none
        unless `first` is past the end."""


class KeptLog(list[Record]):
    """A log that is kept in memory as a whole."""

    def read(self, first: int, bytes_max: int) -> Sequence[Record]:
        return self[first : first + _READ_MAX]


class SourceLog:
    """A log that a `MatchSource` keeps. `count` is the caller's to tell."""

    __slots__ = ("_match", "_source", "count")

    def __init__(self, source: MatchSource, match: str, count: int) -> None:
        self._source = source
        self._match = match
        self.count = count

    def __len__(self) -> int:
        return self.count

    def read(self, first: int, bytes_max: int) -> Sequence[Record]:
        found = self._source.records(self._match, first, bytes_max)
        return found[: max(0, self.count - first)]
