"""Matches for the inspector's tests, and what its panels say of them."""

from __future__ import annotations

import random
from typing import Any

from hotseat.engine import Session, create_session
from hotseat.engine.definition import define_game, reject, state, transition, views
from hotseat.engine.games.pig_dice import game as pig
from hotseat.engine.games.rock_paper_scissors import game as rps
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.engine.replay import Timeline, open_timeline
from hotseat.nodes.inspect.lines import plain
from hotseat.nodes.inspect.model import InspectModel
from hotseat.nodes.inspect.panels import panel_lines

__all__ = [
    "PLAYERS",
    "hands",
    "model_of",
    "nasty",
    "rolls",
    "said",
    "shout",
    "taken_back",
]

PLAYERS = {"players": ["0", "1"]}


def rolls(moves: int = 10_000, seed: str = "x") -> Session:
    """A match of pig dice, to its end or for so many moves."""
    session = create_session(pig, PLAYERS, seed=seed)
    choose = random.Random(seed)
    for now in range(1, moves + 1):
        if session.snapshot.meta.result is not None:
            break
        (seat,) = session.snapshot.derived.active_players
        session.apply(seat, choose.choice(["roll", "roll", "hold"]), None, now=now)
    return session


def hands() -> Session:
    """Rock-paper-scissors after the first, hidden choice."""
    session = create_session(rps, PLAYERS, seed="x")
    session.apply("0", "choose", {"hand": "paper"}, now=1)
    return session


def taken_back() -> Session:
    """Tic-tac-toe, where seat 1 asked its move back and seat 0 agreed."""
    session = create_session(tic_tac_toe, PLAYERS)
    session.apply("0", "place", {"cell": 0}, now=1)
    session.apply("1", "place", {"cell": 1}, now=2)
    session.undo("1", now=3)
    session.answer_undo("0", True, now=4)
    return session


def _no(ctx: Any) -> Any:
    return reject("quiet", "\x1b[31mno")


def _say(ctx: Any) -> Any:
    if ctx.event.payload == "hush":
        return {"G": {**ctx.G, "failing": True}}
    return {"G": {**ctx.G, "said": [*ctx.G["said"], ctx.event.payload]}}


def _seen(ctx: Any) -> Any:
    if ctx.G["failing"]:
        raise RuntimeError("the view \x1b[2Jfails")
    return {"said": ctx.G["said"]}


shout = define_game(
    name="shout",
    max_players=2,
    events=["say"],
    initial="loud",
    setup=lambda ctx: {"said": [], "failing": False},
    states={"loud": state(active_players=lambda ctx: ctx.match["players"])},
    transitions=[
        transition("say", "loud", "loud", _no),
        transition("say", "loud", "loud", _say),
    ],
    views=views(public=_seen),
)
"""Whatever is said is in G and in the view; `hush` makes the view fail."""


def nasty(*said: str) -> Session:
    """A match of `shout` in which this was said."""
    session = create_session(shout, PLAYERS)
    for now, text in enumerate(said, start=1):
        session.apply("0", "say", text, now=now)
    return session


def model_of(session: Session, **options: Any) -> InspectModel:
    """A model that looks at a session's log."""
    timeline: Timeline = open_timeline(session.game, session.log)
    return InspectModel(timeline, **options)


def said(model: InspectModel, panel: str) -> str:
    """The text of a panel."""
    return "\n".join(plain(panel_lines(model, panel)))
