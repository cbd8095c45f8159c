"""A look at the whole cluster for operators' pages, however many of them there are.

The nodes are asked once in `LOOK_S` at most, and only while somebody looks. Of the
matches those are asked for in which something just happened.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import anyio
import msgspec

from ..cluster_dir import ClusterDir
from ..lobby.room_game import ROOM_GAME
from ..operator.alarm_lines import AlarmLine, alarm_lines
from ..operator.ask_cluster import find_cluster
from ..operator.match_search import find_matches
from ..operator.operation_search import find_operations, show_operation
from ..operator.rows import MatchRow, OperationRow
from ..operator.survey import Survey, survey, with_rates
from ..operator.survey_rows import ClusterRow, FoundMatches, ShardRow
from ..operator_error import OperatorError

__all__ = ["ClusterBody", "ClusterView", "HotMatchBody", "Look"]

LOOK_S: Final = 1.0
"""Between two looks."""

RATES_S: Final = 10.0
"""Rates are of about so long a time: of two looks in a row, most would see nothing of
a match in which something happens every few seconds."""

SHARDS_MAX: Final = 512
"""That are told: of more, those that something is the matter with."""

ACTIVE_MS: Final = int(RATES_S * 1_000)
ACTIVE_MAX: Final = 500
"""Of matches in which something happened within that time; of more, the first ones by
shard and id."""

HOTTEST_MAX: Final = 20
OPERATIONS_MAX: Final = 30

PROGRESS_MAX: Final = 8
"""Commands that run, of which it is asked how far they are."""

ALARMS_MAX: Final = 100


class HotMatchBody(msgspec.Struct, frozen=True):
    """A match, and how much its log has grown per second in the last ten seconds; less,
    if nobody looked so long ago. Something happened in it: that is 0.1 at least."""

    match: MatchRow
    recordsPerS: float


class ClusterBody(msgspec.Struct, frozen=True):
    """A look at the cluster. The rows are those of `hotseat status --json`,
    `shard list --json` and so on. `atMs` is when, in ms since 1970. `alarmLines` are
    the alarms with those of one kind together. `hottest` is of `hottestOf` so many
    matches in which something just happened, lobbies' rooms aside. `operations` are
    the newest; null: no node could read them.
    """

    atMs: int
    cluster: ClusterRow
    shards: list[ShardRow]
    shardsLeftOut: int
    alarmsLeftOut: int
    alarmLines: list[AlarmLine]
    hottest: list[HotMatchBody]
    hottestOf: int
    moreActive: bool
    operations: list[OperationRow] | None


class Look:
    """A body as it is sent, and a tag that changes with it."""

    def __init__(self, body: ClusterBody) -> None:
        self.json = msgspec.json.encode(body)
        self.tag = f'"{blake2b(self.json, digest_size=12).hexdigest()}"'


class ClusterView:
    """Looks at the cluster whose folder is `place`."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._lock = anyio.Lock()
        self._look: Look | None = None
        self._looked_s = 0.0
        self._before: deque[_Before] = deque()

    async def look(self) -> Look:
        """The newest look; a new one if that is old.

        Raises:
            OperatorError: There is no cluster. That nodes are silent is in the look.
        """
        if self._look is not None and (self._fresh() or self._lock.locked()):
            return self._look  # who looks now may have to wait for a silent node
        async with self._lock:
            if self._look is None or not self._fresh():
                self._look = Look(await self._ask())
                self._looked_s = anyio.current_time()
            return self._look

    async def find(
        self, limit: int, sort: str, after: tuple[int, str] | None, **asked: Any
    ) -> FoundMatches:
        """See `find_matches`.

        Raises:
            OperatorError: See there.
        """
        home = await find_cluster(self._place)
        return await find_matches(home, limit, sort=sort, after=after, **asked)

    def _fresh(self) -> bool:
        return anyio.current_time() < self._looked_s + LOOK_S

    async def _ask(self) -> ClusterBody:
        home = await find_cluster(self._place)
        asked = _Asked()
        async with anyio.create_task_group() as tasks:  # a node that hangs: once
            tasks.start_soon(asked.find_active, home)
            tasks.start_soon(asked.find_operations, home)
            seen = await survey(home)
        before = self._since(seen.at_s)
        records = {row.match: row.records for row in asked.active}
        self._before.append(_Before(seen, records))
        seen = with_rates(before[0].survey if before else None, seen)
        hottest = _hottest(asked.active, before, seen.at_s)
        shards = seen.shards
        if len(shards) > SHARDS_MAX:
            shards = tuple(sorted(shards, key=_worry, reverse=True)[:SHARDS_MAX])
            shards = tuple(sorted(shards, key=lambda shard: shard.shard))
        alarms = seen.cluster.alarms
        return ClusterBody(
            atMs=time.time_ns() // 1_000_000,
            cluster=msgspec.structs.replace(seen.cluster, alarms=alarms[:ALARMS_MAX]),
            shards=list(shards),
            shardsLeftOut=len(seen.shards) - len(shards),
            alarmsLeftOut=max(0, len(alarms) - ALARMS_MAX),
            alarmLines=list(alarm_lines(alarms)[:ALARMS_MAX]),
            hottest=hottest,
            hottestOf=len(asked.active),
            moreActive=asked.more,
            operations=asked.operations,
        )

    def _since(self, now_s: float) -> list[_Before]:
        """The looks of the time that rates are of, the first one first.

        It begins with the last look before that time: nothing within is missed.
        """
        looks = self._before
        while len(looks) > 1 and looks[1].survey.at_s <= now_s - RATES_S:
            looks.popleft()
        if looks and looks[0].survey.at_s < now_s - 2 * RATES_S:
            looks.popleft()  # nobody looked for long
        return list(looks)


class _Before(NamedTuple):
    """A look that was, and how long the logs were then."""

    survey: Survey
    records: Mapping[str, int]


class _Asked:
    """What is asked beside the survey, as far as it is answered."""

    def __init__(self) -> None:
        self.active: list[MatchRow] = []
        self.more = False
        self.operations: list[OperationRow] | None = None

    async def find_active(self, home: ClusterDir) -> None:
        states = ["running", "waiting"]
        try:
            found = await find_matches(
                home, ACTIVE_MAX, active_ms=ACTIVE_MS, states=states
            )
        except OperatorError:
            return  # no node answers: the survey says so
        self.active = [row for row in found.matches if row.game != ROOM_GAME]
        self.more = found.more

    async def find_operations(self, home: ClusterDir) -> None:
        try:
            found = await find_operations(home, OPERATIONS_MAX)
        except OperatorError:
            return  # the coordinator is away, or all nodes: an alarm says so
        rows = {row.id: row for row in found.operations}
        running = [row.id for row in found.operations if row.state == "running"]

        async def ask(id: str) -> None:
            with suppress(OperatorError):  # that it runs is known
                rows[id] = await show_operation(home, id)

        async with anyio.create_task_group() as tasks:
            for id in running[:PROGRESS_MAX]:
                tasks.start_soon(ask, id)
        self.operations = list(rows.values())


def _hottest(
    active: list[MatchRow], before: list[_Before], now_s: float
) -> list[HotMatchBody]:
    hot = [HotMatchBody(row, _rate(row, before, now_s)) for row in active]
    hot.sort(key=lambda one: (-one.recordsPerS, -one.match.changed_ms))
    return hot[:HOTTEST_MAX]


def _rate(row: MatchRow, before: list[_Before], now_s: float) -> float:
    """Since the first look that knew the match; something happened, as it is active."""
    least = 1 / RATES_S
    for look in before:
        then = look.records.get(row.match)
        if then is not None and now_s > look.survey.at_s:
            grown = (row.records - then) / (now_s - look.survey.at_s)
            return round(max(least, grown), 2)
    return least


def _worry(shard: ShardRow) -> tuple[bool, bool, bool, int, int]:
    return (
        not shard.serving,
        bool(shard.short or shard.degraded),
        bool(shard.moving_to or shard.learning),
        max(shard.lag.values(), default=0),
        -shard.shard,
    )
