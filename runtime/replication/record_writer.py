"""Writes of records become compare-and-swaps: many of one step in one transaction.

A takeover of a node's shards is a write per shard; together they cost a round trip or
two. A transaction lands as a whole or not at all, so one key that has moved spoils it
for the others: these are known not to have landed, and are sent again without it.
A key stands in a transaction once: a write that waits may be overtaken by a newer one
of its shard, from a newer revision; that one waits for the next request.

Few requests are on their way at a time; what is asked for meanwhile shares the next
ones. So batches grow with load, and no time is lost waiting for company.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from ..control_plane import Keys, encode_record
from ..coordinator import WRITES_MAX, CasConflict, CasOutcome, Write
from .effects import RecordWrite
from .output import CasRequest

__all__ = ["IN_FLIGHT_MAX", "Answer", "Origin", "RecordWriter"]

IN_FLIGHT_MAX = 4
"""Requests at a time, an identity's aside: enough to hide a round trip."""


class Origin(Enum):
    """Who asked for a write, and is to be told what became of it."""

    SHARD = "shard"
    PLACER = "placer"
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one write. `moved`: a conflict, and over this very key.

    `asked` is the `RecordWrite` behind it; None for a write of the identity.
    """

    origin: Origin
    write: Write
    asked: RecordWrite | None
    outcome: CasOutcome
    moved: bool


@dataclass(frozen=True, slots=True)
class _Item:
    origin: Origin
    write: Write
    asked: RecordWrite | None

    @property
    def companions(self) -> tuple[Write, ...]:
        return () if self.asked is None else self.asked.companions


class RecordWriter:
    """Gathers writes, hands out requests, and takes their outcomes apart."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._gathered: list[_Item] = []
        self._alone: list[_Item] = []
        self._sent: dict[int, tuple[_Item, ...]] = {}
        self._requests = 0

    @property
    def in_flight(self) -> int:
        """Requests without an answer."""
        return len(self._sent)

    def add(self, asked: Sequence[RecordWrite], origin: Origin = Origin.SHARD) -> None:
        """Writes of shard records; those of one origin may share transactions."""
        for write in asked:
            key = self._keys.shard(write.shard)
            record = None if write.deletes else encode_record(write.record)
            item = _Item(origin, Write(key, write.expected, record), write)
            (self._alone if write.companions else self._gathered).append(item)

    def add_alone(self, write: Write, origin: Origin) -> None:
        """A write that gets a transaction of its own."""
        self._alone.append(_Item(origin, write, None))

    def take_requests(self) -> tuple[CasRequest, ...]:
        """What may be sent now of all that was gathered."""
        alone, self._alone = self._alone, []
        requests = [self._request((item,)) for item in alone]
        while self._gathered and len(self._sent) < IN_FLIGHT_MAX:
            origin = self._gathered[0].origin
            group: dict[str, _Item] = {}
            rest: list[_Item] = []
            for item in self._gathered:
                key = item.write.key
                fits = item.origin is origin and len(group) < WRITES_MAX
                if fits and key not in group:
                    group[key] = item
                else:
                    rest.append(item)
            self._gathered = rest
            requests.append(self._request(tuple(group.values())))
        return tuple(requests)

    def answered(self, request: int, outcome: CasOutcome) -> list[Answer]:
        """What became of a request: an answer for each write that has one now.

        Raises:
            KeyError: No such request waits: each is answered once.
        """
        items = self._sent.pop(request)
        moved_keys: tuple[str, ...] = ()
        if isinstance(outcome, CasConflict):
            moved_keys = outcome.keys
            if len(items) == 1 and not items[0].companions:
                moved_keys = (items[0].write.key,)
        again = [item for item in items if item.write.key not in moved_keys]
        if isinstance(outcome, CasConflict) and len(items) > 1:
            if len(again) < len(items):
                self._gathered = [*again, *self._gathered]
            else:  # it does not say which: each for itself
                self._alone += again
            items = tuple(item for item in items if item.write.key in moved_keys)
        answers: list[Answer] = []
        for item in items:
            moved = item.write.key in moved_keys
            answers.append(Answer(item.origin, item.write, item.asked, outcome, moved))
        return answers

    def _request(self, items: tuple[_Item, ...]) -> CasRequest:
        self._requests += 1
        self._sent[self._requests] = items
        writes = [write for item in items for write in self._transaction(item)]
        return CasRequest(self._requests, tuple(writes))

    @staticmethod
    def _transaction(item: _Item) -> tuple[Write, ...]:
        """A pin compares its shard's revision, and so does the end of one: whoever has
        taken the shard over, or only moved its revision, knows that no older one can
        land any more."""
        return (item.write, *item.companions)
