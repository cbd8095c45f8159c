"""Scripted matches, invariants, and what a failure shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hotseat.engine import (
    GameBuilder,
    InvalidMatchError,
    current_player,
    reject,
)
from hotseat.engine.games.pig_dice import game as pig_dice
from hotseat.engine.games.rock_paper_scissors import game as rock_paper_scissors
from hotseat.engine.testing import (
    GameFault,
    PlayoutError,
    ScriptedMatch,
    ScriptFault,
    check_game,
    random_playout,
    script,
    transcript,
)


def _race() -> Any:
    """Two players add up to 5; who is too slow loses; "crash" is a mistake."""
    g = GameBuilder("race", max_players=2, open_information=True)
    g.event("add", int)
    g.event("crash")

    @g.setup
    def setup(ctx: Any) -> Any:
        return {"sum": 0, "secret": 7}

    @g.state("play", deadline=lambda ctx: ctx.now + 1_000)
    def to_move(ctx: Any) -> list[str]:
        return [current_player(ctx)]

    g.state("over", active_players=[])

    @g.transition("add", "play", "play", turn="increment")
    def add(ctx: Any) -> Any:
        if ctx.event.payload > 2:
            return reject("too_much", {"most": 2})
        return {"G": {**ctx.G, "sum": ctx.G["sum"] + ctx.event.payload}}

    @g.transition("crash", "play", "play")
    def crash(ctx: Any) -> Any:
        raise KeyError("oops")

    @g.timeout("play", "over")
    def late(ctx: Any) -> Any:
        return {"result": {"loser": current_player(ctx)}}

    @g.view.public
    def public(ctx: Any) -> Any:
        return {"sum": ctx.G["sum"], "turn": ctx.position.turn}

    return g.build()


race = _race()


def test_a_script_reads_as_the_match_does() -> None:
    """Actions, refusals, time, views and results, one after another."""
    match = (
        script(race, seed="s")
        .expect(state="play", active=["0"], turn=1, result=None)
        .play("0", "add", 2)
        .refused("0", "add", 1, code="inactive_player")
        .refused("1", "add", 9, reason="too_much", details={"most": 2})
        .sees("1", {"sum": 2})
        .sees(None, {"sum": 2, "turn": 2})
        .wait(999)
        .expect(result=None)
        .wait(1)
        .expect(state="over", result={"loser": "1"}, active=())
    )
    assert match.now == 1_000
    assert match.view() == {"sum": 2, "turn": 2}
    assert match.session.snapshot.meta.seed == "s"


def test_time_moves_only_when_the_script_says_so() -> None:
    """A deadline is met at its instant, however long the wait is."""
    match = script(race, now=5).play("0", "add", 1).wait(60_000)
    assert match.session.log[-1].time_ms == 1_005
    assert match.now == 60_005
    script(race).timeout().expect(result={"loser": "0"})


def test_simultaneous_choices_stay_hidden() -> None:
    """A script can look through every seat's eyes."""
    (
        script(rock_paper_scissors)
        .expect(active=["0", "1"])
        .play("0", "choose", {"hand": "rock"})
        .sees("0", {"myChoice": "rock"})
        .sees("1", {"myChoice": None, "rounds": []})
        .refused("0", "choose", {"hand": "paper"}, code="inactive_player")
        .play("1", "choose", {"hand": "paper"})
        .sees(None, {"scores": {"0": 0, "1": 1}})
    )


def test_one_seed_is_one_match() -> None:
    """Dice fall the same way for the same seed."""

    def rolls(seed: str) -> Any:
        match = script(pig_dice, seed=seed)
        match.play("0", "roll")
        return match.view()

    assert rolls("a") == rolls("a")
    assert len({rolls(seed)["lastRoll"] for seed in "abcdefgh"}) > 1


FAILURES: list[tuple[Callable[[ScriptedMatch], object], str]] = [
    (
        lambda match: match.play("1", "add", 9),
        '1: add 9 should be accepted, but was refused with invalid_event, too_much '
        '{"most": 2}',
    ),
    (lambda match: match.refused("1", "add", 1), "should be refused, but was accepted"),
    (
        lambda match: match.refused("1", "add", 9, reason="odd"),
        'should be refused with reason "odd", but was refused with invalid_event',
    ),
    (lambda match: match.refused("1", "crash"), "KeyError: 'oops'"),
    (lambda match: match.play("1", "crash"), "KeyError: 'oops'"),
    (lambda match: match.expect(state="over"), 'state should be "over", but is "play"'),
    (lambda match: match.expect(active=["0"]), 'active should be ["0"], but is ["1"]'),
    (lambda match: match.expect(turn=7), "turn should be 7, but is 2"),
    (lambda match: match.expect(result={}), "result should be {}, but is null"),
    (lambda match: match.expect(G={"sum": 3}), 'G["sum"] should be 3, but is 2'),
    (lambda match: match.sees("0", {"secret": 7}), 'should have "secret", but has'),
    (lambda match: match.sees(None, {"sum": 9}), "a spectator's view[\"sum\"] should"),
    (lambda match: match.check(lambda session: False), "<lambda> does not hold"),
    (
        lambda match: match.timeout().timeout(),
        "a timeout should come, but there is no deadline",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "said"), FAILURES)
def test_a_failure_shows_the_match_and_its_seed(
    wrong: Callable[[ScriptedMatch], object], said: str
) -> None:
    """What was wrong, and everything that led there."""
    match = script(race, seed="lucky").play("0", "add", 2)
    match.refused("1", "add", 5)
    with pytest.raises(ScriptFault) as caught:
        wrong(match)
    text = str(caught.value)
    assert said in text
    text = " ".join(text.split())
    assert "match so far (race, seed 'lucky', players 0, 1):" in text
    assert "0: add 2 -> play, turn 2, to act: 1" in text
    assert "1: add 5 -> refused: too_much" in text


def test_a_script_needs_a_match_that_can_start() -> None:
    """The players are checked as anywhere else."""
    with pytest.raises(InvalidMatchError):
        script(race, players=["0", "9"])


def small_sum(ctx: Any) -> bool:
    """An invariant that does not hold for long."""
    return bool(ctx.G["sum"] < 3)


def test_invariants_hold_after_every_step_of_a_script() -> None:
    """The first step that breaks one fails, and names it."""
    match = script(race, invariants=[small_sum]).play("0", "add", 2)
    with pytest.raises(ScriptFault, match="small_sum does not hold at revision 2"):
        match.play("1", "add", 2)


def never(ctx: Any) -> None:
    """An invariant with words of its own."""
    assert ctx.G["pot"] < 5, "the pot is too big"


def test_invariants_hold_in_playouts_and_in_the_suite() -> None:
    """Both name the invariant, the seed, and the match that breaks it."""
    random_playout(pig_dice, "a", invariants=[lambda ctx: ctx.G["pot"] >= 0])
    check_game(pig_dice, seeds="a", invariants=[lambda ctx: ctx.G["pot"] >= 0])
    with pytest.raises(PlayoutError, match="never does not hold") as playout:
        random_playout(pig_dice, "a", invariants=[never])
    with pytest.raises(GameFault, match="never does not hold") as suite:
        check_game(pig_dice, seeds="a", invariants=[never])
    for caught in (playout, suite):
        assert "the pot is too big" in str(caught.value)
        assert "match so far (pig-dice, seed 'a', players 0, 1):" in str(caught.value)


def test_a_long_match_is_cut_in_its_transcript() -> None:
    """The end of it is what matters."""
    text = transcript(random_playout(pig_dice, "b"))
    assert len(text.splitlines()) == 42
    assert "lines left out" in text
    assert text.splitlines()[-1].endswith('"}')
