"""Which event gives up a seat, if the game has one that asks for nothing more.

A game names it (`resign=`); else it is the event called `resign`, if it has one whose
payload may say nothing. An operator dispatches it for a seat whose player is gone.
"""

from __future__ import annotations

from typing import Final

from ..game import Game
from ..jsonvalue import Json
from ..payload_type import empty_payload

__all__ = ["resign_event"]

_USUAL_NAME: Final = "resign"


def resign_event(game: Game) -> tuple[str, Json] | None:
    """The event and its payload; None if the game has none."""
    name = game.resign or _USUAL_NAME
    declared = game.events.get(name)
    payload = None if declared is None else empty_payload(declared.payload)
    return None if payload is None else (name, payload[0])
