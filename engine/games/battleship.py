"""Battleship: both set up a hidden fleet at once, then shoot in turn.

A fleet is its owner's secret. What a shot met is told as the rules say, and stands in
G as it was told: no view, no refusal and no list of actions looks at a fleet of
someone else's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import permutations
from typing import Annotated

from msgspec import Meta, Struct

from ..context import ImagineContext, ResolverContext, StateContext
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
from ..rng import Rng
from ..turn import active_round_robin, current_player

__all__ = ["SHIPS", "Place", "Shoot", "game", "render"]

SIZE = 8
CELLS = SIZE * SIZE
SHIPS = (4, 3, 2)  # lengths, in the order in which they are placed

Fleet = Sequence[Sequence[int]]  # the cells of each ship
Shots = Sequence[Mapping[str, Json]]  # cell and answer of each shot


class Place(Struct, frozen=True, forbid_unknown_fields=True):
    """Place the next ship: its first cell, and whether it lies across or down."""

    cell: Annotated[int, Meta(ge=0, lt=CELLS)]
    across: bool


class Shoot(Struct, frozen=True, forbid_unknown_fields=True):
    """Shoot at a cell of the other's sea, counted by rows from the top left."""

    cell: Annotated[int, Meta(ge=0, lt=CELLS)]


def ship_at(length: int, cell: int, across: bool) -> list[int] | None:
    """The cells of a ship; None if it would leave the sea."""
    first = cell % SIZE if across else cell // SIZE
    if first + length > SIZE:
        return None
    pace = 1 if across else SIZE
    return [cell + pace * n for n in range(length)]


PLACES = {
    length: [
        ship
        for cell in range(CELLS)
        for across in (True, False)
        if (ship := ship_at(length, cell, across)) is not None
    ]
    for length in SHIPS
}
"""By length, every place for a ship."""


def still_placing(ctx: StateContext) -> list[str]:
    """Who has ships left to place."""
    fleets = ctx.G["fleets"]
    return [seat for seat in ctx.players if len(fleets[seat]) < len(SHIPS)]


def placed(ctx: ResolverContext[Place]) -> dict[str, Fleet] | Rejected:
    """The fleets, with one ship more."""
    fleets, seat = ctx.G["fleets"], str(ctx.player_id)
    wanted = ctx.event.payload
    ship = ship_at(SHIPS[len(fleets[seat])], wanted.cell, wanted.across)
    if ship is None:
        return reject("leaves_the_sea")
    if any(cell in other for other in fleets[seat] for cell in ship):
        return reject("ships_overlap")
    return {**fleets, seat: [*fleets[seat], ship]}


def all_placed(fleets: Mapping[str, Fleet]) -> bool:
    """Whether the battle can begin."""
    return all(len(fleet) == len(SHIPS) for fleet in fleets.values())


def keep_placing(ctx: ResolverContext[Place]) -> object:
    """A ship after which there are more to place."""
    fleets = placed(ctx)
    if isinstance(fleets, Rejected):
        return fleets
    return None if all_placed(fleets) else {"G": {**ctx.G, "fleets": fleets}}


def begin_battle(ctx: ResolverContext[Place]) -> object:
    """The last ship of all."""
    fleets = placed(ctx)
    if isinstance(fleets, Rejected) or not all_placed(fleets):
        return None
    return {"G": {**ctx.G, "fleets": fleets}}


def shot(ctx: ResolverContext[Shoot]) -> Shots | Rejected:
    """The shots of whoever shoots, with one more and its answer."""
    shooter, target = ctx.turn.current_player, opponent(ctx, ctx.turn.current_player)
    cell, before = ctx.event.payload.cell, ctx.G["shots"][shooter]
    known = {past["cell"] for past in before}
    if cell in known:
        return reject("already_shot_there", {"cell": cell})
    ship = next((ship for ship in ctx.G["fleets"][target] if cell in ship), None)
    answer = "miss" if ship is None else "hit"
    if ship is not None and known | {cell} >= set(ship):
        answer = "sunk"
    return [*before, {"cell": cell, "answer": answer}]


def opponent(ctx: StateContext | ResolverContext, seat: str) -> str:
    """Who is shot at."""
    first, second = ctx.players
    return second if seat == first else first


def sinks_all(shots: Shots) -> bool:
    """Whether no ship is left."""
    return [past["answer"] for past in shots].count("sunk") == len(SHIPS)


def go_on(ctx: ResolverContext[Shoot]) -> object:
    """A shot after which the other shoots."""
    shots = shot(ctx)
    if isinstance(shots, Rejected):
        return shots
    return None if sinks_all(shots) else {"G": with_shots(ctx, shots)}


def finish(ctx: ResolverContext[Shoot]) -> object:
    """The shot that sinks the last ship."""
    shots = shot(ctx)
    if isinstance(shots, Rejected) or not sinks_all(shots):
        return None
    return {"G": with_shots(ctx, shots), "result": {"winner": ctx.player_id}}


def with_shots(ctx: ResolverContext[Shoot], shots: Shots) -> dict[str, Json]:
    """G after a shot."""
    shooter = ctx.turn.current_player
    return {**ctx.G, "shots": {**ctx.G["shots"], shooter: shots}}


def legal_actions(ctx: StateContext, seat: str) -> Iterator[tuple[str, Json]]:
    """Every place for the seat's next ship; in battle every cell not yet shot at."""
    if ctx.position.name == "battle":
        known = {past["cell"] for past in ctx.G["shots"][seat]}
        for cell in range(CELLS):
            if cell not in known:
                yield "shoot", {"cell": cell}
        return
    fleet: Fleet = ctx.G["fleets"][seat]
    taken = {cell for ship in fleet for cell in ship}
    for cell in range(CELLS):
        for across in (True, False):
            ship = ship_at(SHIPS[len(fleet)], cell, across)
            if ship is not None and taken.isdisjoint(ship):
                yield "place", {"cell": cell, "across": across}


def public_view(ctx: StateContext) -> Json:
    """The shots and their answers; the fleets only when the match is over."""
    over = ctx.position.name == "over"
    placing = ctx.position.name == "placing"
    fleets = ctx.G["fleets"]
    return {
        "shots": ctx.G["shots"],
        "placed": {seat: len(fleets[seat]) for seat in ctx.players},
        "fleets": fleets if over else None,
        "toMove": None if over or placing else current_player(ctx),
    }


def player_view(ctx: StateContext, seat: str) -> Json:
    """The public view and the seat's own fleet."""
    mine = ctx.G["fleets"].get(seat)
    return {**public_view(ctx), "myFleet": mine, "myPlayerID": seat}


def imagine(ctx: ImagineContext) -> Json:
    """For the other any fleet that would have answered the shots as it did."""
    seen = ctx.view
    fleets = {ctx.seat: seen["myFleet"]}
    for other in ctx.players:
        if other != ctx.seat:
            wanted = SHIPS[: seen["placed"][other]]
            fleets[other] = drawn_fleet(wanted, seen["shots"][ctx.seat], ctx.rng)
    return {
        "fleets": {seat: fleets[seat] for seat in ctx.players},
        "shots": seen["shots"],
    }


def drawn_fleet(lengths: Sequence[int], shots: Shots, rng: Rng) -> Fleet:
    """Ships of these lengths, anywhere where the answers to the shots allow them."""
    answers = {past["cell"]: past["answer"] for past in shots}
    hits = {cell for cell, answer in answers.items() if answer != "miss"}
    orders = list(permutations(range(len(lengths))))
    for order in sorted(orders, key=lambda _: rng.next()):
        ships = fitted([lengths[index] for index in order], hits, set(), answers, rng)
        if ships is not None:
            found = dict(zip(order, ships, strict=True))
            return [found[index] for index in range(len(lengths))]
    return []


def fitted(
    lengths: Sequence[int],
    hits: AbstractSet[int],
    taken: AbstractSet[int],
    answers: Mapping[int, str],
    rng: Rng,
) -> list[list[int]] | None:
    """Ships of these lengths, in this order, which cover all hits.

    While there is a hit that no ship covers, the next one does.
    """
    if len(hits) > sum(lengths):
        return None
    if not lengths:
        return []
    places = [
        ship
        for ship in PLACES[lengths[0]]
        if taken.isdisjoint(ship)
        and not (hits and hits.isdisjoint(ship))
        and could_be(ship, answers)
    ]
    for ship in sorted(places, key=lambda _: rng.next()):
        rest = fitted(lengths[1:], hits - {*ship}, taken | {*ship}, answers, rng)
        if rest is not None:
            return [ship, *rest]
    return None


def could_be(ship: Sequence[int], answers: Mapping[int, str]) -> bool:
    """Whether a ship there would have answered so: sunk when, and only when, it was."""
    told = [answers.get(cell) for cell in ship]
    return "miss" not in told and (None not in told) == ("sunk" in told)


def render(view: Mapping[str, Json]) -> str:
    """A player's own sea and what is known of the other's, for a terminal.

    x is a hit, o a miss; a spectator sees only the shots.
    """
    seas = []
    for shooter, shots in view["shots"].items():
        sea = ["."] * CELLS
        if shooter != view.get("myPlayerID"):
            for ship in view.get("myFleet") or ():
                for cell in ship:
                    sea[cell] = "#"
        for past in shots:
            sea[past["cell"]] = "o" if past["answer"] == "miss" else "x"
        rows = [" ".join(sea[row : row + SIZE]) for row in range(0, CELLS, SIZE)]
        seas.append("\n".join([f"shots of {shooter}", *rows]))
    return "\n".join(seas)


def placing_label(ctx: StateContext) -> str:
    """Who has ships left to place, which both may know."""
    return f"Waiting for the fleet of {' and '.join(still_placing(ctx))}"


game = define_game(
    name="battleship",
    max_players=2,
    events={"place": event(Place), "shoot": event(Shoot, public=True)},
    initial="placing",
    setup=lambda ctx: {
        "fleets": {seat: [] for seat in ctx.players},
        "shots": {seat: [] for seat in ctx.players},
    },
    states={
        "placing": state(active_players=still_placing, label=placing_label),
        "battle": state(
            active_players=active_round_robin,
            label=lambda ctx: f"Player {current_player(ctx)} to shoot",
        ),
        "over": state(
            active_players=[],
            label=lambda ctx: f"Player {current_player(ctx)} has won",
        ),
    },
    transitions=[
        transition("place", "placing", "placing", keep_placing),
        transition("place", "placing", "battle", begin_battle),
        transition("shoot", "battle", "battle", go_on, turn="increment"),
        transition("shoot", "battle", "over", finish),
    ],
    views=views(public=public_view, player=player_view),
    legal_actions=legal_actions,
    imagine=imagine,
)
