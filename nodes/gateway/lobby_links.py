"""Ways into a lobby: tokens, and the links that carry them."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ..lobby.room_view import RoomView
from ..tokens import Grant, clean_name
from .gateway import Gateway
from .lobby_bodies import CreatedGuest, InviteLink, User
from .offered_games import config_of, fields_of
from .renewal import Renewal

__all__ = ["guest_link", "invite_link", "page_link", "welcome"]


def page_link(gateway: Gateway, token: str) -> str:
    """The page that a token opens. What is behind the # is sent to nobody."""
    return f"{gateway.url}/#t={token}"


def invite_link(gateway: Gateway, lobby: str, epoch: int) -> InviteLink:
    """A way in for anybody."""
    token = gateway.tokens.invite(lobby, epoch, gateway.options.token_ttl_s)
    return InviteLink(token, page_link(gateway, token))


def guest_link(
    gateway: Gateway, lobby: str, epoch: int, user: str, name: str
) -> CreatedGuest:
    """A way in for one person, whose `name` is clean."""
    token = gateway.tokens.guest(lobby, epoch, user, name, gateway.options.token_ttl_s)
    place = re.sub("^http", "ws", gateway.url)
    url = f"{place}/lobbies/{lobby}?token={token}"
    return CreatedGuest(User(user, name, token), url, page_link(gateway, token))


def welcome(gateway: Gateway, grant: Grant, room: RoomView) -> dict[str, Any]:
    """The first message to a page that knows our own."""
    config = config_of(gateway.games, room.game, room.version)
    fields = None if room.config is None or config is None else fields_of(config)
    return {
        "type": "lobby:welcome",
        "roomID": grant.match,
        "userID": grant.subject,
        "userName": clean_name(grant.name) or None,
        "game": room.game,
        "version": room.version,
        "seatIDs": room.seatIDs,
        "configFields": msgspec.to_builtins(fields),
        "heartbeatMs": int(gateway.options.heartbeat_s * 1_000),
        "serverMs": gateway.clock.now_ms(),
        "invite": msgspec.to_builtins(invite_link(gateway, grant.match, grant.epoch)),
        **Renewal(gateway, grant).fields(),
    }
