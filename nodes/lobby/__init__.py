"""Lobbies: where people gather for a match. A room is a match itself; see room_game."""

from __future__ import annotations

from .room_game import DOOR as DOOR
from .room_game import ROOM_GAME as ROOM_GAME
from .room_setup import BotOffer as BotOffer
from .room_setup import RoomSetup as RoomSetup
