"""Connect four: a state of nested lists, of which a move changes one."""

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

__all__ = ["Drop", "game", "render"]

COLUMNS = 7
ROWS = 6
IN_LINE = 4
DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))  # (columns, rows) of one pace

Columns = Sequence[Sequence[str]]  # the discs of each column, from the bottom


class Drop(Struct, frozen=True, forbid_unknown_fields=True):
    """Drop a disc into a column, counted from the left."""

    column: Annotated[int, Meta(ge=0, lt=COLUMNS)]


def dropped(ctx: ResolverContext) -> list[Sequence[str]] | Rejected:
    """The columns after the move. All but one are the same objects as before."""
    columns: Columns = ctx.G["columns"]
    column = ctx.event.payload.column
    if len(columns[column]) == ROWS:
        return reject("column_full", {"column": column})
    grown = [*columns[column], ctx.turn.current_player]
    return [*columns[:column], grown, *columns[column + 1 :]]


def wins(columns: Columns, column: int) -> bool:
    """Whether the top disc of a column stands in a line of four."""
    row = len(columns[column]) - 1
    for across, up in DIRECTIONS:
        line = 1 + reach(columns, column, row, across, up)
        if line + reach(columns, column, row, -across, -up) >= IN_LINE:
            return True
    return False


def reach(columns: Columns, column: int, row: int, across: int, up: int) -> int:
    """How many more discs of the same player follow in a direction."""
    owner, count = columns[column][row], 0
    while True:
        column, row = column + across, row + up
        if not 0 <= column < COLUMNS or not 0 <= row < len(columns[column]):
            return count
        if columns[column][row] != owner:
            return count
        count += 1


def is_full(columns: Columns) -> bool:
    """Whether no disc can be dropped any more."""
    return all(len(column) == ROWS for column in columns)


def go_on(ctx: ResolverContext) -> object:
    """A move after which the other player is to move."""
    columns = dropped(ctx)
    if isinstance(columns, Rejected):
        return columns
    if wins(columns, ctx.event.payload.column) or is_full(columns):
        return None
    return {"G": {"columns": columns, "winner": None}}


def finish(ctx: ResolverContext) -> object:
    """A move that wins, or fills the board."""
    columns = dropped(ctx)
    if isinstance(columns, Rejected):
        return None
    if wins(columns, ctx.event.payload.column):
        winner = ctx.turn.current_player
        result = {"winner": winner}
        return {"G": {"columns": columns, "winner": winner}, "result": result}
    if is_full(columns):
        return {"G": {"columns": columns, "winner": None}, "result": {"draw": True}}
    return None


def legal_actions(ctx: StateContext, seat: str) -> Iterator[tuple[str, Json]]:
    """Every column with room."""
    for number, column in enumerate(ctx.G["columns"]):
        if len(column) < ROWS:
            yield "drop", {"column": number}


def public_view(ctx: StateContext) -> Json:
    """Everything: there is nothing to hide."""
    over = ctx.G["winner"] is not None or is_full(ctx.G["columns"])
    return {**ctx.G, "toMove": None if over else current_player(ctx)}


def render(view: Mapping[str, Json]) -> str:
    """The discs for a terminal, over the numbers of their columns."""
    rows = [
        [column[row] if row < len(column) else "." for column in view["columns"]]
        for row in reversed(range(ROWS))
    ]
    rows.append([str(column) for column in range(COLUMNS)])
    return "\n".join(map(" ".join, rows))


def over_label(ctx: StateContext) -> str:
    """How it ended."""
    winner = ctx.G["winner"]
    return "Draw" if winner is None else f"Player {winner} has won"


game = define_game(
    name="connect-four",
    max_players=2,
    events={"drop": event(Drop, public=True)},
    initial="play",
    setup=lambda ctx: {"columns": [[] for _ in range(COLUMNS)], "winner": None},
    states={
        "play": state(
            active_players=active_round_robin,
            label=lambda ctx: f"Player {current_player(ctx)} to move",
        ),
        "over": state(active_players=[], label=over_label),
    },
    transitions=[
        transition("drop", "play", "play", go_on, turn="increment"),
        transition("drop", "play", "over", finish, turn="increment"),
    ],
    views=views(
        public=public_view,
        player=lambda ctx, seat: {**public_view(ctx), "myPlayerID": seat},
    ),
    legal_actions=legal_actions,
    imagine=lambda ctx: {"columns": ctx.view["columns"], "winner": None},
)
