"""What is known of the coordinator's records, from listings, watches and own writes.

They come in any order: an older reading than the known changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..control_plane import Keys, ShardRecord, decode_record
from ..coordinator import ABSENT, Change, Listing
from ..errors import ControlRecordInvalid

__all__ = ["Reading", "Readings"]


@dataclass(frozen=True, slots=True)
class Reading:
    """News of a shard: its record, None if there is none. With `fault` (code, message)
    there is one that cannot be believed."""

    shard: int
    revision: int
    record: ShardRecord | None
    fault: tuple[str, str] | None = None


class Readings:
    """The newest record of each shard. `revision`: the store's newest that was seen."""

    def __init__(self, keys: Keys, shards: int) -> None:
        self._keys = keys
        self.revision = 0
        self.listed = False
        self.records: list[ShardRecord | None] = [None] * shards
        self.revisions = [ABSENT] * shards
        """Of the record, or of the delete that was seen last."""

    def known(self) -> Iterator[tuple[int, ShardRecord]]:
        """The shards that have a record."""
        for shard, record in enumerate(self.records):
            if record is not None:
                yield shard, record

    def shard_of(self, key: str) -> int | None:
        """The shard that a key is about, if the cluster has it."""
        shard = self._keys.shard_of(key)
        return shard if shard is not None and shard < len(self.records) else None

    def listing(self, listing: Listing) -> Iterator[Reading]:
        """Everything, as read; the news in it. A shard that was never seen is told of
        as absent, at each listing."""
        found: set[int] = set()
        for entry in listing.entries:
            shard = self.shard_of(entry.key)
            if shard is not None:
                found.add(shard)
                yield from self._read(shard, entry.revision, entry.value)
        for shard, revision in enumerate(self.revisions):
            if shard in found:
                continue
            if revision == ABSENT:
                yield Reading(shard, ABSENT, None)
            else:
                yield from self._read(shard, listing.revision, None)
        self.revision = max(self.revision, listing.revision)
        self.listed = True

    def changed(self, changes: Sequence[Change]) -> Iterator[Reading]:
        """One transaction, as a watch told of it; the news in it."""
        for change in changes:
            self.revision = max(self.revision, change.revision)
            shard = self.shard_of(change.key)
            if shard is not None:
                yield from self._read(shard, change.revision, change.value)

    def landed(self, shard: int, revision: int, record: ShardRecord) -> bool:
        """An own write landed at `revision`; False if newer is known."""
        if revision <= self.revisions[shard]:
            return False
        self.revisions[shard] = revision
        self.records[shard] = record
        return True

    def _read(
        self, shard: int, revision: int, value: bytes | None
    ) -> Iterator[Reading]:
        if revision <= self.revisions[shard]:
            return
        self.revisions[shard] = revision
        if value is None:
            self.records[shard] = None
            yield Reading(shard, revision, None)
            return
        try:
            record = decode_record(ShardRecord, self._keys.shard(shard), value)
        except ControlRecordInvalid as error:
            yield Reading(shard, revision, None, (error.code, str(error)))
            return
        self.records[shard] = record
        yield Reading(shard, revision, record)
