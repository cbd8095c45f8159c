"""Small games that the tests of the engine play."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hotseat.engine import (
    Batch,
    Event,
    Game,
    Refusal,
    ResolverContext,
    Session,
    State,
    Transition,
    Views,
    create_session,
    define_game,
    enqueue,
    reject,
    state,
    timeout,
    transition,
)

__all__ = ["MATCH", "accepted", "ask", "everything", "one_state", "refused"]

MATCH: Mapping[str, Any] = {"players": ["0", "1"]}


def one_state(
    resolve: Callable[[ResolverContext], object] | None = None,
    *,
    events: Mapping[str, Event] | Sequence[str] = ("go",),
    transitions: Sequence[Transition] | None = None,
    states: Mapping[str, State] | None = None,
    setup: Any = None,
    views: Views | None = None,
    **more: Any,
) -> Game:
    """A game whose first event loops on its one state through `resolve`."""
    first = next(iter(events))
    return define_game(
        name="test",
        player_ids=["0", "1"],
        events=events,
        states=states or {"play": state(active_players=["0", "1"])},
        initial="play",
        setup=lambda ctx: {} if setup is None else setup,
        transitions=transitions or [transition(first, "play", "play", resolve)],
        views=views,
        **more,
    )


def ask(resolve: Callable[[ResolverContext], object], payload: Any = None) -> Any:
    """What a fresh match answers when its one resolver is `resolve`."""
    session = create_session(one_state(resolve), MATCH)
    return session.apply("0", "go", payload, now=1)


def accepted(answer: object) -> Batch:
    """The batch, or a failure that shows the refusal."""
    assert isinstance(answer, Batch), answer
    return answer


def refused(answer: object, code: str) -> Refusal:
    """The refusal, or a failure that shows what came instead."""
    assert isinstance(answer, Refusal), answer
    assert code == answer.code, answer
    return answer


def _change(ctx: ResolverContext) -> object:
    """Put a value under a key, draw, queue, end: whatever the payload asks for."""
    asked = ctx.event.payload
    if not isinstance(asked, dict):
        return reject("not_an_object", {"got": asked})
    if asked.get("raise"):
        raise ValueError("as asked")
    G = {**ctx.G, "moves": ctx.G["moves"] + 1}
    if "put" in asked:
        key, value = asked["put"]
        G["cells"] = {**ctx.G["cells"], key: value}
    if asked.get("roll"):
        G["rolled"] = [*ctx.G["rolled"][-4:], ctx.rng.d6()]
    result: dict[str, Any] = {"G": G, "turn": asked.get("turn")}
    result["enqueue"] = [enqueue("echo", n) for n in range(asked.get("echo", 0))]
    if asked.get("end"):
        result["result"] = {"ended_by": ctx.player_id}
    return result


def _echo(ctx: ResolverContext) -> object:
    return {"G": {**ctx.G, "echoed": ctx.event.payload}}


def _expire(ctx: ResolverContext) -> object:
    return {"G": {**ctx.G, "expired": ctx.now}, "turn": "increment"}


def everything() -> Game:
    """A game that uses queue, rng, timeouts, results and nested states."""
    return define_game(
        name="everything",
        player_ids=["0", "1"],
        events=["change", "echo", "rest", "wake"],
        states={
            "table": state(),
            "play": state(
                parent="table",
                active_players=["0", "1"],
                deadline=lambda ctx: ctx.now + 100,
                label=lambda ctx: f"move {ctx.G['moves']}",
            ),
            "rest": state(parent="table", active_players=["0"]),
        },
        initial="play",
        setup=lambda ctx: {
            "moves": 0,
            "cells": {},
            "rolled": [],
            "still": {"deep": [[1, 2], [3, {"four": 4}]]},
        },
        transitions=[
            transition("change", "play", "play", _change),
            transition("echo", "table", "play", _echo),
            transition("rest", "play", "rest"),
            transition("wake", "rest", "play", turn="increment"),
            timeout("table", "play", _expire),
        ],
        selectors={"moves": lambda ctx: ctx.G["moves"]},
    )


def play(session: Session, script: Sequence[Any]) -> None:
    """Drive `everything` through a script; refusals are part of the game."""
    for now, entry in enumerate(script, start=1):
        if entry == "timeout":
            session.fire_timeout(now * 1_000)
        elif entry in ("rest", "wake"):
            session.apply("0", entry, now=now)
        else:
            session.apply("1", "change", entry, now=now)
