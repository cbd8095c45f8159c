"""Tic-tac-toe: players alternate on a board that both see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from ..context import ResolverContext, StateContext
from ..definition import (
    Rejected,
    define_game,
    event,
    reject,
    state,
    transition,
    views,
)
from ..jsonvalue import Json
from ..turn import active_round_robin, current_player
from ..undo import undo

__all__ = ["Place", "game", "render"]

MARKS = ("X", "O")
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

Board = Sequence[str | None]


class Place(Struct, frozen=True, forbid_unknown_fields=True):
    """Put the player's mark on a cell, counted by rows from the top left."""

    cell: Annotated[int, Meta(ge=0, le=8)]


def placed(ctx: ResolverContext) -> list[str | None] | Rejected:
    """The board after the move."""
    board: Board = ctx.G["board"]
    cell = ctx.event.payload.cell
    if board[cell] is not None:
        return reject("cell_taken", {"cell": cell})
    return [*board[:cell], MARKS[ctx.turn.index], *board[cell + 1 :]]


def winning_mark(board: Board) -> str | None:
    """The mark that fills a line."""
    for a, b, c in LINES:
        if board[a] is not None and board[a] == board[b] == board[c]:
            return board[a]
    return None


def is_over(board: Board) -> bool:
    """Whether there is nothing left to play."""
    return winning_mark(board) is not None or None not in board


def go_on(ctx: ResolverContext) -> object:
    """A move after which the other player is to move."""
    board = placed(ctx)
    if isinstance(board, Rejected):
        return board
    return None if is_over(board) else {"G": {"board": board}}


def finish(ctx: ResolverContext) -> object:
    """A move that wins, or fills the board."""
    board = placed(ctx)
    if isinstance(board, Rejected) or not is_over(board):
        return None
    won = winning_mark(board) is not None
    result = {"winner": ctx.player_id} if won else {"draw": True}
    return {"G": {"board": board}, "result": result}


def legal_actions(ctx: StateContext, seat: str) -> Iterator[tuple[str, Json]]:
    """Every empty cell."""
    for cell, mark in enumerate(ctx.G["board"]):
        if mark is None:
            yield "place", {"cell": cell}


def public_view(ctx: StateContext) -> Json:
    """The board, the mark of each player, and who is to move."""
    players = ctx.match["players"]
    return {
        "board": ctx.G["board"],
        "marks": dict(zip(players, MARKS, strict=False)),
        "toMove": None if is_over(ctx.G["board"]) else current_player(ctx),
    }


def render(view: Mapping[str, Json]) -> str:
    """The board for a terminal; free cells show their number."""
    cells = [mark or str(cell) for cell, mark in enumerate(view["board"])]
    return "\n".join(" ".join(cells[row : row + 3]) for row in (0, 3, 6))


def over_label(ctx: StateContext) -> str:
    """How it ended."""
    mark = winning_mark(ctx.G["board"])
    return "Draw" if mark is None else f"{mark} has won"


game = define_game(
    name="tic-tac-toe",
    max_players=2,
    events={"place": event(Place, public=True)},
    initial="play",
    setup=lambda ctx: {"board": [None] * 9},
    states={
        "play": state(
            active_players=active_round_robin,
            label=lambda ctx: f"{MARKS[ctx.turn.index]} to move",
        ),
        "over": state(active_players=[], label=over_label),
    },
    transitions=[
        transition("place", "play", "play", go_on, turn="increment"),
        transition("place", "play", "over", finish, turn="increment"),
    ],
    views=views(
        public=public_view,
        player=lambda ctx, seat: {**public_view(ctx), "myPlayerID": seat},
    ),
    legal_actions=legal_actions,
    undo=undo(back=9),
)
