"""What a player's page may say: the messages of the hosted-room protocol, and ours.

Decoded and checked at once by msgspec. Fields that are not known are passed over, so
that newer pages can speak to older gateways.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

__all__ = [
    "Action",
    "ClientMessage",
    "Heartbeat",
    "MalformedMessage",
    "Resync",
    "SaveRequest",
    "Sync",
    "TakeBack",
    "read_message",
]

ID_CHARACTERS_MAX = 128

_Number = Annotated[int, msgspec.Meta(ge=-(2**53) + 1, le=2**53 - 1)]
"""What JavaScript counts with."""


class MalformedMessage(Exception):
    """It is none of the protocol's. The text says where, not what it held."""


class _Said(msgspec.Struct, frozen=True, gc=False, tag_field="type"):
    pass


class Action(_Said, frozen=True, tag="action"):
    """Dispatch an event. Who acts is not read here: `playerID` must only agree."""

    matchID: str
    playerID: str
    event: str
    clientActionID: str
    payload: Any = None
    baseRevision: _Number | None = None


class TakeBack(_Said, frozen=True, tag="undo"):
    """An extension: ask to take moves back, or answer who asked.

    `to` is the revision to return to; `request` is that of the request, by default the
    one that waits.
    """

    matchID: str
    playerID: str
    clientActionID: str
    verb: Literal["ask", "agree", "decline"]
    to: _Number | None = None
    request: _Number | None = None
    baseRevision: _Number | None = None

    @property
    def event(self) -> str:
        return "undo"


class Sync(_Said, frozen=True, tag="sync"):
    """Tell me how the match stands."""

    matchID: str
    playerID: str


class Resync(_Said, frozen=True, tag="resync"):
    """The same, from a page that knows an older revision."""

    matchID: str
    playerID: str
    sinceRevision: _Number


class SaveRequest(_Said, frozen=True, tag="save-request"):
    """Let me keep the match."""

    matchID: str
    playerID: str
    clientRequestID: str


class Heartbeat(_Said, frozen=True, tag="heartbeat"):
    """An extension: the answer to a heartbeat, with its number."""

    id: _Number


ClientMessage = Action | TakeBack | Sync | Resync | SaveRequest | Heartbeat

_decoder = msgspec.json.Decoder(ClientMessage)


def read_message(data: str | bytes) -> ClientMessage:
    """
    Raises:
        MalformedMessage: It is no JSON, or none of these messages.
    """
    try:
        message = _decoder.decode(data)
    except RecursionError:
        raise MalformedMessage("it is nested too deeply") from None
    except msgspec.MsgspecError as error:
        raise MalformedMessage(str(error)) from None
    except UnicodeEncodeError:
        raise MalformedMessage("it holds half of a character") from None
    for id in (
        getattr(message, "clientActionID", ""),
        getattr(message, "clientRequestID", ""),
    ):
        if len(id) > ID_CHARACTERS_MAX:
            raise MalformedMessage("an id is too long")
    return message
