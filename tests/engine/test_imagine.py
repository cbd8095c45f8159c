"""A seat may suppose a match behind what it sees: one that it could not tell apart."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from hotseat.engine import (
    DefinitionError,
    Game,
    GameBuilder,
    Imagined,
    ImagineError,
    Refusal,
    Seen,
    Session,
    can_imagine,
    compile_game,
    create_session,
    define_game,
    event,
    imagine,
    state,
    thaw,
    timeout,
    transition,
)
from hotseat.engine import gamekit as kit
from hotseat.engine.testing import playout_seats

NAMES = [
    "tic_tac_toe",
    "connect_four",
    "reversi",
    "pig_dice",
    "rock_paper_scissors",
    "sealed_auction",
    "crazy_eights",
    "chess",
    "liars_dice",
    "battleship",
]


def shipped(name: str) -> Game:
    if name == "chess":
        pytest.importorskip("chess")
    game: Game = importlib.import_module(f"hotseat.engine.games.{name}").game
    return game


def what_is_seen(session: Session, seat: str) -> Seen:
    """As it would come over a wire: plain values."""
    snapshot = session.snapshot
    return Seen(
        {"players": list(snapshot.meta.match["players"])},
        seat,
        thaw(session.player_view(seat)),
        snapshot.position.name,
        snapshot.position.turn,
        snapshot.revision,
        snapshot.meta.now,
    )


@pytest.mark.parametrize("name", NAMES)
def test_what_is_imagined_looks_like_what_is_seen(name: str) -> None:
    """Wherever a match stands: view, legal actions and whose turn it is are alike."""
    game = shipped(name)
    for number in range(2):
        seats = list(playout_seats(game, number))
        session = create_session(game, {"players": seats}, seed=f"{number}")
        for step in range(60):
            if session.result is not None:
                break
            active = session.snapshot.derived.active_players
            for seat in active:
                drawn = imagine(
                    session.machine, what_is_seen(session, seat), f"{number}/{step}"
                )
                assert drawn.view(seat) == session.player_view(seat)
                assert drawn.legal_actions(seat) == session.legal_actions(seat)
                assert list(drawn.active_players) == list(active)
            legal = session.legal_actions(active[step % len(active)])
            name_, payload = legal[step * 7 % len(legal)]
            seat = active[step % len(active)]
            answer = session.apply(seat, name_, payload, now=step)
            assert not isinstance(answer, Refusal)


def test_one_seed_is_one_match() -> None:
    """What is drawn follows from the seed, and from nothing else."""
    game = shipped("crazy_eights")
    session = create_session(game, {"players": ["0", "1"]})
    session.apply("0", "deal", now=1)
    seen = what_is_seen(session, "0")
    hands = [imagine(session.machine, seen, seed).G["hands"]["1"] for seed in "aab"]
    assert hands[0] == hands[1] != hands[2]
    assert (
        imagine(session.machine, seen, "a").G["hands"]["0"]
        == (session.snapshot.G["hands"]["0"])
    )


def test_a_fleet_that_is_imagined_would_have_answered_so() -> None:
    """Of battleship: no ship lies on a miss, and every hit is on one."""
    game = shipped("battleship")
    session = create_session(game, {"players": ["0", "1"]})
    for seat in ("0", "1"):
        for cell in (0, 16, 32):
            session.apply(seat, "place", {"cell": cell, "across": True}, now=1)
    for own, its in [(0, 63), (1, 62), (8, 61), (16, 60), (17, 59), (18, 58)]:
        for seat, cell in (("0", own), ("1", its)):
            session.apply(seat, "shoot", {"cell": cell}, now=1)
    shots = {past["cell"]: past["answer"] for past in session.snapshot.G["shots"]["0"]}
    assert list(shots.values()) == ["hit", "hit", "miss", "hit", "hit", "sunk"]
    seen = what_is_seen(session, "0")
    for seed in range(20):
        fleet = imagine(session.machine, seen, str(seed)).G["fleets"]["1"]
        cells = {cell for ship in fleet for cell in ship}
        assert [len(ship) for ship in fleet] == [4, 3, 2]
        assert {0, 1, 16, 17, 18} <= cells
        assert 8 not in cells
        assert [16, 17, 18] in fleet or 18 in {ship[-1] for ship in fleet}


def test_moves_are_tried_out() -> None:
    """An action leads to another imagined match, and leaves the first as it was."""
    session = create_session(shipped("tic_tac_toe"), {"players": ["0", "1"]})
    first = imagine(session.machine, what_is_seen(session, "0"), "x")
    second = first.simulate("0", "place", {"cell": 4})
    assert isinstance(second, Imagined)
    assert (first.G["board"][4], second.G["board"][4]) == (None, "X")
    assert (list(second.active_players), second.position.turn) == (["1"], 2)
    refused = second.simulate("1", "place", {"cell": 4})
    assert isinstance(refused, Refusal)
    assert refused.reason == "cell_taken"
    assert second.let_time_pass() is None


def test_time_may_pass() -> None:
    """Where nobody acts, a deadline leads on."""
    game = define_game(
        name="hurry",
        max_players=1,
        events={"go": event()},
        initial="wait",
        setup=lambda ctx: {},
        states={
            "wait": state(active_players=["0"], deadline=lambda ctx: ctx.now + 50),
            "late": state(active_players=[]),
        },
        transitions=[
            timeout("wait", "late", lambda ctx: {"result": "late"}),
            transition("go", "wait", "wait", lambda ctx: {"G": {}}),
        ],
        open_information=True,
    )
    seen = Seen({"players": ["0"]}, "0", {}, "wait", 1)
    later = imagine(compile_game(game), seen, "x").let_time_pass()
    assert isinstance(later, Imagined)
    assert later.result == "late"


def test_a_game_without_views_hides_nothing() -> None:
    """What its seats see is G, in both layers."""
    core = GameBuilder("open", max_players=1, open_information=True)
    core.setup(lambda ctx: {"n": 3})
    core.event("more")
    core.state("one", initial=True, active_players=["0"])
    core.transition("more", "one", "one", lambda ctx: {"G": {"n": ctx.G["n"] + 1}})
    g = kit.GameBuilder("open", max_players=1, open_information=True)
    g.setup(lambda ctx: {"n": 3})
    g.move(name="more")(lambda ctx: kit.stay({"n": ctx.G["n"] + 1}))
    for game in (core.build(), g.build()):
        session = create_session(game, {"players": ["0"]})
        drawn = imagine(session.machine, what_is_seen(session, "0"), "x")
        after = drawn.simulate("0", "more")
        assert can_imagine(game)
        assert isinstance(after, Imagined)
        assert after.view("0") == {"n": 4}


@pytest.mark.parametrize(
    ("imagined", "said"),
    [
        (lambda ctx: ctx.view["nothing"], "KeyError"),
        (lambda ctx: {1, 2}, "not JSON"),
        (None, "does not say"),
    ],
)
def test_what_cannot_be_imagined_says_why(imagined: Any, said: str) -> None:
    """A game that fails, and one that does not declare how."""
    game = define_game(
        name="dim",
        max_players=1,
        events={},
        initial="one",
        setup=lambda ctx: {"n": 1},
        states={"one": state(active_players=["0"])},
        transitions=[],
        views=shipped("tic_tac_toe").views,
        imagine=imagined,
    )
    seen = Seen({"players": ["0"]}, "0", {}, "one", 1)
    assert can_imagine(game) == (imagined is not None)
    with pytest.raises(ImagineError, match=said):
        imagine(compile_game(game), seen, "x")
    with pytest.raises(ImagineError, match="no state"):
        imagine(compile_game(game), Seen({"players": ["0"]}, "0", {}, "no", 1), "x")
    with pytest.raises(ImagineError, match="names '7'"):
        imagine(compile_game(game), Seen({"players": ["7"]}, "0", {}, "one", 1), "x")


def test_imagine_is_checked_where_it_is_given() -> None:
    """It is a function of the context, declared once."""
    g = GameBuilder("two", max_players=1)
    with pytest.raises(DefinitionError, match="ctx"):
        g.imagine(lambda: {})  # type: ignore[type-var]
    g.imagine(lambda ctx: {})
    with pytest.raises(DefinitionError, match="imagine"):
        g.imagine(lambda ctx: {})
