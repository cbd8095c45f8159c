"""Small games for the runtime's tests, each for one idea."""

from __future__ import annotations

from typing import Any

from hotseat.engine.definition import (
    Game,
    define_game,
    enqueue,
    event,
    reject,
    state,
    timeout,
    transition,
    views,
)
from hotseat.engine.undo import UndoRule

PLAYERS = {"players": ["0", "1"]}
TURN_MS = 1_000


def other(seat: str) -> str:
    """The seat that is not `seat`."""
    return "1" if seat == "0" else "0"


def _add(ctx: Any) -> Any:
    amount = ctx.event.payload
    if not isinstance(amount, int) or amount < 1:
        return reject("not_positive", {"amount": amount})
    total = ctx.G["total"] + amount
    result: dict[str, Any] = {
        "G": {
            **ctx.G,
            "total": total,
            "to_move": other(ctx.G["to_move"]),
            "roll": ctx.rng.d6(),
        },
        "turn": "increment",
    }
    if total >= ctx.G["goal"]:
        result["result"] = {"winner": ctx.player_id}
    return result


def _keep(ctx: Any) -> Any:
    """An addition that keeps the turn."""
    return {"G": {**ctx.G, "total": ctx.G["total"] + 1}}


def _give(ctx: Any) -> Any:
    """Hand the move over within the same turn."""
    return {"G": {**ctx.G, "to_move": other(ctx.G["to_move"])}}


def _fail(ctx: Any) -> Any:
    raise RuntimeError("half way")


def race(goal: int = 1_000_000, *, undo: UndoRule | None = None) -> Game:
    """Seats add in turn until a goal; `keep` adds and stays, `give` hands over."""
    return define_game(
        name="race",
        max_players=2,
        events={
            "add": event(public=True),
            "keep": event(),
            "give": event(),
            "fail": event(),
            "chain": event(),
            "inner": event(),
        },
        initial="play",
        setup=lambda ctx: {"total": 0, "to_move": "0", "goal": goal, "roll": 0},
        states={"play": state(active_players=lambda ctx: [ctx.G["to_move"]])},
        transitions=[
            transition("add", "play", "play", _add),
            transition("keep", "play", "play", _keep),
            transition("give", "play", "play", _give),
            transition("fail", "play", "play", _fail),
            transition(
                "chain",
                "play",
                "play",
                lambda ctx: {"enqueue": [enqueue("inner"), enqueue("inner")]},
            ),
            transition("inner", "play", "play", _keep),
        ],
        views=views(public=lambda ctx: {"total": ctx.G["total"]}),
        legal_actions=lambda ctx, seat: [("add", 1), ("add", 2)],
        undo=undo,
    )


def _bid(ctx: Any) -> Any:
    bids = {**ctx.G["bids"], ctx.player_id: ctx.event.payload}
    if len(bids) < 2:
        return {"G": {**ctx.G, "bids": bids}}
    return {
        "G": {**ctx.G, "bids": {s: bids[s] for s in sorted(bids)}, "open": True},
        "result": {"bids": {s: bids[s] for s in sorted(bids)}},
    }


def sealed_bid() -> Game:
    """Both seats bid once, in any order, unseen by the other."""
    return define_game(
        name="sealed-bid",
        max_players=2,
        events=["bid"],
        initial="bidding",
        setup=lambda ctx: {"bids": {}, "open": False},
        states={
            "bidding": state(
                active_players=lambda ctx: [
                    s for s in ctx.match["players"] if s not in ctx.G["bids"]
                ]
            )
        },
        transitions=[transition("bid", "bidding", "bidding", _bid)],
        views=views(
            public=lambda ctx: {"bidders": sorted(ctx.G["bids"])},
            player=lambda ctx, seat: {"mine": ctx.G["bids"].get(seat)},
        ),
    )


def auction(*, strict: bool = False) -> Game:
    """Both seats may raise at any time; a raise moves to the other state and back.

    With `strict` it stays in one state, which says `strict_revision`.
    """

    def raise_(ctx: Any) -> Any:
        return {"G": {"price": ctx.G["price"] + 1, "holder": ctx.player_id}}

    return define_game(
        name="strict-auction" if strict else "auction",
        max_players=2,
        events=["raise"],
        initial="a",
        setup=lambda ctx: {"price": 0, "holder": None},
        states={
            "a": state(active_players=["0", "1"], strict_revision=strict),
            **({} if strict else {"b": state(active_players=["0", "1"])}),
        },
        transitions=(
            [transition("raise", "a", "a", raise_)]
            if strict
            else [
                transition("raise", "a", "b", raise_),
                transition("raise", "b", "a", raise_),
            ]
        ),
        views=views(public=lambda ctx: ctx.G),
    )


def clock(
    *, deadline: Any = None, breaks: bool = False, undo: UndoRule | None = None
) -> Game:
    """A seat that does not move in time loses its turn.

    `deadline` is the state's deadline; by default `TURN_MS` after each step.
    """

    def lapse(ctx: Any) -> Any:
        if breaks:
            raise RuntimeError("the timeout fails")
        return {"G": {**ctx.G, "lapses": ctx.G["lapses"] + 1}}

    return define_game(
        name="clock",
        max_players=2,
        events=["move", "wait"],
        initial="play",
        setup=lambda ctx: {"lapses": 0, "moves": 0},
        states={
            "play": state(
                active_players=["0", "1"],
                deadline=(lambda ctx: ctx.now + TURN_MS)
                if deadline is None
                else deadline,
            ),
        },
        transitions=[
            transition(
                "move",
                "play",
                "play",
                lambda ctx: {"G": {**ctx.G, "moves": ctx.G["moves"] + 1}},
                turn="increment",
            ),
            transition("wait", "play", "play"),
            timeout("play", "play", lapse),
        ],
        views=views(public=lambda ctx: ctx.G),
        undo=undo,
    )


def blind() -> Game:
    """A game whose view fails for seat 1."""

    def view(ctx: Any, seat: str) -> Any:
        if seat == "1":
            raise RuntimeError("no view for seat 1")
        return ctx.G

    def step(ctx: Any) -> Any:
        return {"G": {"n": ctx.G["n"] + 1}}

    return define_game(
        name="blind",
        max_players=2,
        events=["step"],
        initial="play",
        setup=lambda ctx: {"n": 0},
        states={"play": state(active_players=["0", "1"])},
        transitions=[transition("step", "play", "play", step)],
        views=views(public=lambda ctx: ctx.G, player=view),
    )


def secret() -> Game:
    """A game without a view that does not say that its information is open."""
    return define_game(
        name="secret",
        max_players=2,
        events=["step"],
        initial="play",
        setup=lambda ctx: {"n": 0},
        states={"play": state(active_players=["0", "1"])},
        transitions=[transition("step", "play", "play")],
    )
