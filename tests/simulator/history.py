"""What was committed, put together from what each replica was told of it.

There is one history per shard: whatever any replica learns to be committed at a place
must be what every other one learns there. It is read once, when it is new; what leaves
a node is then held against it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hotseat.runtime.control_plane import SHARDS_MAX
from hotseat.runtime.replication.message import Entry, Raw
from hotseat.runtime.replication.parcel import is_parcel

from .violation import Violation

__all__ = ["Committed", "History", "MatchHistory"]

Key = tuple[str, int, int]
"""(seat, session, action)."""


@dataclass(frozen=True, slots=True)
class Committed:
    """What a committed record says."""

    kind: str
    revision: int
    time_ms: int
    key: Key | None
    prev_digest: bytes
    digest: bytes


@dataclass(slots=True)
class MatchHistory:
    """The committed records of one match. `shard` is its home."""

    shard: int
    records: list[Committed] = field(default_factory=list)
    keys: dict[Key, int] = field(default_factory=dict)

    @property
    def revision(self) -> int:
        return self.records[-1].revision


class History:
    """Of all shards. `read` reads a packed record."""

    def __init__(self, read: Callable[[Raw], Committed]) -> None:
        self.logs: dict[int, list[Entry]] = _Logs()
        """By shard: the entry at place n has the sequence number n + 1."""
        self.matches: dict[str, MatchHistory] = {}
        self.parcels: dict[str, int] = {}
        """By match: as of which record it came home last, by the log."""
        self._read = read

    def learn(self, shard: int, entry: Entry, who: str) -> bool:
        """`who` was told that the entry is committed; returns whether that is new."""
        log = self.logs[shard]
        place = entry.seq - 1
        if place < len(log):
            known = log[place]
            if known is not entry and known != entry:
                raise Violation(
                    "I3",
                    f"{who} was told of {_brief(entry)} at seq {entry.seq} of shard"
                    f" {shard}; {_brief(known)} is committed there",
                )
            return False
        if place > len(log):
            raise Violation(
                "I3",
                f"{who} was told that seq {entry.seq} of shard {shard} is committed;"
                f" nobody knows {len(log) + 1}",
            )
        if log and entry.epoch < log[-1].epoch:
            raise Violation("I5", f"epochs go back at {_brief(entry)} ({who})")
        log.append(entry)
        if is_parcel(entry.record):
            self._add_parcel(shard, entry, who)
        else:
            self._add(shard, entry, who)
        return True

    def _add_parcel(self, shard: int, entry: Entry, who: str) -> None:
        """A piece of a match that comes home: as it was at a committed record."""
        match = self.matches.get(entry.match)
        if match is None or match.shard != shard or entry.index >= len(match.records):
            raise Violation("I15", f"{_brief(entry)} comes to shard {shard} ({who})")
        self.parcels[entry.match] = entry.index

    def _add(self, shard: int, entry: Entry, who: str) -> None:
        record = self._read(entry.record)
        match = self.matches.get(entry.match)
        if match is None:
            match = self.matches[entry.match] = MatchHistory(shard)
        if entry.index != len(match.records):
            raise Violation(
                "I1",
                f"{_brief(entry)} is committed ({who}), but {entry.match} has"
                f" {len(match.records)} records",
            )
        if match.records:
            last = match.records[-1]
            if record.prev_digest != last.digest:
                raise Violation("I3", f"{_brief(entry)} does not follow the last one")
            if record.time_ms < last.time_ms:
                raise Violation("I3", f"{_brief(entry)} is before the last one's time")
        if record.key is not None:
            first = match.keys.setdefault(record.key, entry.index)
            if first != entry.index:
                raise Violation(
                    "I2",
                    f"{entry.match}: the key {record.key} is committed at {first} and"
                    f" at {entry.index}",
                )
        match.records.append(record)


class _Logs(dict[int, list[Entry]]):
    """The log of a pinned match begins behind sequence number 1."""

    def __missing__(self, shard: int) -> list[Entry]:
        base = [Entry(1, 1, "", -1, Raw(b""))] if shard >= SHARDS_MAX else []
        self[shard] = base
        return base


def _brief(entry: Entry) -> str:
    return f"{entry.match[:8]}#{entry.index} (epoch {entry.epoch}, seq {entry.seq})"
