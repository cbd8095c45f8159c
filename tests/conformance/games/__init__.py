"""The games of games.json, written to its letter. By id."""

from __future__ import annotations

from collections.abc import Mapping

from hotseat.engine.definition import Game

from .rock_paper_scissors_core import game as rock_paper_scissors_core
from .tic_tac_toe_core import game as tic_tac_toe_core

__all__ = ["GAMES"]

GAMES: Mapping[str, Game] = {
    game.name: game for game in (tic_tac_toe_core, rock_paper_scissors_core)
}
