"""What the HTTP API of lobbies takes and gives: the shapes, which its document is made
from."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from ..lobby.room_setup import BotOffer
from ..lobby.room_view import Phase, Seat

__all__ = [
    "CreatedGuest",
    "CreatedLobby",
    "Field",
    "GameOffer",
    "InviteLink",
    "LobbyState",
    "NewGuest",
    "NewLobby",
    "OfferedGames",
    "User",
]

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
_Called = Annotated[str, msgspec.Meta(max_length=256)]


class Field(msgspec.Struct, frozen=True, omit_defaults=True):
    """One setting of a game: a number within bounds, a boolean, or one of options."""

    type: Literal["number", "boolean", "enum"]
    default: Any
    min: float | msgspec.UnsetType = msgspec.UNSET
    max: float | msgspec.UnsetType = msgspec.UNSET
    options: list[str] | msgspec.UnsetType = msgspec.UNSET
    label: str | msgspec.UnsetType = msgspec.UNSET


class GameOffer(msgspec.Struct, frozen=True):
    """A game that can be played here. `seats` are its players' ids; `config` null: it
    has no settings."""

    name: str
    version: str
    minPlayers: int
    maxPlayers: int
    seats: list[str]
    config: dict[str, Field] | None
    bots: list[BotOffer]
    openInformation: bool


class OfferedGames(msgspec.Struct, frozen=True):
    """The newest version of each game."""

    games: list[GameOffer]


class NewLobby(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A lobby to be opened. `version` "" is the newest; `name` is what its host is
    called."""

    game: _Name
    version: Annotated[str, msgspec.Meta(max_length=128)] = ""
    config: Any = None
    capacity: Annotated[int, msgspec.Meta(ge=1, le=64)] | None = None
    name: _Called = ""


class NewGuest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody who comes in with an invitation."""

    name: _Called = ""


class User(msgspec.Struct, frozen=True):
    """A person in a lobby; the token is theirs alone."""

    id: str
    name: str
    token: str


class InviteLink(msgspec.Struct, frozen=True):
    """Lets anybody in who has it."""

    token: str
    page: str


class CreatedLobby(msgspec.Struct, frozen=True):
    """A lobby, with its host's way in, and one for others."""

    id: str
    epoch: int
    game: str
    version: str
    user: User
    url: str
    page: str
    invite: InviteLink


class CreatedGuest(msgspec.Struct, frozen=True):
    """A way into a lobby for one person."""

    user: User
    url: str
    page: str


class Config(msgspec.Struct, frozen=True):
    values: dict[str, Any]


class LobbyState(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a lobby stands, in the words of its WebSocket."""

    roomID: str
    game: str
    version: str
    phase: Phase
    hostUserID: str
    seats: list[Seat]
    minPlayers: int
    maxPlayers: int
    targetCapacity: int
    canStart: bool
    availableBots: list[BotOffer]
    match: str | None
    reason: str | None
    config: Config | msgspec.UnsetType = msgspec.UNSET
