"""What a move costs on gamekit, beside the same event of the same game on the core."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence

from hotseat.engine.context import SetupContext
from hotseat.engine.definition import Game
from hotseat.engine.gamekit import (
    GameBuilder,
    MoveContext,
    Outcome,
    PhaseContext,
    end_turn,
    finish,
    invalid,
    undo,
)
from hotseat.engine.games.tic_tac_toe import MARKS, Place, wins
from hotseat.engine.games.tic_tac_toe import game as on_core
from hotseat.engine.jsonvalue import Json
from hotseat.engine.session import create_session

from .bare_tic_tac_toe import MOVES
from .row import Row, pairs

__all__ = ["gamekit_move", "on_gamekit"]

MATCH = {"players": ["0", "1"]}
ROUNDS = 25
GAMES = 100
"""In one timed block."""

GOAL = 1.5

g = GameBuilder("tic-tac-toe", max_players=2, undo=undo(back=9))


@g.setup
def setup(ctx: SetupContext) -> Json:
    return {"board": [None] * 9}


@g.phase("play", label=lambda ctx: f"{MARKS[ctx.turn.index]} to move")
def to_move(ctx: PhaseContext) -> list[str]:
    return [ctx.turn.current_player]


@g.move(public=True)
def place(ctx: MoveContext[Place]) -> Outcome:
    board: Sequence[str | None] = ctx.G["board"]
    cell = ctx.args.cell
    if board[cell] is not None:
        return invalid("cell_taken", {"cell": cell})
    board = [*board[:cell], MARKS[ctx.turn.index], *board[cell + 1 :]]
    if wins(board, cell):
        return finish({"winner": ctx.player}, {"board": board})
    if None not in board:
        return finish({"draw": True}, {"board": board})
    return end_turn({"board": board})


@g.view.public
def public(ctx: PhaseContext) -> Json:
    return {"board": ctx.G["board"]}


on_gamekit: Game = g.build()


def gamekit_move() -> list[Row]:
    """A whole step of tic-tac-toe, by a session."""
    return [
        pairs(
            "gamekit_move",
            "us",
            lambda: _played_us(on_gamekit),
            lambda: _played_us(on_core),
            floor_is="the same game on the core",
            rounds=ROUNDS,
            goal=GOAL,
        )
    ]


def _played_us(game: Game) -> float:
    """CPU time of one step in microseconds."""
    sessions = [create_session(game, MATCH) for _ in range(GAMES)]
    gc.collect()
    began = time.process_time_ns()
    for session in sessions:
        for number, cell in enumerate(MOVES):
            session.apply(str(number % 2), "place", {"cell": cell}, now=number)
    spent = time.process_time_ns() - began
    assert all(session.result == {"draw": True} for session in sessions)
    return spent / (GAMES * len(MOVES)) / 1000
