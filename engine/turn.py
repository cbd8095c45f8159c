"""Whose turn it is, when players take turns in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from .context import ResolverContext, StateContext

__all__ = ["Turn", "active_round_robin", "current_player", "turn_of"]


class Turn(msgspec.Struct, frozen=True):
    """A turn number read as a round robin over the players."""

    current_player: str
    index: int
    players: Sequence[str]
    turn: int


def turn_of(players: Sequence[str], turn: int) -> Turn:
    """Read a turn number; turn 1 is the first player's. `players` is not empty."""
    index = (turn - 1) % len(players)
    return Turn(players[index], index, players, turn)


def current_player(ctx: StateContext | ResolverContext) -> str:
    """The player whose turn it is."""
    players: Sequence[str] = ctx.match["players"]
    return players[(ctx.position.turn - 1) % len(players)]


def active_round_robin(ctx: StateContext) -> list[str]:
    """The `active_players` of a state in which one player moves at a time."""
    return [current_player(ctx)]
