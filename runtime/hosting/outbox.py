"""Results on their way out: which are to be told, when again, and which are done.

A result is told by the node that serves its match, after its end is committed, at least
once: when all sinks have it, a `result_delivered` record says so in the match's log.
Whoever takes over finds the matches that ended without one. Receivers tell repeats by
the key (match, index of the record that ended it).

Rules:
- No I/O and no clock; one random number for each failure.
- Memory is bounded: what has no room is found again in the manifest, later.
- A failure delays that result alone, longer each time. Play does not notice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import ClassVar

from ..journal import MatchLine
from ..match_state import MatchState
from .result_options import ResultOptions

__all__ = ["Delivery", "OutboxStatistics", "ResultOutbox"]

LINES_AT_ONCE = 256
"""Lines of a manifest that are looked at in one turn: about a millisecond."""

SCAN_PAUSE_MS = 10
"""Between two such turns."""

NOTE_AGAIN_MS = 5_000
"""The log does not say yet that a result is delivered: it is asked to again."""

DOUBLINGS_MAX = 32
"""Far beyond any `retry_max_s`; keeps the power small."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Do this now. `told`: the sinks have it, only the log does not say so."""

    match: str
    told: bool


@dataclass(frozen=True, slots=True)
class OutboxStatistics:
    """`GAUGES` are now; the others count since the start."""

    GAUGES: ClassVar[frozenset[str]] = frozenset(
        {"waiting", "failing", "under_way", "oldest_s"}
    )

    waiting: int
    """Results that are not known to be delivered, those under way too."""
    failing: int
    """Those of them that could not be delivered at least once."""
    under_way: int
    oldest_s: float
    """How long the oldest of them has waited."""
    delivered: int
    failures: int


@dataclass(slots=True)
class _Result:
    shard: int
    since_ms: int
    due_ms: int
    failures: int = 0
    told: bool = False
    under_way: bool = False


class ResultOutbox:
    """Times are milliseconds of any clock that does not step."""

    def __init__(
        self,
        options: ResultOptions,
        lines: Callable[[int], Iterator[MatchLine]],
        *,
        now_ms: Callable[[], int],
        random: Callable[[], float],
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        """`lines(shard)` are those of all its matches, ended ones too; `wake` is
        called when something is due earlier than `next_ms` said."""
        self._options = options
        self._lines = lines
        self._now_ms = now_ms
        self._random = random
        self._wake = wake
        self._results: dict[str, _Result] = {}
        self._queue: list[tuple[int, int, str]] = []
        self._order = count()
        self._scans: dict[int, Iterator[MatchLine] | None] = {}
        """Shards whose lines are to be looked at; None: from the beginning."""
        self._served: set[int] = set()
        self._under_way = 0
        self._delivered = self._failures = 0

    def adopt(self, shard: int) -> None:
        """The shard is served here: find what it owes."""
        self._served.add(shard)
        self._scans[shard] = None
        self._wake()

    def release(self, shard: int) -> None:
        """Somebody else tells the shard's results from now on."""
        self._served.discard(shard)
        self._scans.pop(shard, None)
        for match in [m for m, r in self._results.items() if r.shard == shard]:
            self._forget(match)

    def arrived(self, line: MatchLine) -> None:
        """A match has come to that shard, perhaps to one that is served here."""
        owes = line.ended and not line.reported
        if owes and line.shard in self._served and self._add(line.shard, line.match):
            self._wake()

    def took(self, shard: int, state: MatchState) -> None:
        """A change was committed here, which led to this state."""
        if state.reported:
            if self._forget(state.match):
                self._delivered += 1
        elif state.ended and self._add(shard, state.match):
            self._wake()

    def take(self) -> list[Delivery]:
        """What is to be done now. Each is answered: `delivered`, `failed`, `void`."""
        now_ms = self._now_ms()
        self._scan()
        due: list[Delivery] = []
        while self._under_way < self._options.at_once and self._next_is_due(now_ms):
            _, _, match = heappop(self._queue)
            result = self._results[match]
            result.under_way = True
            self._under_way += 1
            due.append(Delivery(match, result.told))
        return due

    def delivered(self, match: str) -> None:
        """All sinks have it; the log is asked to say so."""
        result = self._back(match)
        if result is not None:
            result.told = True
            result.failures = 0
            self._put(match, result, NOTE_AGAIN_MS)

    def failed(self, match: str) -> int:
        """A sink does not have it. Returns how often that has been so."""
        self._failures += 1
        result = self._back(match)
        if result is None:
            return 1
        options = self._options
        doublings = min(result.failures, DOUBLINGS_MAX)
        pause_s = min(options.retry_max_s, options.retry_first_s * 2**doublings)
        result.failures += 1
        self._put(match, result, round(pause_s * 500 * (1 + self._random())))
        return result.failures

    def void(self, match: str) -> None:
        """There is nothing to be told of it here."""
        self._back(match)
        self._forget(match)

    def next_ms(self) -> int | None:
        """When `take` has something to do; None: not before `wake`."""
        if self._under_way >= self._options.at_once:
            return None
        if self._scans and self._may_scan:
            return self._now_ms() + SCAN_PAUSE_MS
        return self._queue[0][0] if self._next_is_due(None) else None

    def statistics(self) -> OutboxStatistics:
        """What waits, and what has been."""
        results = self._results.values()
        now_ms = self._now_ms()
        oldest_ms = min((result.since_ms for result in results), default=now_ms)
        return OutboxStatistics(
            waiting=len(results),
            failing=sum(1 for result in results if result.failures),
            under_way=self._under_way,
            oldest_s=(now_ms - oldest_ms) / 1_000,
            delivered=self._delivered,
            failures=self._failures,
        )

    @property
    def _room(self) -> bool:
        return len(self._results) < self._options.waiting_max

    @property
    def _may_scan(self) -> bool:
        """Not for every place that becomes free."""
        return len(self._results) <= self._options.waiting_max // 2

    def _scan(self) -> None:
        """Look at some lines of the shards that were adopted."""
        if not self._scans or not self._may_scan:
            return
        shard, lines = next(iter(self._scans.items()))
        if lines is None:
            self._scans[shard] = lines = self._lines(shard)
        for _ in range(LINES_AT_ONCE):
            if not self._room:
                return
            line = next(lines, None)
            if line is None:
                del self._scans[shard]
                return
            if line.ended and not (line.reported or line.buried or line.quarantined):
                self._add(shard, line.match)

    def _add(self, shard: int, match: str) -> bool:
        if match in self._results or shard not in self._served:
            return False
        if not self._room:
            self._scans[shard] = None  # from the beginning, when there is room
            return False
        now_ms = self._now_ms()
        self._results[match] = result = _Result(shard, now_ms, now_ms)
        self._put(match, result, 0)
        return True

    def _put(self, match: str, result: _Result, pause_ms: int) -> None:
        result.due_ms = self._now_ms() + pause_ms
        heappush(self._queue, (result.due_ms, next(self._order), match))

    def _next_is_due(self, now_ms: int | None) -> bool:
        """Whether the queue's first is due (None: is there); drops what is stale."""
        while self._queue:
            due_ms, _, match = self._queue[0]
            result = self._results.get(match)
            if result is None or result.under_way or result.due_ms != due_ms:
                heappop(self._queue)
                continue
            return now_ms is None or due_ms <= now_ms
        return False

    def _back(self, match: str) -> _Result | None:
        """It is not under way any more."""
        result = self._results.get(match)
        if result is None or not result.under_way:
            return None
        result.under_way = False
        self._under_way -= 1
        return result

    def _forget(self, match: str) -> bool:
        result = self._results.pop(match, None)
        if result is None:
            return False
        if result.under_way:
            self._under_way -= 1
        if len(self._queue) > 2 * len(self._results) + LINES_AT_ONCE:
            self._queue = [e for e in self._queue if e[2] in self._results]
            self._queue.sort()
        return True
