"""Random playouts, and the suite that finds what is wrong with a game."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hotseat.engine import (
    Game,
    config_field,
    define_game,
    event,
    state,
    timeout,
    transition,
    views,
)
from hotseat.engine.games import pig_dice
from hotseat.engine.testing import (
    GameFault,
    PlayoutError,
    check_game,
    playout_seats,
    random_playout,
)


def step(ctx: Any) -> Any:
    n = ctx.G["n"] + 1
    return {"G": {"n": n}, "result": "done" if n == 5 else None}


def always(ctx: Any, seat: str) -> Iterator[Any]:
    yield "go", None


def game(**parts: Any) -> Game:
    whole = {
        "name": "counting",
        "max_players": 2,
        "min_players": 1,
        "events": {"go": event(type(None))},
        "states": {"play": state(active_players=lambda ctx: ctx.match["players"])},
        "initial": "play",
        "setup": lambda ctx: {"n": 0},
        "transitions": [transition("go", "play", "play", step)],
        "views": views(public=lambda ctx: ctx.G),
        "legal_actions": always,
        **parts,
    }
    return define_game(**whole)


def fails(*given: Any) -> Any:
    raise LookupError("no such thing")


def test_playout_is_repeatable() -> None:
    """A seed gives one match, whose log is the same to the last digest."""
    first, again = (random_playout(pig_dice.game, "s") for _ in range(2))
    assert first.digest == again.digest
    assert first.result is not None
    assert random_playout(pig_dice.game, "t").digest != first.digest


def test_playout_fires_timeouts_when_nobody_can_act() -> None:
    """A match in which only time can pass comes to its end too."""
    waiting = game(
        states={"play": state(active_players=[], deadline=lambda ctx: ctx.now + 30)},
        transitions=[timeout("play", "play", step)],
    )
    finished = random_playout(waiting)
    assert finished.result == "done"
    assert [record.kind for record in finished.log[1:]] == ["timeout"] * 5


def test_playout_takes_players_and_configuration() -> None:
    """Who plays, and with what configuration, may be given."""
    rounds = game(config={"rounds": config_field("number", 3)})
    finished = random_playout(rounds, players=["1"], config={"rounds": 4})
    assert finished.snapshot.meta.match["players"] == ["1"]
    assert finished.snapshot.meta.match["config"] == {"rounds": 4}
    assert [list(playout_seats(rounds, n)) for n in range(3)] == [
        ["0"],
        ["0", "1"],
        ["0"],
    ]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"transitions": [transition("go", "play", "play")]}, "no result after 50"),
        ({"legal_actions": lambda ctx, seat: [("go", 7)]}, "invalid_payload"),
        ({"legal_actions": lambda ctx, seat: []}, "nobody can go on"),
    ],
)
def test_playout_says_why_there_is_no_end(parts: Any, message: str) -> None:
    """A game that does not end, or lies about its legal actions, is found out."""
    with pytest.raises(PlayoutError, match=message):
        random_playout(game(**parts), actions_max=50)


def test_sound_game_passes() -> None:
    """A small game that keeps its promises has no fault."""
    check_game(game())


def impure() -> Game:
    count = iter(range(1_000))
    return game(setup=lambda ctx: {"n": 0, "made": next(count)})


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (game(views=None), "declares no public view"),
        (game(views=views(public=lambda ctx: 1 // (3 - ctx.G["n"]))), "view"),
        (
            game(views=views(public=lambda ctx: {}, player=fails)),
            "failed during validation",
        ),
        (game(events=["go", "odd"], **{"legal_actions": fails}), "view"),
        (impure(), "two different matches"),
        (
            game(
                events=["go", "more"],
                transitions=[
                    transition("go", "play", "play", step),
                    transition(
                        "more", "play", "play", lambda ctx: ctx.event.payload["x"]
                    ),
                ],
            ),
            "makes the game fail with resolver_error",
        ),
        (game(imagine=lambda ctx: {"n": 7}), "and was"),
        (game(imagine=lambda ctx: fails()), "no such thing"),
        (
            game(
                setup=lambda ctx: {"n": 0, "most": 9},
                transitions=[
                    transition(
                        "go",
                        "play",
                        "play",
                        lambda ctx: {
                            "G": {**ctx.G, "n": ctx.G["n"] + 1},
                            "result": "done" if ctx.G["n"] == 4 else None,
                        },
                    )
                ],
                views=views(public=lambda ctx: {"n": ctx.G["n"]}),
                legal_actions=lambda ctx, seat: (
                    [("go", None)] if ctx.G["n"] < ctx.G["most"] else []
                ),
                imagine=lambda ctx: {**ctx.view, "most": 2},
            ),
            "other actions are legal",
        ),
    ],
)
def test_fault_is_found(broken: Game, message: str) -> None:
    """The suite names what is wrong, and the seed."""
    with pytest.raises(GameFault, match=message):
        check_game(broken)
