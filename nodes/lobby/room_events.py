"""What gateways say to a room: its events' payloads. Pure.

`user` is who wants it, from their token. `op` names what they want: a repeat under the
same name is played once.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

__all__ = [
    "AssignBot",
    "ByUser",
    "Left",
    "OnSeat",
    "Present",
    "Said",
    "SetCapacity",
    "SetConfig",
    "SetReady",
    "StartFailed",
    "Started",
    "TakeSeat",
]

PRESENT_MAX = 256
"""Users that one gateway reports at once."""

_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
_Index = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of all of them."""


class ByUser(Said, frozen=True):
    """`leave_seat`, `start`, `close`, and a part of those below."""

    op: _Id
    user: _Id


class TakeSeat(ByUser, frozen=True):
    """`take_seat`: sit down at a free seat."""

    seat: _Index
    name: Annotated[str, msgspec.Meta(max_length=128)] = ""


class SetReady(ByUser, frozen=True):
    """`set_ready`"""

    ready: bool


class OnSeat(ByUser, frozen=True):
    """`clear_seat`: send the bot away."""

    seat: _Index


class AssignBot(OnSeat, frozen=True):
    """`assign_bot`: give a free seat to a bot, or another one to a bot's seat."""

    bot: _Id


class SetCapacity(ByUser, frozen=True):
    """`set_target_capacity`: how many seats are offered."""

    capacity: _Index


class SetConfig(ByUser, frozen=True):
    """`set_config`: one field of the game's configuration."""

    key: _Id
    value: Any


class Present(Said, frozen=True):
    """`present`: these users are with a gateway now."""

    users: Annotated[list[_Id], msgspec.Meta(min_length=1, max_length=PRESENT_MAX)]


class Left(Said, frozen=True):
    """`left`: this user's last connection to a gateway has ended."""

    user: _Id


class Started(Said, frozen=True):
    """`started`: the match is there."""

    match: _Id
    epoch: _Index


class StartFailed(Said, frozen=True):
    """`start_failed`: there can be no such match."""

    code: _Id
    message: Annotated[str, msgspec.Meta(max_length=1024)]
