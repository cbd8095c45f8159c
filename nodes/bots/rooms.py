"""Finds the rooms that have given seats to bots, and has these played.

Nothing is remembered: the rooms themselves say who plays where, so that a process that
was started anew finds all that it has to do. A bot never sits where a room has not put
it. When the match of a room has ended, the room is told, which ends it.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar, Protocol

import anyio
from anyio.abc import TaskGroup

from ..client import ClientError
from ..client.shell import Client
from ..cluster_dir import ClusterDir
from ..lobby.door import Door
from ..lobby.room_game import DOOR, ROOM_GAME
from ..lobby.room_view import Assignment, RoomView, read_room
from ..operator.match_search import find_matches, show_match
from ..operator.rows import MatchRow
from ..operator_error import OperatorError
from ..telemetry import get_logger
from .decision import Answer, Ask
from .player import BotCounts, BotPlayer, Given, HowItEnded, PlayerOptions

__all__ = ["BotStatistics", "ClusterRooms", "RoomFinder", "Rooms"]

LOOK_PART = 20.0
"""The pause between two looks is so many times as long as a look took, at least: a
cluster with very many matches is not kept busy by it."""

PAUSE_S_MIN, PAUSE_S_MAX = 0.2, 5.0
"""Before a seat or a room is tried again that could not be had."""

IDLE_S, REST_S = 60.0, 600.0
"""Where there are too many rooms, one in which bots had nothing to do for so long makes
way, and comes back after so long: people leave matches without a word."""

LISTED_AT_ONCE = 2_000

SWAPPED_MAX = 32
"""Rooms that make way at one look."""

KEEPS_PER_KEPT = 24
"""How often a room in which there is play is told so."""

log = get_logger()


class RoomFinder(Protocol):
    """Knows the rooms of a cluster that have not ended."""

    async def rooms(self) -> Sequence[str]:
        """Their ids.

        Raises:
            OperatorError: The cluster cannot be asked.
        """
        ...

    async def epoch(self, room: str) -> int:
        """In which a room was created.

        Raises:
            OperatorError: The cluster cannot be asked, or has no such room.
        """
        ...


@dataclass(frozen=True, slots=True)
class BotStatistics:
    """`rooms` and `seats` are now; the others count since the start."""

    GAUGES: ClassVar[frozenset[str]] = frozenset({"rooms", "seats"})

    rooms: int
    """That are watched: open ones, and those whose match has bots."""
    seats: int
    """That bots play."""
    moves: int
    """Actions of bots that were accepted."""
    random_moves: int
    """Of these, those chosen at random in a bot's place."""
    stale: int
    """Decisions that came to nothing since the match had moved on."""
    refused: int
    """Actions that the game refused."""
    failed: int
    """Decisions that a bot did not make: it raised, or took too long."""
    taken: int
    """Times that a seat was taken."""
    replaced: int
    """Times that somebody else took a seat anew."""


@dataclass(slots=True)
class _Served:
    """A room that is seen to."""

    active_s: float
    """When its bots had something to do last."""
    deciding: int = 0
    decided: int = 0
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class Rooms:
    """Has bots play in the rooms that are found."""

    def __init__(
        self,
        finder: RoomFinder,
        client: Client,
        secret: Callable[[str, str], str],
        decide: Callable[[Ask], Awaitable[Answer]],
        options: PlayerOptions,
        *,
        poll_s: float,
        rooms_max: int,
        spare: bool = False,
    ) -> None:
        self._finder = finder
        self._client = client
        self._secret = secret
        self._decide = decide
        self._options = options
        self._poll_s = poll_s
        self._rooms_max = rooms_max
        self._spare = spare
        self._served: dict[str, _Served] = {}
        # Invariant: all of them were listed at the last look.
        self._skipped: set[str] = set()
        self._resting: dict[str, float] = {}  # since when, the earliest first
        self._seats = 0
        self._counts = BotCounts()

    async def run(self) -> None:
        """Until cancelled."""
        unreachable = full = False
        async with anyio.create_task_group() as tasks:
            while True:
                began_s = anyio.current_time()
                try:
                    listed = await self._finder.rooms()
                except OperatorError as error:
                    if not unreachable:
                        log.warning("rooms_unreachable", code=error.code)
                    unreachable = True
                else:
                    unreachable = False
                    was_full, full = full, self._look(listed, tasks)
                    if full and not was_full:
                        log.warning("rooms_full", rooms=len(self._served))
                took_s = anyio.current_time() - began_s
                await anyio.sleep(max(self._poll_s, LOOK_PART * took_s))

    def _look(self, listed: Sequence[str], tasks: TaskGroup) -> bool:
        """See to what there is room for. Returns whether there are too many."""
        now_s = anyio.current_time()
        there = set(listed)
        self._skipped &= there
        self._resting = {
            room: since_s for room, since_s in self._resting.items() if room in there
        }
        known = self._served.keys() | self._skipped | self._resting.keys()
        new = [room for room in listed if room not in known]
        free = self._rooms_max - len(self._served)
        # One that makes way just now is in both.
        resting = [room for room in self._resting if room not in self._served]
        for room in [*new, *resting][:free]:
            rested = self._resting.pop(room, None) is not None
            served = self._served[room] = _Served(now_s)
            tasks.start_soon(self._serve, room, served, rested)
        rested_for = [now_s - since_s for since_s in self._resting.values()]
        back = sum(1 for rested_s in rested_for if rested_s > REST_S)
        late = max(0, len(new) - free) + back
        idle = [
            (served.active_s, room)
            for room, served in self._served.items()
            if not served.deciding and now_s - served.active_s > IDLE_S
        ]
        for _, room in sorted(idle)[: min(late, SWAPPED_MAX)]:
            self._served[room].scope.cancel()
            self._resting[room] = now_s
        return len(new) > free or bool(self._resting)

    def statistics(self) -> BotStatistics:
        counts = (getattr(self._counts, each.name) for each in fields(BotCounts))
        return BotStatistics(len(self._served), self._seats, *counts)

    async def _serve(self, room: str, served: _Served, rested: bool) -> None:
        """See to one room. When something fails, it is found again."""
        try:
            with served.scope:
                await self._serve_once(room, served, rested)
        finally:
            del self._served[room]

    async def _serve_once(self, room: str, served: _Served, rested: bool) -> None:
        try:
            epoch = await self._finder.epoch(room)
            if await self._see_through(room, epoch, served, rested):
                self._skipped.add(room)
        except (ClientError, OperatorError) as error:
            log.info("room_waits", match=room, code=error.code)
            await anyio.sleep(PAUSE_S_MAX * random.uniform(0.5, 1.0))
        except Exception as error:
            log.error("room_failed", match=room, exc_info=error)
            await anyio.sleep(PAUSE_S_MAX)

    async def _see_through(
        self, room: str, epoch: int, served: _Served, rested: bool
    ) -> bool:
        """True: there is nothing (more) to do for bots.

        Raises:
            ClientError: The cluster does not tell what there is.
        """
        said = await self._started(room, epoch)
        if said is None or said.match is None or said.epoch is None:
            return True
        bots = [one for one in said.assignments if one.kind == "bot"]
        if not bots:
            return True
        door = Door(
            self._client, self._client.join(room, epoch), self._secret(room, DOOR)
        )
        served.active_s = anyio.current_time()
        # Where bots have nothing to do, coming back must cost the match no record.
        spare = self._spare or rested
        endings: list[HowItEnded] = []
        async with anyio.create_task_group() as keeping:
            keeping.start_soon(self._keep, door, said, served)
            async with anyio.create_task_group() as seats:
                for one in bots:
                    player = self._player(said, one, served, spare)
                    seats.start_soon(self._sit, player, said.match, endings)
            keeping.cancel_scope.cancel()
        if HowItEnded.TAKEN in endings:
            return True
        refusal = await door.play("over", {})
        return refusal is None or refusal.code == "game_over"

    async def _keep(self, door: Door, said: RoomView, served: _Served) -> None:
        """Have the room stay while there is play: whoever is started anew for its bots
        finds the match by it, however long that lasts."""
        told = 0
        while True:
            await anyio.sleep(said.keptMs / 1_000 / KEEPS_PER_KEPT)
            decided = served.decided
            if decided > told and await door.play("goes_on", {}) is None:
                told = decided

    async def _started(self, room: str, epoch: int) -> RoomView | None:
        """What the room says when its match is there; None: there is none.

        Raises:
            WatchEnded: The room cannot be watched.
        """
        spectator = self._client.join(room, epoch).watch()
        try:
            async for view in spectator.views():
                said = read_room(view)
                if said is None or view.ended:
                    return None
                if said.phase == "active":
                    return said
        finally:
            spectator.close()
        return None

    def _player(
        self,
        said: RoomView,
        one: Assignment,
        served: _Served,
        spare: bool,
    ) -> BotPlayer:
        match = said.match or ""
        given = Given(
            one.botID,
            one.playerID,
            said.game,
            said.version,
            tuple(each.playerID for each in said.assignments),
            said.config,
        )

        async def decide(ask: Ask) -> Answer:
            served.deciding += 1
            try:
                return await self._decide(ask)
            finally:
                served.deciding -= 1
                served.decided += 1
                served.active_s = anyio.current_time()

        return BotPlayer(
            self._client.join(match, said.epoch or 0),
            given,
            self._secret(match, one.playerID),
            decide,
            self._options,
            self._counts,
            spare=spare,
        )

    async def _sit(
        self, player: BotPlayer, match: str, endings: list[HowItEnded]
    ) -> None:
        """Play one seat to its end, whatever happens to the cluster meanwhile."""
        self._seats += 1
        pause_s = PAUSE_S_MIN
        try:
            while True:
                try:
                    endings.append(await player.play())
                    return
                except ClientError as error:
                    log.info("bot_waits", match=match, code=error.code)
                await anyio.sleep(pause_s * random.uniform(0.5, 1.0))
                pause_s = min(2 * pause_s, PAUSE_S_MAX)
        finally:
            self._seats -= 1


class ClusterRooms:
    """Asks the doors of a cluster's nodes."""

    def __init__(self, home: ClusterDir) -> None:
        self._home = home

    async def rooms(self) -> Sequence[str]:
        """All of them: rooms in which nobody needs a bot are most, and hide none. The
        newest first."""
        rows: list[MatchRow] = []
        after: tuple[int, str] | None = None
        while True:
            found = await find_matches(
                self._home, LISTED_AT_ONCE, after=after, game=ROOM_GAME
            )
            rows += found.matches
            if not found.more:
                break
            after = (found.matches[-1].shard, found.matches[-1].match)
        rows.sort(key=lambda row: row.idle_s)
        return [row.match for row in rows if row.state in ("running", "waiting")]

    async def epoch(self, room: str) -> int:
        return (await show_match(self._home, room)).created_epoch
