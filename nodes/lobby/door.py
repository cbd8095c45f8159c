"""A gateway at the door of one room: it says what its users want, and who is there.

The seat `door` has room for the sessions of a few gateways at once; one that lost its
session takes the seat again. An operation has a name of its own, so that it may be said
again whenever its outcome is not known: the room plays it once.

A door holds nothing that a room needs: whichever gateway looks at a room carries on.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anyio

from ..client import ClientError, Refusal, RemoteMatch, Seat
from ..client.shell import Client
from ..telemetry import get_logger
from .room_game import DOOR
from .room_view import RoomView
from .room_wishes import REPEATED

__all__ = ["Door", "Doors", "match_key"]

TRIES_MAX = 4
"""Of one operation, each as long as the client library asks for an answer."""

PAUSE_S, PAUSE_S_MAX = 0.05, 2.0
"""Before the next try: doubles, and is drawn from its upper half."""

ASKING_MAX = 16
"""Operations of a room under way at once: far fewer than the keys a seat remembers."""

PRESENCES_PER_RESERVATION = 3
"""How often a user's presence is told while a seat waits for them."""

_SEAT_GONE = frozenset({"not_seated", "expired_key", "resume_seat"})

_TRANSIENT = frozenset(
    {
        "busy",
        "degraded",
        "moved",
        "no_owner",
        "node_full",
        "not_committed",
        "retry",
        "stopping",
    }
)
"""Refusals that say nothing about the match that was asked for."""

log = get_logger()


class Doors:
    """The rooms in which users of one gateway are."""

    def __init__(self, client: Client, secret: Callable[[str, str], str]) -> None:
        self._client = client
        self._secret = secret
        self._doors: dict[str, Door] = {}

    def __len__(self) -> int:
        return len(self._doors)

    @contextmanager
    def at(self, room: str, epoch: int, user: str) -> Iterator[Door]:
        """The door of that room, while the user is there."""
        door = self._doors.get(room)
        if door is None or door.match.epoch != epoch:
            match = self._client.join(room, epoch)
            door = Door(self._client, match, self._secret(room, DOOR))
            self._doors[room] = door
        door.users[user] += 1
        try:
            yield door
        finally:
            door.users[user] -= 1
            if not door.users[user]:
                door.forget(user)
            if not door.users and self._doors.get(room) is door:
                del self._doors[room]


class Door:
    """Made by `Doors`."""

    def __init__(self, client: Client, match: RemoteMatch, secret: str) -> None:
        self._client = client
        self.match = match
        self.users: Counter[str] = Counter()
        """Who is connected here, and how often."""
        self._secret = secret
        self._seat: Seat | None = None
        self._taking, self._opening = anyio.Lock(), anyio.Lock()
        self._telling = anyio.Lock()
        self._asking = anyio.CapacityLimiter(ASKING_MAX)
        self._told_s: dict[str, float] = {}

    def forget(self, user: str) -> None:
        """The user is here no more."""
        del self.users[user]
        self._told_s.pop(user, None)

    async def play(self, event: str, payload: Mapping[str, Any]) -> Refusal | None:
        """Do it, once; None: it is done.

        Refusals: the room's own, with its reason; `no_answer`: it may be done or not;
        or what its node says.
        """
        async with self._asking:
            for number in range(TRIES_MAX):
                if number:
                    await anyio.sleep(_pause_s(number))
                try:
                    seat = await self._seated()
                    if isinstance(seat, Refusal):
                        return seat
                    outcome = await seat.dispatch(event, payload)
                except ClientError:
                    continue
                if not isinstance(outcome, Refusal) or outcome.reason == REPEATED:
                    return None
                if outcome.code not in _SEAT_GONE:
                    return outcome
                if self._seat is seat:
                    self._seat = None
        return Refusal("no_answer", "The cluster gave no answer. Try again.")

    async def tell_presence(self, room: RoomView) -> None:
        """Say who of the room's people is here, if the room should hear of it."""
        async with self._telling:
            due = self._due(room, anyio.current_time())
            if due and await self.play("present", {"users": due}) is None:
                now_s = anyio.current_time()
                for user in self.users.keys() & due:
                    self._told_s[user] = now_s

    async def tell_left(self, user: str) -> None:
        """Say that a user is here no more."""
        await self.play("left", {"user": user})

    async def open_match(self, starting: Callable[[], RoomView | None]) -> None:
        """Open the match that the room starts, and say so. Whoever else does the same
        opens the same match. `starting` gives the room, if it starts still.

        Raises:
            ClientError: The cluster gave no answer. Call it again.
        """
        async with self._opening:
            room = starting()
            if room is None:
                return
            made = await self._client.create(
                room.game,
                players=[one.playerID for one in room.assignments],
                config=room.config,
                version=room.version,
                key=match_key(self.match.id, room.starts),
            )
            if isinstance(made, RemoteMatch):
                said = {"match": made.id, "epoch": made.epoch}
                await self.play("started", said)
            elif made.code not in _TRANSIENT:
                log.warning("lobby_start_failed", match=self.match.id, code=made.code)
                said = {"code": made.code, "message": made.message[:1_000]}
                await self.play("start_failed", said)

    def _due(self, room: RoomView, now_s: float) -> list[str]:
        """Of whom the room should hear: those it holds a place for."""
        often_s = room.reservationMs / 1_000 / PRESENCES_PER_RESERVATION
        away = {
            seat.userID
            for seat in room.seats
            if isinstance(seat.userID, str) and seat.connected is False
        }
        held = {seat.userID for seat in room.seats if isinstance(seat.userID, str)}
        return sorted(
            user
            for user in self.users.keys() & (held | {room.hostUserID})
            if user in away or now_s - self._told_s.get(user, -often_s) >= often_s
        )

    async def _seated(self) -> Seat | Refusal:
        """
        Raises:
            ClientError: The cluster gave no answer.
        """
        async with self._taking:
            if self._seat is None:
                taken = await self.match.take(DOOR, self._secret, fresh=True)
                if isinstance(taken, Refusal):
                    return taken
                self._seat = taken
            return self._seat


def match_key(room: str, start: int) -> str:
    """The creation key of the match that a room starts.

    No operator's key has a line's end in it, so that none is the same.
    """
    return f"room\n{room}\n{start}"


def _pause_s(number: int) -> float:
    longest = min(PAUSE_S_MAX, PAUSE_S * 2.0**number)
    return longest * random.uniform(0.5, 1.0)
