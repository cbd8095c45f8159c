"""What a room is opened with, made from what was asked for. Pure."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

from ...engine.config_schema import complete_config
from ...engine.errors import InvalidMatchError
from ...engine.game import Game
from .bot_offers import offered_bots
from .room_setup import SEATS_MAX, RoomSetup

__all__ = ["OpeningRefused", "host_of", "room_key", "room_setup"]


class OpeningRefused(Exception):
    """There can be no such room: a stable code, and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def room_setup(
    game: Game,
    *,
    config: Any,
    capacity: int | None,
    host: str,
    host_name: str,
    reservation_s: float,
    idle_s: float,
    kept_s: float,
    own_bots: Sequence[str] = (),
) -> RoomSetup:
    """A room for that game. `kept_s`: how long the ways into it are good.

    Raises:
        OpeningRefused: The configuration or the number of seats is wrong.
    """
    seats = list(game.player_ids)[:SEATS_MAX]
    try:
        values = complete_config(game.config, config, present=config is not None)
    except InvalidMatchError as error:
        raise OpeningRefused(error.code, str(error)) from error
    fewest = max(1, game.min_players)
    capacity = len(seats) if capacity is None else capacity
    if not fewest <= capacity <= len(seats):
        raise OpeningRefused(
            "bad_capacity", f"The game is for {_span(fewest, len(seats))} players."
        )
    return RoomSetup(
        game=game.name,
        version=game.version,
        seats=seats,
        minPlayers=fewest,
        capacity=capacity,
        bots=list(offered_bots(game, own_bots)),
        config=values,
        host=host,
        hostName=host_name,
        reservationMs=int(reservation_s * 1_000),
        idleMs=int(idle_s * 1_000),
        keptMs=int(kept_s * 1_000),
    )


def room_key(opener: str | None, key: str) -> str:
    """The creation key of a room: of that operator, or of anybody, and their key.

    No operator's key has a line's end in it, so that none is the same.
    """
    whose = "open" if opener is None else f"for\0{opener}"
    return f"lobby\n{_digest(whose, key)}"


def host_of(key: str) -> str:
    """The user who opens the room of that creation key: the same, however often it is
    asked."""
    return _digest("host", key)[:16]


def _span(least: int, most: int) -> str:
    return str(most) if least == most else f"{least} to {most}"


def _digest(*parts: str) -> str:
    text = "\0".join(parts).encode()
    digest = hashlib.blake2b(text, digest_size=20).digest()
    return base64.b32encode(digest).decode("ascii").lower()
