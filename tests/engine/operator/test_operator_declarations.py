"""What a game declares for its operators: how to resign, how to migrate."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hotseat.engine import GameBuilder, gamekit
from hotseat.engine.definition import Game, define_game, event, state, transition
from hotseat.engine.errors import DefinitionError
from hotseat.engine.frozen import freeze
from hotseat.engine.machine import compile_game
from hotseat.engine.operator import resign_event, upgrade_state
from hotseat.engine.refusal import Refusal


class Words(msgspec.Struct):
    """A payload that may say nothing."""

    last: str = ""


class Needs(msgspec.Struct):
    """A payload that says something."""

    why: str


def game(**more: Any) -> Game:
    """The least there is, with these events."""
    events = more.pop("events", {"move": event()})
    return define_game(
        name="least",
        max_players=2,
        events=events,
        initial="play",
        setup=lambda ctx: {"n": 0},
        states={"play": state(active_players=["0"])},
        transitions=[transition("move", "play", "play")],
        open_information=True,
        **more,
    )


@pytest.mark.parametrize(
    ("declared", "named", "expected"),
    [
        ({"move": event()}, None, None),
        ({"move": event(), "resign": event()}, None, ("resign", None)),
        ({"move": event(), "resign": event(str | None)}, None, ("resign", None)),
        ({"move": event(), "resign": event(Words)}, None, ("resign", {})),
        ({"move": event(), "resign": event(Needs)}, None, None),
        ({"move": event(), "quit": event()}, "quit", ("quit", None)),
        ({"move": event(), "quit": event(), "resign": event()}, "quit", ("quit", None)),
    ],
)
def test_the_event_that_gives_up_a_seat(
    declared: dict[str, Any], named: str | None, expected: Any
) -> None:
    """The one that is named, else `resign`, if its payload may say nothing."""
    assert resign_event(game(events=declared, resign=named)) == expected


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"resign": "quit"}, "no event of the game"),
        (
            {"resign": "say", "events": {"move": event(), "say": event(int)}},
            "something",
        ),
        ({"resign": 1}, "resign"),
        ({"migrate": 1}, "migrate"),
        ({"migrate": lambda G: G}, "G, from_version"),
    ],
)
def test_what_cannot_be_declared(more: dict[str, Any], says: str) -> None:
    """It is told where it is written."""
    with pytest.raises(DefinitionError, match=says):
        game(**more)


def test_builders_take_both() -> None:
    """The decorated forms make the same game."""
    core = GameBuilder("least", max_players=2, resign="quit", open_information=True)
    core.event("quit")
    core.state("play", active_players=["0"])
    core.setup(lambda ctx: {})

    @core.migrate
    def again(G: Any, from_version: str) -> Any:
        return G

    built = core.build()
    assert (built.resign, built.migrate) == ("quit", again)


def nim(version: str, **more: Any) -> Game:
    """A game of gamekit."""
    g = gamekit.GameBuilder("nim", max_players=2, version=version)
    g.setup(lambda ctx: {"left": 21})

    @g.move
    def take(ctx: Any) -> Any:
        return gamekit.end_turn({"left": ctx.G["left"] - 1})

    @g.move
    def resign(ctx: Any) -> Any:
        return gamekit.finish({"resigned": ctx.player})

    if "migrate" in more:
        g.migrate(more["migrate"])
    return g.build()


def test_a_game_of_gamekit_is_migrated_without_our_key() -> None:
    """Its author sees and gives G as they know it; phases are positions."""
    seen: list[Any] = []

    def migrate(G: Any, from_version: str) -> Any:
        seen.append(dict(G))
        return {"left": G["left"], "taken": []}

    old, new = compile_game(nim("1")), compile_game(nim("2", migrate=migrate))
    first = old.start({"players": ["0", "1"]}, "s", 0)
    asked = {"op": "1", "who": "", "why": "", "from": "1", "to": "2"}
    upgraded = upgrade_state(new, first, freeze(asked), now=0)
    assert not isinstance(upgraded, Refusal)
    after = upgraded[0].snapshot
    assert seen == [{"left": 21}]
    assert (after.G["left"], after.G["taken"]) == (21, [])
    batch = new.apply(after, "1", "resign", now=1, action_id="x", by_operator=True)
    assert not isinstance(batch, Refusal)
    assert batch.snapshot.meta.result == {"resigned": "1"}
