"""What a room is opened with: the `data` of its match. Pure."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

__all__ = ["BotOffer", "RoomSetup"]

SEATS_MAX = 64

_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
_Ms = Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]


class BotOffer(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A bot that may be given a seat. The names are those of the lobby's protocol."""

    botID: _Id
    label: str
    description: str | msgspec.UnsetType = msgspec.UNSET
    difficulty: Literal["easy", "medium", "hard", "expert"] | msgspec.UnsetType = (
        msgspec.UNSET
    )


class RoomSetup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be played, who opens the room, and how long it waits.

    The same whichever gateway says it, so that a creation key names one room.
    """

    game: _Id
    version: _Id
    seats: Annotated[list[_Id], msgspec.Meta(min_length=1, max_length=SEATS_MAX)]
    """The game's seats: the room's seat 0 is the first of them."""
    minPlayers: Annotated[int, msgspec.Meta(ge=1, le=SEATS_MAX)]
    capacity: Annotated[int, msgspec.Meta(ge=1, le=SEATS_MAX)]
    """How many seats are offered at first."""
    bots: list[BotOffer]
    config: dict[str, Any] | None
    """Every field with its value; None: the game has none."""
    host: _Id
    """The user who opens the room."""
    hostName: str
    reservationMs: _Ms
    """So long a seat stays with somebody of whom nothing is heard."""
    idleMs: _Ms
    """So long the room stays open while nothing is heard of anybody."""
    keptMs: _Ms
    """So long after its start, and after its bots have played last, it can still tell
    people and bots where they sit."""
