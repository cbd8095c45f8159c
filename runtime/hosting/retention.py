"""Drops the states and histories of matches that ended long ago, if a rule says so.

The line of such a match stays in the store for ever: its creation key must not start
it anew. Without a rule nothing is dropped; nor is, where results are told to sinks, a
match whose result was not. It walks the manifests page by page, so a turn costs the
same however many matches are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from ..errors import JournalCorrupt
from ..journal import Buried, MatchLine, StoreReader

__all__ = ["Retention"]

# Lines that are looked at in one turn.
_PAGE_LINES = 256


class Retention:
    """The walk through the manifests of a node's shards, round and round."""

    def __init__(
        self, store: StoreReader, kept_s: int | None, *, keep_unreported: bool
    ) -> None:
        self._store = store
        self._kept_s = kept_s
        self._keep_unreported = keep_unreported
        self._shards: list[int] = []
        self._after = ""

    def walk(self, shards: Iterable[int], now_ms: int) -> Iterator[Buried]:
        """One turn: what is to be dropped of the next lines.

        Raises:
            JournalCorrupt: The manifest of a shard cannot be read; it is left out.
        """
        if self._kept_s is None:
            return
        if not self._shards:
            self._shards, self._after = sorted(shards, reverse=True), ""
            if not self._shards:
                return
        try:
            page = list(
                islice(self._store.manifest(self._shards[-1], self._after), _PAGE_LINES)
            )
        except JournalCorrupt:
            self._shards.pop()
            self._after = ""
            raise
        if len(page) < _PAGE_LINES:
            self._shards.pop()
            self._after = ""
        else:
            self._after = page[-1].match
        for line in page:
            if self._is_due(line, now_ms, self._kept_s * 1_000):
                yield Buried(msgspec.structs.replace(line, buried=True))

    def _is_due(self, line: MatchLine, now_ms: int, kept_ms: int) -> bool:
        return (
            line.ended
            and not line.buried
            and not line.quarantined
            and (line.reported or not self._keep_unreported)
            and now_ms - line.time_ms >= kept_ms
        )
