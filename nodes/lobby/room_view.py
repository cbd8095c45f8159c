"""A room as everybody may see it: the public view of its match, read. Pure."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ..client.view import View

__all__ = ["Assignment", "Phase", "Problem", "RoomView", "Seat", "read_room"]

Phase = Literal["lobby", "starting", "active", "closed"]


class Seat(msgspec.Struct, frozen=True, omit_defaults=True):
    """One seat, in the words of the lobby protocol."""

    kind: Literal["open", "human", "bot"]
    seatIndex: int
    userID: str | msgspec.UnsetType = msgspec.UNSET
    userName: str | msgspec.UnsetType | None = msgspec.UNSET
    ready: bool | msgspec.UnsetType = msgspec.UNSET
    connected: bool | msgspec.UnsetType = msgspec.UNSET
    botID: str | msgspec.UnsetType = msgspec.UNSET
    label: str | msgspec.UnsetType = msgspec.UNSET


class Assignment(msgspec.Struct, frozen=True):
    """Who plays at which seat of the match."""

    seatIndex: int
    playerID: str
    kind: Literal["human", "bot"]
    userID: str = ""
    botID: str = ""


class Problem(msgspec.Struct, frozen=True):
    """Why the last start failed."""

    code: str
    message: str


class RoomView(msgspec.Struct, frozen=True):
    """Fields that are not known are passed over: the room's owner may be newer."""

    phase: Phase
    game: str
    version: str
    match: str | None
    epoch: int | None
    hostUserID: str
    seats: list[Seat]
    seatIDs: list[str]
    minPlayers: int
    maxPlayers: int
    targetCapacity: int
    canStart: bool
    availableBots: list[dict[str, Any]]
    config: dict[str, Any] | None
    assignments: list[Assignment]
    starts: int
    problem: Problem | None
    reason: str | None
    reservationMs: int
    keptMs: int

    def assigned(self, user: str) -> Assignment | None:
        """Where a user plays."""
        return next((one for one in self.assignments if one.userID == user), None)


def read_room(view: View) -> RoomView | None:
    """None: that match is no room."""
    try:
        return msgspec.convert(view.view, RoomView)
    except msgspec.ValidationError:
        return None
