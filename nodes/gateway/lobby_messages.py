"""What a page may say in a lobby: the messages of the lobby protocol, and ours.

Decoded and checked at once by msgspec. Fields that are not known are passed over, so
that newer pages can speak to older gateways.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from .messages import Heartbeat, MalformedMessage

__all__ = [
    "AssignBot",
    "ClearSeat",
    "Close",
    "LeaveSeat",
    "LobbyMessage",
    "SetConfig",
    "SetReady",
    "SetTargetCapacity",
    "Start",
    "TakeSeat",
    "read_lobby_message",
]

_Index = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]


class _Said(msgspec.Struct, frozen=True, tag_field="type"):
    pass


class TakeSeat(_Said, frozen=True, tag="lobby:take_seat"):
    seatIndex: _Index


class LeaveSeat(_Said, frozen=True, tag="lobby:leave_seat"):
    pass


class SetReady(_Said, frozen=True, tag="lobby:set_ready"):
    ready: bool


class Start(_Said, frozen=True, tag="lobby:start"):
    pass


class Close(_Said, frozen=True, tag="lobby:close"):
    pass


class AssignBot(_Said, frozen=True, tag="lobby:assign_bot"):
    seatIndex: _Index
    botID: _Id


class ClearSeat(_Said, frozen=True, tag="lobby:clear_seat"):
    seatIndex: _Index


class SetTargetCapacity(_Said, frozen=True, tag="lobby:set_target_capacity"):
    targetCapacity: Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]


class SetConfig(_Said, frozen=True, tag="host:set_config"):
    key: _Id
    value: Any


LobbyMessage = (
    TakeSeat
    | LeaveSeat
    | SetReady
    | Start
    | Close
    | AssignBot
    | ClearSeat
    | SetTargetCapacity
    | SetConfig
    | Heartbeat
)

_decoder = msgspec.json.Decoder(LobbyMessage)


def read_lobby_message(data: str | bytes) -> LobbyMessage:
    """
    Raises:
        MalformedMessage: It is no JSON, or none of these messages.
    """
    try:
        return _decoder.decode(data)
    except RecursionError:
        raise MalformedMessage("it is nested too deeply") from None
    except msgspec.MsgspecError as error:
        raise MalformedMessage(str(error)) from None
    except UnicodeEncodeError:
        raise MalformedMessage("it holds half of a character") from None
