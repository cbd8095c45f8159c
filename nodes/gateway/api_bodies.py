"""What the HTTP API takes and gives: the shapes, which its document is made from."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

__all__ = [
    "CreatedMatch",
    "ErrorBody",
    "ErrorSaid",
    "Link",
    "MatchState",
    "NewMatch",
    "NewToken",
    "SeatLink",
    "SeatState",
]

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
_Ttl = Annotated[float, msgspec.Meta(gt=0, le=31_536_000)]
_Epoch = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]


class _Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class NewMatch(_Asked, frozen=True):
    """A match to be opened. `version` "" is the newest that the nodes have; `profiles`
    are what players have kept of earlier ones, by seat; `ttlS` is how long the tokens
    are good, in seconds."""

    game: _Name
    players: Annotated[list[_Name], msgspec.Meta(min_length=1, max_length=64)]
    version: Annotated[str, msgspec.Meta(max_length=128)] = ""
    config: Any = None
    data: Any = None
    profiles: dict[_Name, Any] | None = None
    ttlS: _Ttl | None = None


class NewToken(_Asked, frozen=True):
    """A token for a seat, or without one for a spectator. `epoch` is the match's."""

    epoch: _Epoch
    seat: _Name | None = None
    ttlS: _Ttl | None = None


class Link(msgspec.Struct, frozen=True):
    """A token, and the WebSocket and the page that it opens. `expiresS` is seconds
    since 1970."""

    token: str
    url: str
    expiresS: int
    page: str


class SeatLink(msgspec.Struct, frozen=True):
    """The same for a seat."""

    seat: str
    token: str
    url: str
    expiresS: int
    page: str


class CreatedMatch(msgspec.Struct, frozen=True):
    """A match, with a way in for everybody. `epoch` goes with every later question."""

    id: str
    epoch: int
    game: str
    version: str
    seats: list[SeatLink]
    spectator: Link


class SeatState(msgspec.Struct, frozen=True):
    """A seat, and whether anybody has sat down there."""

    seat: str
    taken: bool


class MatchState(msgspec.Struct, frozen=True):
    """How a match stands, as far as everybody may see it."""

    id: str
    epoch: int
    game: str
    version: str
    seats: list[SeatState]
    revision: int
    turn: int
    state: str
    activePlayers: list[str]
    deadlineMs: int | None
    ended: bool
    result: Any


class ErrorSaid(msgspec.Struct, frozen=True):
    """A stable code, and a sentence for people."""

    code: str
    message: str


class ErrorBody(msgspec.Struct, frozen=True):
    """Every answer but a good one."""

    error: ErrorSaid
