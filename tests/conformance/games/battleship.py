"""Battleship on gamekit as games.json has it: fleets are hidden until they are sunk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotseat.engine.gamekit import (
    Outcome,
    define_game,
    end_turn,
    finish,
    goto,
    invalid,
    move,
    phase,
    stay,
    views,
)

__all__ = ["game"]

Side = Mapping[str, Any]

SIZE = 10
SHIPS = {"carrier": 5, "battleship": 4, "cruiser": 3, "submarine": 3, "destroyer": 2}
PLAYERS = ("0", "1")
RIVAL = {"0": "1", "1": "0"}


def with_side(ctx: Any, player: str, **changed: Any) -> dict[str, Any]:
    side = {**ctx.G["players"][player], **changed}
    return {**ctx.G["players"], player: side}


def painted(board: Any, cells: Any, ship: str | None) -> list[list[dict[str, Any]]]:
    places = [(cell["row"], cell["col"]) for cell in cells]
    return [
        [{"ship": ship} if (row, col) in places else cell for col, cell in enumerate(c)]
        for row, c in enumerate(board)
    ]


def place_ship(ctx: Any) -> Outcome:
    side, ship = ctx.G["players"][ctx.player], ctx.args["shipID"]
    if side["ready"]:
        return invalid("already_ready")
    if ship in side["fleet"]:
        return invalid("ship_already_placed", {"shipID": ship})
    row, col = ctx.args["row"], ctx.args["col"]
    across = ctx.args["orientation"] == "horizontal"
    cells = [
        {"row": row + step * (not across), "col": col + step * across}
        for step in range(SHIPS[ship])
    ]
    if not all(free(side["board"], **cell) for cell in cells):
        return invalid("invalid_placement", ctx.args)
    fleet = {**side["fleet"], ship: {"length": len(cells), "cells": cells, "hits": 0}}
    board = painted(side["board"], cells, ship)
    return stay({"players": with_side(ctx, ctx.player, board=board, fleet=fleet)})


def free(board: Any, row: int, col: int) -> bool:
    inside = row in range(SIZE) and col in range(SIZE)
    return inside and board[row][col]["ship"] is None


def unplace_ship(ctx: Any) -> Outcome:
    side, ship = ctx.G["players"][ctx.player], ctx.args["shipID"]
    if side["ready"]:
        return invalid("already_ready")
    if ship not in side["fleet"]:
        return invalid("ship_not_placed", {"shipID": ship})
    fleet = {name: each for name, each in side["fleet"].items() if name != ship}
    board = painted(side["board"], side["fleet"][ship]["cells"], None)
    return stay({"players": with_side(ctx, ctx.player, board=board, fleet=fleet)})


def ready(ctx: Any) -> Outcome:
    side = ctx.G["players"][ctx.player]
    if side["ready"]:
        return invalid("already_ready")
    placed = len(side["fleet"])
    if placed < len(SHIPS):
        return invalid("fleet_incomplete", {"placed": placed, "required": len(SHIPS)})
    patch = {"players": with_side(ctx, ctx.player, ready=True)}
    both = ctx.G["players"][RIVAL[ctx.player]]["ready"]
    return goto("battle", patch) if both else stay(patch)


def fire(ctx: Any) -> Outcome:
    row, col = ctx.args["row"], ctx.args["col"]
    target = {"row": row, "col": col}
    if row not in range(SIZE) or col not in range(SIZE):
        return invalid("out_of_bounds", target)
    rival = RIVAL[ctx.player]
    side = ctx.G["players"][rival]
    if any(shot["at"] == target for shot in side["shotsReceived"]):
        return invalid("already_fired", target)
    ship, fleet = side["board"][row][col]["ship"], side["fleet"]
    shot = {"by": ctx.player, "at": target, "result": "miss", "sunkShipID": None}
    if ship is not None:
        fleet = {**fleet, ship: {**fleet[ship], "hits": fleet[ship]["hits"] + 1}}
        shot["result"] = "hit"
        if is_sunk(fleet[ship]):
            shot.update(result="sunk", sunkShipID=ship)
    shots = [*side["shotsReceived"], shot]
    players = with_side(ctx, rival, fleet=fleet, shotsReceived=shots)
    patch = {"players": players, "lastShot": shot}
    if all(map(is_sunk, fleet.values())):
        return finish({"winner": ctx.player}, patch)
    return end_turn(patch)


def is_sunk(ship: Mapping[str, Any]) -> bool:
    return bool(ship["hits"] == ship["length"])


def sunk(side: Side) -> list[str]:
    return [name for name in SHIPS if name in side["fleet"] and gone(side, name)]


def gone(side: Side, name: str) -> bool:
    return is_sunk(side["fleet"][name])


def revealed(side: Side) -> list[dict[str, Any]]:
    return [
        {"shipID": name, "cells": side["fleet"][name]["cells"]} for name in sunk(side)
    ]


def remaining(side: Side) -> int:
    return len(side["fleet"]) - len(sunk(side))


def seen(ctx: Any) -> dict[str, Any]:
    sides = ctx.G["players"]
    over = ctx.phase not in ("planning", "battle")
    winner = next(p for p in PLAYERS if remaining(sides[p])) if over else None
    return {
        "phase": "gameOver" if over else ctx.phase,
        "currentTurn": ctx.turn.current_player if ctx.phase == "battle" else None,
        "winner": winner,
        "lastShot": ctx.G["lastShot"],
    }


def public(ctx: Any) -> dict[str, Any]:
    sides = ctx.G["players"]
    return {
        **seen(ctx),
        "shotsByPlayer": {p: sides[RIVAL[p]]["shotsReceived"] for p in PLAYERS},
        "fleetStatus": {
            p: {"remaining": remaining(sides[p]), "sunk": sunk(sides[p])}
            for p in PLAYERS
        },
        "sunkRevealedByPlayer": {p: revealed(sides[p]) for p in PLAYERS},
        "readyStatus": {p: sides[p]["ready"] for p in PLAYERS},
    }


def player_view(ctx: Any, seat: str) -> dict[str, Any]:
    mine, other = ctx.G["players"][seat], ctx.G["players"][RIVAL[seat]]
    return {
        **seen(ctx),
        "myPlayerID": seat,
        "opponentID": RIVAL[seat],
        "myBoard": mine["board"],
        "myFleet": mine["fleet"],
        "myReady": mine["ready"],
        "opponentReady": other["ready"],
        "opponentShotsAtMe": mine["shotsReceived"],
        "myShotsAtOpponent": other["shotsReceived"],
        "opponentFleetSunk": revealed(other),
        "myShipsRemaining": remaining(mine),
        "opponentShipsRemaining": remaining(other),
    }


def empty_side() -> dict[str, Any]:
    board = [[{"ship": None}] * SIZE] * SIZE
    return {"board": board, "fleet": {}, "ready": False, "shotsReceived": []}


game = define_game(
    name="battleship",
    player_ids=PLAYERS,
    setup=lambda ctx: {
        "players": {player: empty_side() for player in PLAYERS},
        "lastShot": None,
    },
    moves={
        "placeShip": move(place_ship, phases=["planning"]),
        "unplaceShip": move(unplace_ship, phases=["planning"]),
        "ready": move(ready, phases=["planning"]),
        "fire": move(fire, phases=["battle"]),
    },
    phases={
        "planning": phase(
            active_players=lambda ctx: [
                player for player in PLAYERS if not ctx.G["players"][player]["ready"]
            ],
            label="Place your fleet",
        ),
        "battle": phase(),
    },
    views=views(public=public, player=player_view),
)
