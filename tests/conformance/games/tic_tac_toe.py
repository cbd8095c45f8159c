"""Tic-tac-toe on gamekit, as games.json has it: an occupied cell is a reason."""

from __future__ import annotations

from typing import Any

from hotseat.engine.gamekit import (
    Outcome,
    define_game,
    end_turn,
    finish,
    invalid,
    views,
)

from .tic_tac_toe_core import MARKS, is_full, winner_mark

__all__ = ["game"]


def place_mark(ctx: Any) -> Outcome:
    row, col, board = ctx.args["row"], ctx.args["col"], ctx.G["board"]
    if row not in range(3) or col not in range(3) or board[row][col] is not None:
        return invalid("occupied", {"row": row, "col": col})
    after = [list(cells) for cells in board]
    after[row][col] = MARKS[ctx.player]
    if winner_mark(after) is not None:
        return finish({"winner": ctx.player}, {"board": after})
    if is_full(after):
        return finish({"draw": True}, {"board": after})
    return end_turn({"board": after})


def public(ctx: Any) -> dict[str, Any]:
    return {"board": ctx.G["board"], "currentPlayer": ctx.turn.current_player}


game = define_game(
    name="tic-tac-toe",
    player_ids=list(MARKS),
    setup=lambda ctx: {"board": [[None] * 3] * 3},
    moves={"placeMark": place_mark},
    computed={
        "boardFull": lambda ctx: is_full(ctx.G["board"]),
        "winner": lambda ctx: winner_mark(ctx.G["board"]),
    },
    views=views(
        public=public,
        player=lambda ctx, seat: {**public(ctx), "myMark": MARKS[seat]},
    ),
)
