"""Connect four on gamekit, as games.json has it: the top row is row 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hotseat.engine.gamekit import (
    Outcome,
    define_game,
    end_turn,
    finish,
    invalid,
    view,
    views,
)

__all__ = ["game"]

Board = Sequence[Sequence[str | None]]
Cell = tuple[int, int]

ROWS, COLS = 6, 7
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""Horizontal, vertical, down-right, down-left."""


def at(board: Board, cell: Cell) -> str | None:
    row, col = cell
    return board[row][col] if row in range(ROWS) and col in range(COLS) else None


def line_through(board: Board, cell: Cell, player: str) -> list[Cell] | None:
    """The first four cells of the first direction that has as many."""
    for down, right in DIRECTIONS:
        line = [cell]
        for sign in (1, -1):
            row, col = cell[0] + sign * down, cell[1] + sign * right
            while at(board, (row, col)) == player:
                line.append((row, col))
                row, col = row + sign * down, col + sign * right
        if len(line) >= 4:
            return sorted(line)[:4]
    return None


def is_full(board: Board) -> bool:
    return None not in board[0]


def drop_disc(ctx: Any) -> Outcome:
    col, board = ctx.args["col"], ctx.G["board"]
    if col not in range(COLS) or board[0][col] is not None:
        return invalid("column_full", {"col": col})
    row = max(row for row in range(ROWS) if board[row][col] is None)
    after = [list(cells) for cells in board]
    after[row][col] = ctx.player
    patch = {"board": after, "lastMove": {"col": col, "row": row, "player": ctx.player}}
    if line_through(after, (row, col), ctx.player) is not None:
        return finish({"winner": ctx.player}, patch)
    return finish({"draw": True}, patch) if is_full(after) else end_turn(patch)


def winning_line(ctx: Any) -> list[dict[str, int]] | None:
    last = ctx.G["lastMove"]
    if last is None:
        return None
    found = line_through(ctx.G["board"], (last["row"], last["col"]), last["player"])
    if found is None:
        return None
    return [{"row": row, "col": col} for row, col in found]


def public(ctx: Any) -> dict[str, Any]:
    seen = {**ctx.G, "currentPlayer": ctx.turn.current_player}
    return view.merge(seen, ctx, "winningLine")


game = define_game(
    name="connect-four",
    player_ids=["0", "1"],
    setup=lambda ctx: {"board": [[None] * COLS] * ROWS, "lastMove": None},
    moves={"dropDisc": drop_disc},
    computed={
        "winningLine": winning_line,
        "isBoardFull": lambda ctx: is_full(ctx.G["board"]),
    },
    views=views(public=public, player=lambda ctx, seat: public(ctx)),
)
