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

LINES_THROUGH = tuple(
    tuple(line for line in LINES if cell in line) for cell in range(9)
)
"""By cell: only these lines can be filled by a mark on it."""

Board = Sequence[str | None]


class Place(Struct, frozen=True, forbid_unknown_fields=True):
    """Put the player's mark on a cell, counted by rows from the top left."""

    cell: Annotated[int, Meta(ge=0, le=8)]


def mark_to_move(ctx: ResolverContext | StateContext) -> str:
    """The mark of the player whose turn it is."""
    return MARKS[(ctx.position.turn - 1) % 2]


def placed(ctx: ResolverContext, cell: int) -> list[str | None] | Rejected:
    """The board after a mark on the cell."""
    board: Board = ctx.G["board"]
    if board[cell] is not None:
        return reject("cell_taken", {"cell": cell})
    return [*board[:cell], mark_to_move(ctx), *board[cell + 1 :]]


def wins(board: Board, cell: int) -> bool:
    """Whether the mark on the cell fills a line."""
    mark = board[cell]
    for a, b, c in LINES_THROUGH[cell]:
        if board[a] == board[b] == board[c] == mark:
            return True
    return False


def winning_mark(board: Board) -> str | None:
    """The mark that fills a line."""
    for a, b, c in LINES:
        if board[a] is not None and board[a] == board[b] == board[c]:
            return board[a]
    return None


def go_on(ctx: ResolverContext) -> object:
    """A move after which the other player is to move."""
    cell = ctx.event.payload.cell
    board = placed(ctx, cell)
    if isinstance(board, Rejected):
        return board
    return {"G": {"board": board}} if None in board and not wins(board, cell) else None


def finish(ctx: ResolverContext) -> object:
    """A move that wins, or fills the board."""
    cell = ctx.event.payload.cell
    board = placed(ctx, cell)
    if isinstance(board, Rejected):
        return None
    if wins(board, cell):
        return {"G": {"board": board}, "result": {"winner": ctx.player_id}}
    return None if None in board else {"G": {"board": board}, "result": {"draw": True}}


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
        "toMove": None if ctx.position.name == "over" else current_player(ctx),
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
            label=lambda ctx: f"{mark_to_move(ctx)} to move",
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
    imagine=lambda ctx: {"board": ctx.view["board"]},
)
