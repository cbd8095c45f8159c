"""Tic-tac-toe written by hand, as one would without an engine: the floor of a step.

The same rules and the same refusals as the game that ships; the state is copied on
write, nothing is protected, checked, recorded or digested.
"""

from __future__ import annotations

from typing import Any

__all__ = ["MOVES", "new_match", "place"]

MOVES = (4, 0, 8, 2, 6, 7, 1, 3, 5)
"""Nine moves that fill the board, the last of which decides it."""

LINES = (
    (0, 1, 2),
    (3, 4, 5),
    (6, 7, 8),
    (0, 3, 6),
    (1, 4, 7),
    (2, 5, 8),
    (0, 4, 8),
    (2, 4, 6),
)
MARKS = ("X", "O")


def new_match() -> dict[str, Any]:
    return {"board": [None] * 9, "turn": 0, "result": None}


def place(match: dict[str, Any], player: str, cell: object) -> dict[str, Any] | str:
    """The match after the move, or why there is none."""
    if match["result"] is not None:
        return "game_over"
    index = match["turn"] % 2
    if player != ("0", "1")[index]:
        return "inactive_player"
    if type(cell) is not int or not 0 <= cell < 9:
        return "invalid_payload"
    board = match["board"]
    if board[cell] is not None:
        return "cell_taken"
    board = [*board[:cell], MARKS[index], *board[cell + 1 :]]
    result: dict[str, Any] | None = None
    if any(
        board[a] is not None and board[a] == board[b] == board[c] for a, b, c in LINES
    ):
        result = {"winner": player}
    elif None not in board:
        result = {"draw": True}
    return {"board": board, "turn": match["turn"] + 1, "result": result}
