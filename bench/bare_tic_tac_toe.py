"""Tic-tac-toe written by hand, as one would without an engine: the floor of a step.

The same rules and the same refusals as the game that ships; the state is copied on
write, nothing is protected, checked or digested. `place` is the bare rule, `BareMatch`
what stands for a session: it takes events by name, and keeps them in a list.
"""

from __future__ import annotations

from typing import Any

__all__ = ["MOVES", "BareMatch", "new_match", "place"]

MOVES = (4, 0, 8, 2, 6, 7, 1, 3, 5)
"""Nine moves that fill the board: a draw, known with the last."""

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
LINES_THROUGH = tuple(
    tuple(line for line in LINES if cell in line) for cell in range(9)
)
MARKS = ("X", "O")


class BareMatch:
    """A match and its moves."""

    __slots__ = ("log", "state")

    def __init__(self) -> None:
        self.state = new_match()
        self.log: list[dict[str, Any]] = []

    def apply(
        self, player: str, event: str, payload: Any = None, *, now: int
    ) -> dict[str, Any] | str:
        """The match after the move, or why there is none."""
        if event != "place":
            return "unknown_event"
        if type(payload) is not dict or payload.keys() != {"cell"}:
            return "invalid_payload"
        after = place(self.state, player, payload["cell"])
        if isinstance(after, str):
            return after
        self.state = after
        self.log.append(
            {"seat": player, "event": event, "payload": payload, "now": now}
        )
        return after


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
    mark = board[cell]
    if any(board[a] == board[b] == board[c] == mark for a, b, c in LINES_THROUGH[cell]):
        result = {"winner": player}
    elif None not in board:
        result = {"draw": True}
    return {"board": board, "turn": match["turn"] + 1, "result": result}
