"""The games of games.json, written to its letter. By id."""

from __future__ import annotations

from collections.abc import Mapping

from hotseat.engine.definition import Game

from .battleship import game as battleship
from .connect_four import game as connect_four
from .pig_dice import game as pig_dice
from .rock_paper_scissors import game as rock_paper_scissors
from .rock_paper_scissors_core import game as rock_paper_scissors_core
from .tic_tac_toe import game as tic_tac_toe
from .tic_tac_toe_core import game as tic_tac_toe_core

__all__ = ["GAMES"]

GAMES: Mapping[str, Game] = {
    game.name: game
    for game in (
        tic_tac_toe_core,
        tic_tac_toe,
        rock_paper_scissors_core,
        rock_paper_scissors,
        pig_dice,
        connect_four,
        battleship,
    )
}
