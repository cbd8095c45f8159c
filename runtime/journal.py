"""A node's journal and store: the interface.

What is written is a sequence of operations; a group of them is durable as a whole or
not at all. What is read are states of matches and their history, by key: each read is
bounded and synchronous.

Implementations: `hotseat.nodes.journal.sqlite_journal` (a file),
`hotseat.runtime.testing.memory_journal` (with a disk's faults). Both pass
`hotseat.runtime.testing.check_journal`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import msgspec

from .control_plane import SHARDS_MAX
from .replication.output import JournalOp
from .replication.recovered import Recovered

__all__ = [
    "Buried",
    "Checkpointed",
    "Forgotten",
    "Journal",
    "JournalStatistics",
    "MatchLine",
    "SavedHistory",
    "SavedMark",
    "SavedState",
    "StoreOp",
    "StoreReader",
]


class MatchLine(msgspec.Struct, frozen=True, gc=False):
    """One line of a shard's manifest: what is known of a match without loading it."""

    match: str
    shard: int
    epoch: int
    """The shard's epoch in which it was created."""
    creation: str
    game: str
    version: str
    seats: tuple[str, ...]
    index: int
    """Of the last record that the state has; its digest is `digest`."""
    digest: bytes
    time_ms: int
    """Of that record."""
    armed_ms: int | None
    """When its deadline fires."""
    ended: bool
    quarantined: str = ""
    """The code that it answers with, if it is set apart."""
    buried: bool = False
    """Only this line is left: it ended, and a retention rule dropped it."""
    reported: bool = False
    """Its result has reached its sinks."""
    pinned: int = 0
    """The number of its own shard, if it is away from home or about to leave."""
    pins: int = 0
    """How often it was to leave home."""

    def armed_in(self, shard: int) -> int | None:
        """When its deadline fires, if that shard is where the match goes on."""
        leaves = self.pinned != (shard if shard >= SHARDS_MAX else 0)
        return None if leaves or self.ended or self.quarantined else self.armed_ms


@dataclass(frozen=True, slots=True)
class SavedState:
    """Replace the stored state of a match. `body` is `pack_state(state)`.

    Empty when the match has none that could be read: it is set apart, its history is
    all there is.
    """

    line: MatchLine
    body: bytes


@dataclass(frozen=True, slots=True)
class SavedHistory:
    """Keep these packed records of a match, the first with number `first`.

    Records that are there already are not stored twice.
    """

    match: str
    first: int
    records: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class SavedMark:
    """Keep what a match was after its record `index`, packed: a shortcut for readers of
    its history, who else must play it from its beginning."""

    match: str
    index: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Checkpointed:
    """The stored states have all that the shard's log says up to (`seq`, `epoch`).

    The log up to there need not be found at a start any more.
    """

    shard: int
    seq: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Buried:
    """Drop a match's state and history; its line stays."""

    line: MatchLine


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Drop a match without a trace: it left this replica."""

    match: str


StoreOp = (
    JournalOp
    | SavedState
    | SavedHistory
    | SavedMark
    | Checkpointed
    | Buried
    | Forgotten
)


class StoreReader(Protocol):
    """What may be asked of the store at any time. Reads see all that is durable."""

    def manifest(self, shard: int, after: str = "") -> Iterator[MatchLine]:
        """The lines of all stored matches of a shard behind `after`, sorted by match.

        Raises:
            JournalCorrupt: They cannot be read.
        """

    def line(self, match: str) -> MatchLine | None:
        """The line of one match, buried ones too; None if nothing is stored.

        Raises:
            JournalCorrupt: It cannot be read.
        """

    def state(self, match: str) -> bytes | None:
        """The packed state, or None if none is stored.

        Raises:
            JournalCorrupt: Its checksum is wrong: the match is to be quarantined.
        """

    def history(self, match: str, first: int, bytes_max: int) -> tuple[bytes, ...]:
        """Packed records of the match from number `first` on, without a gap.

        At least one, if there is one; then as many as `bytes_max` holds. Only what
        `SavedHistory` brought: newer records are in the log.

        Raises:
            JournalCorrupt: A record's checksum is wrong.
        """

    def marks(
        self, match: str, first: int, last: int, bytes_max: int
    ) -> tuple[tuple[int, bytes], ...]:
        """(index, body) of what `SavedMark` kept from `first` to `last`, both included,
        in order: as many as `bytes_max` holds, perhaps none.

        Raises:
            JournalCorrupt: A checksum is wrong.
        """


@dataclass(frozen=True, slots=True)
class JournalStatistics:
    """Since the journal was opened."""

    GAUGES: ClassVar[frozenset[str]] = frozenset({"rows", "waiting"})

    groups: int
    """Transactions that were committed."""
    operations: int
    bytes: int
    """Of the groups' blobs."""
    failures: int
    """Transactions that failed."""
    rows: int
    """Groups in the journal that are not cut off yet."""
    rows_cut: int
    waiting: int
    """Calls of `write` that are not answered yet."""
    failing: bool
    """Nothing is written until `reopen` succeeds."""


class Journal(StoreReader, Protocol):
    """Use it as an async context manager: entering recovers."""

    @property
    def recovered(self) -> Recovered:
        """What was found when it was opened. Cut at the last whole group."""

    async def write(self, ops: Sequence[StoreOp]) -> None:
        """Make a group durable. Groups are written in the order of the calls, and
        those that wait while another is written become one with it.

        Raises:
            JournalFailed: Nothing of the group is there, nor of any later one, until
                `reopen`. `code` says why: disk_full, disk_refused.
        """

    async def reopen(self) -> None:
        """Try again after a failure.

        Raises:
            JournalFailed: It is still so.
        """

    def statistics(self) -> JournalStatistics:
        """What it has done, and how it stands."""
