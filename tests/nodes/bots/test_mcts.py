"""A bot that looks ahead plays better than one that does not, in any game."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hotseat.engine import Game, create_session, define_game, event, state, transition
from hotseat.engine.games.connect_four import game as connect_four
from hotseat.engine.games.crazy_eights import game as crazy_eights
from hotseat.engine.games.rock_paper_scissors import game as rock_paper_scissors
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.bots import BotView, CannotDecide, Mcts, RandomBot, bots_of

from .arena import ask, looking_ahead, play, points, what_it_sees


def test_it_beats_chance_at_tic_tac_toe() -> None:
    """Of eight matches, sitting first and second in turn, it loses one at most."""
    assert points(tic_tac_toe, looking_ahead(80), RandomBot(), range(8)) >= 7


def test_it_beats_chance_at_connect_four() -> None:
    """All but one at most, with no more than twenty rounds for each move."""
    assert points(connect_four, looking_ahead(20), RandomBot(), range(4)) >= 3


def test_more_rounds_are_better() -> None:
    """A long look beats a short one."""
    long, short = looking_ahead(60), looking_ahead(4)
    assert points(tic_tac_toe, long, short, range(6)) > 3


def test_it_sees_a_win_and_a_loss() -> None:
    """A move that wins is made; one without which the other wins, too."""
    session = create_session(tic_tac_toe, {"players": ["0", "1"]})
    for seat, cell in [("0", 0), ("1", 3), ("0", 1), ("1", 4)]:
        session.apply(seat, "place", {"cell": cell}, now=1)
    bot = looking_ahead(1)  # for a win no time is too short
    for seed in range(3):
        chosen = ask(bot, session, "0", random.Random(seed))
        assert chosen == ("place", {"cell": 2})
    session.apply("0", "place", {"cell": 8}, now=1)  # now 1 may win at 5
    assert ask(bot, session, "1", random.Random(1)) == ("place", {"cell": 5})
    other = create_session(tic_tac_toe, {"players": ["0", "1"]})
    for seat, cell in [("0", 0), ("1", 4), ("0", 1)]:
        other.apply(seat, "place", {"cell": cell}, now=1)
    assert ask(looking_ahead(150), other, "1", random.Random(2)) == (
        "place",
        {"cell": 2},
    )


def test_a_seed_repeats_its_play() -> None:
    """Same seed, same number of rounds: the same match, action for action."""
    matches = [
        play(connect_four, {"0": looking_ahead(5), "1": RandomBot()}, seed)
        for seed in (3, 3, 4)
    ]
    first, second, third = (match.digest for match in matches)
    assert first == second != third


def test_who_choose_at_once_are_no_obstacle() -> None:
    """Whether the other has chosen or not, there is an answer; and a match ends."""
    played = play(rock_paper_scissors, {"0": looking_ahead(12), "1": RandomBot()}, 1)
    assert played.result is not None
    hands = {
        ask(looking_ahead(12), _undecided(), "0", random.Random(seed))[1]["hand"]
        for seed in range(12)
    }
    assert hands == {"rock", "paper", "scissors"}  # none is better than another


def _undecided() -> Any:
    return create_session(rock_paper_scissors, {"players": ["0", "1"]})


def test_more_than_two_play() -> None:
    """Each wants most for themselves; what is hidden is drawn."""
    players = {seat: RandomBot() for seat in ("0", "1", "2")}
    played = play(crazy_eights, {**players, "1": looking_ahead(1)}, 5)
    assert played.result is not None


def test_it_thinks_for_as_long_as_it_is_told() -> None:
    """The clock ends the search, and one legal action needs none."""
    now = [0.0]

    def clock() -> float:
        now[0] += 0.1
        return now[0]

    session = create_session(tic_tac_toe, {"players": ["0", "1"]})
    view = what_it_sees(session, "0", think_s=0.55)
    legal = [("place", {"cell": cell}) for cell in range(9)]
    Mcts(clock=clock).decide(view, legal, random.Random(1))
    assert now[0] == pytest.approx(0.7)
    before = now[0]
    assert Mcts(clock=clock).decide(view, legal[:1], random.Random(1)) == legal[0]
    assert now[0] == before


def test_it_knows_what_it_cannot_do() -> None:
    """No legal actions, no rules, or a game that does not say how to imagine it."""
    session = create_session(tic_tac_toe, {"players": ["0", "1"]})
    view, bot = what_it_sees(session, "0"), looking_ahead(3)
    legal = [("place", {"cell": 0}), ("place", {"cell": 1})]
    with pytest.raises(CannotDecide, match="no legal action"):
        bot.decide(view, [], random.Random(1))
    blind = what_it_sees(session, "0", machine=None)
    with pytest.raises(CannotDecide, match="--game"):
        bot.decide(blind, legal, random.Random(1))
    with pytest.raises(CannotDecide, match="no legal action"):
        RandomBot().decide(view, [], random.Random(1))


def liar(**imagined: Any) -> Game:
    """A game whose `imagine` is wrong."""
    return define_game(
        name="liar",
        max_players=1,
        events={"add": event(int)},
        initial="on",
        setup=lambda ctx: {"n": 1},
        states={"on": state(active_players=["0"])},
        transitions=[transition("add", "on", "on", lambda ctx: {"G": {"n": 2}})],
        open_information=True,
        legal_actions=lambda ctx, seat: [("add", 1), ("add", 2)],
        imagine=lambda ctx: imagined,
    )


def test_a_wrong_imagination_is_found_out() -> None:
    """What would look otherwise than what is seen is not played by."""
    session = create_session(liar(n=5), {"players": ["0"]})
    with pytest.raises(CannotDecide, match="looks otherwise"):
        ask(looking_ahead(3), session, "0", random.Random(1))


def test_a_match_without_end_is_left_off() -> None:
    """Where no result comes within reach, something legal is chosen all the same."""
    session = create_session(liar(n=1), {"players": ["0"]})
    assert ask(looking_ahead(3), session, "0", random.Random(1))[0] == "add"


def test_which_bots_a_game_has() -> None:
    """Ours look ahead where the game says how; they need its legal actions."""
    assert bots_of(tic_tac_toe) == ("mcts", "random")
    parts: dict[str, Any] = {
        "name": "veiled",
        "max_players": 1,
        "events": {},
        "initial": "on",
        "setup": lambda ctx: {},
        "states": {"on": state(active_players=["0"])},
        "transitions": [],
        "views": tic_tac_toe.views,
    }
    listing: dict[str, Any] = {"legal_actions": lambda ctx, seat: []}
    assert bots_of(define_game(**parts)) == ()
    assert bots_of(define_game(**parts, **listing)) == ("random",)
    assert bots_of(define_game(**{**parts, "views": None}, **listing)) == (
        "mcts",
        "random",
    )


def test_a_bot_sees_what_its_seat_sees() -> None:
    """Nothing of what is hidden is anywhere in what it is given."""
    session = create_session(rock_paper_scissors, {"players": ["0", "1"]})
    session.apply("1", "choose", {"hand": "scissors"}, now=1)
    view = what_it_sees(session, "0")
    assert "scissors" not in repr(view.view)
    drawn = {view.imagine(random.Random(seed)).G["choices"]["1"] for seed in range(20)}
    assert drawn == {"rock", "paper", "scissors"}
    assert isinstance(view, BotView)
