"""A game in several versions: a total that all see, and a secret that none does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hotseat.engine.definition import (
    Game,
    define_game,
    event,
    state,
    timeout,
    transition,
    views,
)
from hotseat.engine.machine import Machine, compile_game
from hotseat.engine.undo import undo

__all__ = ["FIRST", "SECOND", "find", "vault"]


def vault(
    version: str = "1",
    *,
    key: str = "total",
    factor: int = 1,
    migrate: Callable[[Any, str], Any] | None = None,
    place: str = "play",
    resigns: bool = True,
    seats: int = 2,
) -> Game:
    """Seats add in turn. G is {key: total, "secret", "turn_ms"}."""

    def add(ctx: Any) -> Any:
        total = ctx.G[key] + factor * ctx.event.payload
        return {"G": {**ctx.G, key: total}, "turn": "increment"}

    def resign(ctx: Any) -> Any:
        if not isinstance(ctx.G[key], int):
            return None
        return {"result": {"resigned": ctx.player_id}}

    return define_game(
        name="vault",
        version=version,
        player_ids=["0", "1", "2"][:seats],
        min_players=min(seats, 2),
        events={
            "add": event(int, public=True),
            **({"resign": event()} if resigns else {}),
        },
        initial=place,
        setup=lambda ctx: {key: 0, "secret": "xyzzy", "turn_ms": 1_000},
        states={
            place: state(
                active_players=lambda ctx: [str((ctx.position.turn - 1) % 2)],
                deadline=lambda ctx: ctx.now + ctx.G["turn_ms"],
            )
        },
        transitions=[
            transition("add", place, place, add),
            timeout(place, place, turn="increment"),
            *([transition("resign", place, place, resign)] if resigns else []),
        ],
        views=views(
            public=lambda ctx: {"total": ctx.G[key] + 0},
            player=lambda ctx, seat: {"total": ctx.G[key] + 0, "seat": seat},
        ),
        undo=undo(agree="nobody", back=4),
        migrate=migrate,
    )


def _from_first(G: Any, version: str) -> Any:
    if version != "1":
        raise LookupError(f"no way from {version}")
    return {"sum" if name == "total" else name: part for name, part in G.items()}


FIRST = vault()
SECOND = vault("2", key="sum", factor=10, migrate=_from_first)


def find(*games: Game) -> Callable[[str, str], Machine | None]:
    """The machines of these games, by name and version."""
    machines = {(game.name, game.version): compile_game(game) for game in games}
    return lambda name, version: machines.get((name, version))
