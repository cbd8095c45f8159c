"""Finds the rooms that have given seats to bots, and has these played.

Nothing is remembered: the rooms themselves say who plays where, so that a process that
was started anew finds all that it has to do. A bot never sits where a room has not put
it. When the match of a room has ended, the room is told, which ends it.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Protocol

import anyio

from ..client import ClientError
from ..client.shell import Client
from ..cluster_dir import ClusterDir
from ..lobby.door import Door
from ..lobby.room_game import DOOR, ROOM_GAME
from ..lobby.room_view import Assignment, RoomView, read_room
from ..operator.match_search import find_matches, show_match
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
        self._served: set[str] = set()
        # Invariant: all of them were listed at the last look.
        self._skipped: set[str] = set()
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
                    self._skipped.intersection_update(listed)
                    known = self._served | self._skipped
                    new = [room for room in listed if room not in known]
                    room_for = self._rooms_max - len(self._served)
                    if len(new) > room_for and not full:
                        log.warning("rooms_full", rooms=len(self._served))
                    full = len(new) > room_for
                    for room in new[:room_for]:
                        self._served.add(room)
                        tasks.start_soon(self._serve, room)
                took_s = anyio.current_time() - began_s
                await anyio.sleep(max(self._poll_s, LOOK_PART * took_s))

    def statistics(self) -> BotStatistics:
        counts = (getattr(self._counts, each.name) for each in fields(BotCounts))
        return BotStatistics(len(self._served), self._seats, *counts)

    async def _serve(self, room: str) -> None:
        """See to one room. When something fails, it is found again."""
        try:
            epoch = await self._finder.epoch(room)
            if await self._see_through(room, epoch):
                self._skipped.add(room)
        except (ClientError, OperatorError) as error:
            log.info("room_waits", match=room, code=error.code)
            await anyio.sleep(PAUSE_S_MAX * random.uniform(0.5, 1.0))
        except Exception as error:
            log.error("room_failed", match=room, exc_info=error)
            await anyio.sleep(PAUSE_S_MAX)
        finally:
            self._served.discard(room)

    async def _see_through(self, room: str, epoch: int) -> bool:
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
        endings: list[HowItEnded] = []
        async with anyio.create_task_group() as seats:
            for one in bots:
                seats.start_soon(self._sit, said, said.match, said.epoch, one, endings)
        if HowItEnded.TAKEN in endings:
            return True
        door = Door(
            self._client, self._client.join(room, epoch), self._secret(room, DOOR)
        )
        refusal = await door.play("over", {})
        return refusal is None or refusal.code == "game_over"

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

    async def _sit(
        self,
        said: RoomView,
        match: str,
        epoch: int,
        one: Assignment,
        endings: list[HowItEnded],
    ) -> None:
        """Play one seat to its end, whatever happens to the cluster meanwhile."""
        given = Given(
            one.botID,
            one.playerID,
            said.game,
            said.version,
            tuple(each.playerID for each in said.assignments),
            said.config,
        )
        player = BotPlayer(
            self._client.join(match, epoch),
            given,
            self._secret(match, one.playerID),
            self._decide,
            self._options,
            self._counts,
            spare=self._spare,
        )
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

    def __init__(self, home: ClusterDir, rooms_max: int) -> None:
        self._home = home
        self._rooms_max = rooms_max

    async def rooms(self) -> Sequence[str]:
        found = await find_matches(self._home, 2 * self._rooms_max, game=ROOM_GAME)
        return [
            row.match for row in found.matches if row.state in ("running", "waiting")
        ]

    async def epoch(self, room: str) -> int:
        return (await show_match(self._home, room)).created_epoch
