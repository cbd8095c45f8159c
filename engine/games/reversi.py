"""Reversi: a move that turns many discs, and a player who may have to pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import NoneType
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

__all__ = ["Place", "game", "render"]

SIZE = 8
CELLS = SIZE * SIZE
DISCS = ("B", "W")  # of the first and of the second player
DIRECTIONS = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if (x, y) != (0, 0)]

Board = Sequence[str | None]


class Place(Struct, frozen=True, forbid_unknown_fields=True):
    """Put a disc on a cell, counted by rows from the top left."""

    cell: Annotated[int, Meta(ge=0, lt=CELLS)]


def opening() -> list[str | None]:
    """Two discs of each, crosswise in the middle."""
    board: list[str | None] = [None] * CELLS
    middle = (SIZE // 2 - 1) * (SIZE + 1)
    board[middle] = board[middle + SIZE + 1] = DISCS[1]
    board[middle + 1] = board[middle + SIZE] = DISCS[0]
    return board


def turned_by(board: Board, cell: int, disc: str) -> list[int]:
    """The discs that a disc on that cell would turn; none if it may not go there."""
    if board[cell] is not None:
        return []
    turned: list[int] = []
    for across, down in DIRECTIONS:
        run: list[int] = []
        x, y = cell % SIZE + across, cell // SIZE + down
        while 0 <= x < SIZE and 0 <= y < SIZE and board[y * SIZE + x] is not None:
            if board[y * SIZE + x] == disc:
                turned += run
                break
            run.append(y * SIZE + x)
            x, y = x + across, y + down
    return turned


def moves_of(board: Board, disc: str) -> Iterator[int]:
    """The cells where a disc may go."""
    return (cell for cell in range(CELLS) if turned_by(board, cell, disc))


def can_move(board: Board, disc: str) -> bool:
    """Whether there is a cell where a disc may go."""
    return next(moves_of(board, disc), None) is not None


def is_over(board: Board) -> bool:
    """Whether neither can move."""
    return not any(can_move(board, disc) for disc in DISCS)


def placed(ctx: ResolverContext[Place]) -> list[str | None] | Rejected:
    """The board after the move."""
    board: Board = ctx.G["board"]
    cell, disc = ctx.event.payload.cell, DISCS[ctx.turn.index]
    if board[cell] is not None:
        return reject("cell_taken", {"cell": cell})
    turned = turned_by(board, cell, disc)
    if not turned:
        return reject("turns_no_disc", {"cell": cell})
    after = list(board)
    for place in (cell, *turned):
        after[place] = disc
    return after


def go_on(ctx: ResolverContext[Place]) -> object:
    """A move after which somebody can move."""
    board = placed(ctx)
    if isinstance(board, Rejected):
        return board
    return None if is_over(board) else {"G": {"board": board}}


def finish(ctx: ResolverContext[Place]) -> object:
    """A move after which nobody can."""
    board = placed(ctx)
    if isinstance(board, Rejected) or not is_over(board):
        return None
    leader = leading_disc(board)
    if leader is None:
        return {"G": {"board": board}, "result": {"draw": True}}
    winner = ctx.players[DISCS.index(leader)]
    return {"G": {"board": board}, "result": {"winner": winner}}


def pass_turn(ctx: ResolverContext) -> object:
    """Only for want of a move. The other then has one, or the match were over."""
    if can_move(ctx.G["board"], DISCS[ctx.turn.index]):
        return reject("you_can_move")
    return {}


def leading_disc(board: Board) -> str | None:
    """Whose discs are more."""
    first, second = map(list(board).count, DISCS)
    if first == second:
        return None
    return DISCS[0] if first > second else DISCS[1]


def legal_actions(ctx: StateContext, seat: str) -> Iterator[tuple[str, Json]]:
    """Every cell where a disc may go; if there is none, to pass."""
    cells = list(moves_of(ctx.G["board"], DISCS[ctx.turn.index]))
    for cell in cells:
        yield "place", {"cell": cell}
    if not cells:
        yield "pass", None


def public_view(ctx: StateContext) -> Json:
    """The board, the discs of each player and how many, and who is to move."""
    board = ctx.G["board"]
    return {
        "board": board,
        "discs": dict(zip(ctx.players, DISCS, strict=True)),
        "count": dict(zip(ctx.players, map(board.count, DISCS), strict=True)),
        "toMove": None if ctx.position.name == "over" else current_player(ctx),
    }


def render(view: Mapping[str, Json]) -> str:
    """The board for a terminal; free cells show their number."""
    cells = [disc or str(cell) for cell, disc in enumerate(view["board"])]
    rows = [cells[row : row + SIZE] for row in range(0, CELLS, SIZE)]
    return "\n".join(" ".join(cell.rjust(2) for cell in row) for row in rows)


def over_label(ctx: StateContext) -> str:
    """How it ended."""
    disc = leading_disc(ctx.G["board"])
    return "Draw" if disc is None else f"{disc} has won"


game = define_game(
    name="reversi",
    max_players=2,
    events={"place": event(Place, public=True), "pass": event(NoneType, public=True)},
    initial="play",
    setup=lambda ctx: {"board": opening()},
    states={
        "play": state(
            active_players=active_round_robin,
            label=lambda ctx: f"{DISCS[ctx.turn.index]} to move",
        ),
        "over": state(active_players=[], label=over_label),
    },
    transitions=[
        transition("place", "play", "play", go_on, turn="increment"),
        transition("place", "play", "over", finish, turn="increment"),
        transition("pass", "play", "play", pass_turn, turn="increment"),
    ],
    views=views(
        public=public_view,
        player=lambda ctx, seat: {**public_view(ctx), "myPlayerID": seat},
    ),
    legal_actions=legal_actions,
    imagine=lambda ctx: {"board": ctx.view["board"]},
)
