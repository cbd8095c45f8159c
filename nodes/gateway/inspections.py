"""Matches that operators look into: played back here, so that no node notices.

A gateway holds nothing that anybody needs: what is kept is made anew from a match's
log, or from the file, when it is asked for again.

Rules:
- Game code runs in a thread, a bounded number of them, each for a bounded time. What
  took too long is let go of, and what it was about is dropped.
- One inspection is read by one at a time; however many pages look, its log is asked of
  the match's owner once in `REFRESH_S`.
- Kept are so many, of so many bytes; those asked for longest ago go first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from hashlib import blake2b
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from ...engine.errors import EngineError
from ...engine.graph import compile_graph
from ...engine.replay.envelope import read_envelope
from ...engine.replay.late_records import LateRecords
from ...engine.replay.log_file import is_log_file, read_log_file
from ...engine.replay.timeline import Timeline, open_timeline
from ...runtime.games import GameRegistry, UnknownGame, machine_finder
from ..operator.match_feed import FeedBroken, MatchFeed
from ..operator.until_owned import until_owned
from ..operator_error import OperatorError
from ..replay.saved_match import SavedMatch, saved_log
from .inspected import ROWS_MAX, frames_of, graph_of, head_of, rows_of
from .inspected_bodies import GraphBody, ProblemBody, Status, TimelineBody

__all__ = ["FILE_BYTES_MAX", "Inspection", "Inspections"]

FILE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of a file, and of a match's log."""

KEPT_MAX: Final = 24
KEPT_BYTES_MAX: Final = 64 * 1024 * 1024

REFRESH_S: Final = 0.4
"""Between two questions for what a match has logged since."""

PLAY_S: Final = 20.0
"""For one answer: a game's code may never end."""

THREADS_MAX: Final = 2
"""That play back at one time: players of this gateway are not to notice."""

T = TypeVar("T")


class Inspection:
    """One match under inspection."""

    def __init__(
        self, name: str, threads: anyio.CapacityLimiter, feed: MatchFeed | None = None
    ) -> None:
        self.name = name
        self.spoiled = False
        """It may not be read any more."""
        self.bytes = 0
        self.status: Status = "file" if feed is None else "live"
        self._problem: ProblemBody | None = None
        self._feed = feed
        self._timeline: Timeline | None = None
        self._asked_s = 0.0
        self._refused: OperatorError | None = None
        self._lock = anyio.Lock()
        self._threads = threads

    @property
    def opened(self) -> bool:
        """It can be read."""
        return self._timeline is not None

    @property
    def running(self) -> bool:
        """It is a match that is not over, as far as is known."""
        return self.status not in ("file", "ended")

    async def open_file(self, data: bytes, games: GameRegistry) -> None:
        """Read a saved match, unless it is open.

        Raises:
            OperatorError: It is none; missing_game; too_slow.
        """
        async with self._lock:
            if self._timeline is None:
                self._timeline = await self._run(lambda: _opened(data, games))
                self.bytes = len(data)

    async def refresh(self, games: GameRegistry) -> None:
        """Take in what the match has logged, unless that was just done.

        What was seen stays: `status` tells why there is no more of it.

        Raises:
            OperatorError: There is no such match, or it cannot be looked at.
        """
        feed = self._feed
        assert feed is not None
        async with self._lock:
            now_s = anyio.current_time()
            fresh = now_s < self._asked_s + REFRESH_S
            done = self.status in ("ended", "lost") or fresh
            if self._timeline is None:
                if fresh and self._refused is not None:
                    raise self._refused  # who waited meanwhile need not wait again
                await self._try_to_begin(feed, games)
            elif not done:
                await self._grow(feed, self._timeline)
            else:
                return
            self._asked_s, self.bytes = now_s, feed.bytes

    async def timeline(self, first: int, limit: int) -> TimelineBody:
        """The match, and its revisions from one on.

        Raises:
            OperatorError: too_slow.
        """
        return await self._read(lambda shown: self._told(shown, first, limit))

    async def graph(self) -> GraphBody:
        """Its game's graph.

        Raises:
            OperatorError: too_slow.
        """
        return await self._read(lambda shown: graph_of(compile_graph(shown.game)))

    async def frames(
        self, first: int, count: int, as_seat: str | None
    ) -> list[bytes | ProblemBody]:
        """See `frames_of`.

        Raises:
            OperatorError: unknown_seat, too_slow.
        """

        def read(shown: Timeline) -> list[bytes | ProblemBody]:
            if as_seat and as_seat not in _seats(shown):
                raise OperatorError("unknown_seat", f"there is no seat {as_seat}")
            return frames_of(shown, first, count, as_seat)

        return await self._read(read)

    async def _try_to_begin(self, feed: MatchFeed, games: GameRegistry) -> None:
        try:
            await self._begin(feed, games)
        except OperatorError as error:
            self._refused, self._asked_s = error, anyio.current_time()
            raise

    async def _begin(self, feed: MatchFeed, games: GameRegistry) -> None:
        revisions, unread = await until_owned(feed.fetch_unread)
        records, marks = LateRecords(unread), feed.take_marks()
        saved = saved_log(feed.match, records, marks, revisions, feed.upgrades)
        self._timeline = await self._run(lambda: _timeline(saved, games))
        self._judge(feed)

    async def _grow(self, feed: MatchFeed, timeline: Timeline) -> None:
        try:
            records = await feed.fetch()
        except FeedBroken as error:
            self.status = "away"
            self._problem = ProblemBody(error.code, error.message)
        except OperatorError as error:
            self.status = "lost"
            self._problem = ProblemBody(error.code, error.message)
        else:
            marks = feed.take_marks()
            if records:
                await self._run(lambda: timeline.extend(records, marks))
            self._judge(feed)

    def _judge(self, feed: MatchFeed) -> None:
        self.status = "ended" if feed.ended else "live"
        if feed.quarantined:
            self.status = "quarantined"
        self._problem = None

    def _told(self, shown: Timeline, first: int, limit: int) -> TimelineBody:
        creation, head = shown.recording.creation, head_of(shown)
        limit = min(limit, ROWS_MAX)
        rows, problem = rows_of(shown, first, limit)
        last = first + len(rows) - 1
        return TimelineBody(
            match=str(creation.get("id") or ""),
            game=shown.game.name,
            version=shown.game.version,
            seats=_seats(shown),
            status=self.status,
            head=head,
            rows=rows,
            next=last + 1 if rows and last < head and problem is None else None,
            problem=self._problem or problem,
        )

    async def _read(self, read: Callable[[Timeline], T]) -> T:
        async with self._lock:
            shown = self._timeline
            assert shown is not None
            return await self._run(lambda: read(shown))

    async def _run(self, work: Callable[[], T]) -> T:
        """Do it in a thread.

        Raises:
            OperatorError: too_slow; or what the work says.
        """
        ended = False

        def whole() -> T:
            nonlocal ended
            try:
                return work()
            finally:
                ended = True

        try:
            with anyio.move_on_after(PLAY_S):
                return await anyio.to_thread.run_sync(
                    whole, abandon_on_cancel=True, limiter=self._threads
                )
        finally:
            self.spoiled = not ended  # a thread may go on changing it
        raise OperatorError(
            "too_slow", f"playing {self.name} back takes longer than {PLAY_S:g} s"
        )


class Inspections:
    """Those of one gateway."""

    def __init__(self, games: GameRegistry) -> None:
        self._games = games
        self._kept: OrderedDict[str, Inspection] = OrderedDict()
        self._threads = anyio.CapacityLimiter(THREADS_MAX)

    async def of_match(self, place: Path, match: str) -> Inspection:
        """A match of the cluster whose folder that is, as far as it is now.

        Raises:
            OperatorError: unknown_match, game_over, match_lost, too_large, no_owner,
                cluster_unreachable, missing_game, too_slow, or what its node says.
        """
        kept = self._find(match)
        if kept is None:
            feed = MatchFeed(place, match, bytes_max=FILE_BYTES_MAX)
            kept = self._keep(Inspection(match, self._threads, feed))
        await self._opening(kept, lambda: kept.refresh(self._games))
        return kept

    async def of_file(self, data: bytes) -> Inspection:
        """A saved match: an envelope in JSON, or an exported log.

        Raises:
            OperatorError: What is wrong with it; missing_game, too_slow.
        """
        name = f"file-{blake2b(data, digest_size=16).hexdigest()}"
        kept = self._find(name) or self._keep(Inspection(name, self._threads))
        await self._opening(kept, lambda: kept.open_file(data, self._games))
        return kept

    def find_file(self, name: str) -> Inspection:
        """A file that was opened before.

        Raises:
            OperatorError: unknown_inspection: send the file again.
        """
        kept = self._find(name) if name.startswith("file-") else None
        if kept is None or not kept.opened:
            raise OperatorError(
                "unknown_inspection", "That file is not here any more: send it again."
            )
        return kept

    def _find(self, name: str) -> Inspection | None:
        kept = self._kept.get(name)
        if kept is not None and kept.spoiled:
            del self._kept[name]
            return None
        if kept is not None:
            self._kept.move_to_end(name)
        return kept

    def _keep(self, inspection: Inspection) -> Inspection:
        self._kept[inspection.name] = inspection
        return inspection

    async def _opening(
        self, inspection: Inspection, opens: Callable[[], Awaitable[None]]
    ) -> None:
        """Forget it if it cannot be opened; see to the bounds if it can."""
        try:
            await opens()
        except BaseException:
            if self._kept.get(inspection.name) is inspection and not inspection.opened:
                del self._kept[inspection.name]
            raise
        while len(self._kept) > 1 and (
            len(self._kept) > KEPT_MAX
            or sum(each.bytes for each in self._kept.values()) > KEPT_BYTES_MAX
        ):
            self._kept.popitem(last=False)


def _seats(timeline: Timeline) -> list[str]:
    return list(timeline.frame(0).snapshot.meta.match["players"])


def _opened(data: bytes, games: GameRegistry) -> Timeline:
    """
    Raises:
        OperatorError: It is no saved match, or its game is not here.
    """
    try:
        content = read_log_file(data) if is_log_file(data) else read_envelope(data)
    except EngineError as error:
        raise OperatorError(error.code, f"That is no saved match: {error}") from error
    return _timeline(SavedMatch(Path("the file"), content), games)


def _timeline(saved: SavedMatch, games: GameRegistry) -> Timeline:
    """
    Raises:
        OperatorError: missing_game, or the match does not start under it.
    """
    try:
        machine = games.get(saved.game, saved.version or "")
    except UnknownGame as error:
        raise OperatorError(
            "missing_game", f"This gateway has no {saved.game} {saved.version or ''}"
        ) from error
    try:
        return open_timeline(machine, saved.recording, machine_finder(games))
    except EngineError as error:
        raise OperatorError(error.code, str(error)) from error
