"""Tic-tac-toe as games.json has it: illegal placements match nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hotseat.engine.definition import define_game, state, transition, views
from hotseat.engine.turn import active_round_robin, current_player

__all__ = ["game"]

Board = Sequence[Sequence[str | None]]

MARKS = {"0": "X", "1": "O"}
LINES = (
    *[[(row, col) for col in range(3)] for row in range(3)],
    *[[(row, col) for row in range(3)] for col in range(3)],
    [(0, 0), (1, 1), (2, 2)],
    [(0, 2), (1, 1), (2, 0)],
)


def placed(ctx: Any) -> list[list[str | None]] | None:
    """The board with the player's mark on it, or None where it cannot go."""
    board: Board = ctx.G["board"]
    payload = ctx.event.payload
    row, col = payload.get("row"), payload.get("col")
    if row not in range(3) or col not in range(3) or board[row][col] is not None:
        return None
    return [
        [
            MARKS[ctx.player_id] if (r, c) == (row, col) else cell
            for c, cell in enumerate(cells)
        ]
        for r, cells in enumerate(board)
    ]


def winner_mark(board: Board) -> str | None:
    for line in LINES:
        marks = {board[row][col] for row, col in line}
        if len(marks) == 1 and None not in marks:
            return marks.pop()
    return None


def is_full(board: Board) -> bool:
    return all(cell is not None for cells in board for cell in cells)


def ending(board: Board) -> str:
    """The state that a board belongs to."""
    if winner_mark(board) is not None:
        return "won"
    return "drawn" if is_full(board) else "play"


def placement(target: str) -> Callable[[Any], object]:
    def resolve(ctx: Any) -> object:
        board = placed(ctx)
        if board is None or ending(board) != target:
            return None
        answer: dict[str, Any] = {"G": {"board": board}, "turn": "increment"}
        if target == "won":
            mark = winner_mark(board)
            answer["result"] = {"winner": next(p for p in MARKS if MARKS[p] == mark)}
        elif target == "drawn":
            answer["result"] = {"draw": True}
        return answer

    return resolve


def public_view(ctx: Any) -> dict[str, Any]:
    return {"board": ctx.G["board"], "currentPlayer": current_player(ctx)}


game = define_game(
    name="tic-tac-toe-core",
    player_ids=list(MARKS),
    events=["place_mark"],
    initial="play",
    setup=lambda ctx: {"board": [[None] * 3] * 3},
    selectors={
        "boardFull": lambda ctx: is_full(ctx.G["board"]),
        "winnerMark": lambda ctx: winner_mark(ctx.G["board"]),
    },
    states={
        "drawn": state(active_players=[], control={"status": "drawn"}, label="Draw"),
        "play": state(
            active_players=active_round_robin,
            control={"status": "playing"},
            label=lambda ctx: f"Player {current_player(ctx)} to play",
            metadata=lambda ctx: [
                {"key": "currentPlayer", "value": current_player(ctx)}
            ],
        ),
        "won": state(
            active_players=[],
            control={"status": "won"},
            label="Winner",
            metadata=lambda ctx: [
                {"key": "winnerMark", "value": winner_mark(ctx.G["board"])}
            ],
        ),
    },
    transitions=[
        transition("place_mark", "play", "won", placement("won"), label="win"),
        transition("place_mark", "play", "drawn", placement("drawn"), label="draw"),
        transition("place_mark", "play", "play", placement("play"), label="go on"),
    ],
    views=views(
        public=public_view,
        player=lambda ctx, seat: {**public_view(ctx), "myMark": MARKS.get(seat)},
    ),
)
