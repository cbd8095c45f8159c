"""A square board of numbers; a move adds one to a cell. Its side makes the size of G.

In three ways: on the engine with a new G returned, on the engine through a draft, and
by hand without an engine. `rivals/boardgame.mjs` has the same game.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from hotseat.engine.context import ResolverContext
from hotseat.engine.definition import Game, define_game, event, state, transition, views
from hotseat.engine.turn import active_round_robin

__all__ = ["SIDE_20KB", "SIDE_2KB", "SIDE_LOG", "BareBoard", "board"]

SIDE_2KB = 22
"""22 rows of 22 cells: 2 KB of JSON."""

SIDE_20KB = 71
"""71 rows of 71 cells: 20 KB of JSON."""

SIDE_LOG = 8
"""For the rows about the length of the log."""

CELL = 100


class Bump(Struct, frozen=True):
    """Which cell."""

    row: int
    column: int


def board(side: int, *, drafts: bool = False) -> Game:
    """The game, for two players in turn; it never ends."""
    resolve: Callable[[ResolverContext], object] = _drafted if drafts else _returned
    return define_game(
        name=f"board-{side}",
        max_players=2,
        events={"bump": event(Bump)},
        initial="play",
        setup=lambda ctx: {"rows": _start(side)},
        states={"play": state(active_players=active_round_robin)},
        transitions=[transition("bump", "play", "play", resolve, turn="increment")],
        views=views(public=lambda ctx: None),
    )


def _returned(ctx: ResolverContext) -> object:
    place = ctx.event.payload
    return {"G": _bumped(ctx.G, place.row, place.column)}


def _drafted(ctx: ResolverContext) -> object:
    place = ctx.event.payload
    G: Any = ctx.draft()
    G["rows"][place.row][place.column] += 1
    return G


class BareBoard:
    """A match by hand, and its moves: the floor of a step."""

    __slots__ = ("G", "log", "turn")

    def __init__(self, side: int) -> None:
        self.G: dict[str, Any] = {"rows": _start(side)}
        self.turn = 0
        self.log: list[dict[str, Any]] = []

    def apply(
        self, player: str, event: str, payload: Any = None, *, now: int
    ) -> dict[str, Any] | str:
        """G after the move, or why there is none."""
        if player != ("0", "1")[self.turn % 2]:
            return "inactive_player"
        if event != "bump":
            return "unknown_event"
        if type(payload) is not dict or payload.keys() != {"row", "column"}:
            return "invalid_payload"
        row, column, side = payload["row"], payload["column"], len(self.G["rows"])
        if type(row) is not int or not 0 <= row < side:
            return "invalid_payload"
        if type(column) is not int or not 0 <= column < side:
            return "invalid_payload"
        self.G = _bumped(self.G, row, column)
        self.turn += 1
        self.log.append(
            {"seat": player, "event": event, "payload": payload, "now": now}
        )
        return self.G


def _start(side: int) -> list[list[int]]:
    return [[CELL] * side for _ in range(side)]


def _bumped(G: Any, row: int, column: int) -> dict[str, Any]:
    rows = [*G["rows"]]
    changed = rows[row] = [*rows[row]]
    changed[column] += 1
    return {**G, "rows": rows}
