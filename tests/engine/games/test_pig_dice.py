"""Pig: chance from the match's own generator."""

from __future__ import annotations

from hotseat.engine import Batch, Refusal, Session, create_session
from hotseat.engine.games.pig_dice import TARGET, TURNS_MAX, game


def fresh(seed: str = "pig") -> Session:
    return create_session(game, {"players": ["0", "1"]}, seed=seed)


def act(session: Session, event: str) -> Batch | Refusal:
    (seat,) = session.snapshot.derived.active_players
    answer = session.apply(seat, event, None, now=1)
    assert not isinstance(answer, Refusal) or answer.reason
    return answer


def test_roll_draws_once_and_fills_the_pot() -> None:
    """A roll takes one float from the match's generator, whoever asks for it."""
    session = fresh()
    act(session, "roll")
    assert session.snapshot.meta.rng.draws == 1
    assert 1 <= session.snapshot.G["lastRoll"] <= 6


def test_rolls_depend_on_the_seed_alone() -> None:
    """Equal seeds give equal dice; among other seeds there are other dice."""

    def dice(seed: str) -> list[int]:
        session = fresh(seed)
        rolls = []
        while session.result is None:
            act(session, "roll")
            rolls.append(session.snapshot.G["lastRoll"])
        return rolls

    assert dice("a") == dice("a")
    assert len({tuple(dice(seed)) for seed in "abcdef"}) == 6


def test_a_one_loses_the_pot_and_the_turn() -> None:
    """After a 1 the pot is empty, the score is as before, the other player rolls."""
    session = fresh()
    while session.snapshot.G["lastRoll"] != 1:
        turn = session.snapshot.position.turn
        act(session, "roll")
    assert session.snapshot.G["pot"] == 0
    assert session.snapshot.G["scores"] == {"0": 0, "1": 0}
    assert session.snapshot.position.turn == turn + 1


def test_hold_banks_the_pot() -> None:
    """Holding adds the pot to the score and passes the dice on."""
    session = fresh()
    while session.snapshot.G["pot"] == 0:
        (seat,) = session.snapshot.derived.active_players
        act(session, "roll")
    pot = session.snapshot.G["pot"]
    (seat,) = session.snapshot.derived.active_players
    act(session, "hold")
    assert session.snapshot.G["scores"][seat] == pot
    assert session.snapshot.derived.active_players != [seat]


def test_empty_pot_cannot_be_held() -> None:
    """There must be something to bank."""
    answer = act(fresh(), "hold")
    assert isinstance(answer, Refusal)
    assert answer.reason == "pot_empty"


def test_cautious_players_end_at_the_target_or_the_limit() -> None:
    """Players who hold at once reach the target, or the last turn decides."""
    for seed in range(20):
        session = fresh(str(seed))
        while session.result is None:
            act(session, "hold" if session.snapshot.G["pot"] else "roll")
        scores = session.snapshot.G["scores"].values()
        turn = session.snapshot.position.turn
        assert max(scores) >= TARGET or turn == TURNS_MAX


def test_players_who_never_hold_end_too() -> None:
    """Players who only roll win by a lucky turn, or come to the last turn."""
    for seed in range(20):
        session = fresh(str(seed))
        while session.result is None:
            act(session, "roll")
        assert session.snapshot.position.turn <= TURNS_MAX


def test_views_do_not_show_the_generator() -> None:
    """What comes next cannot be read from a view."""
    session = fresh()
    assert set(session.player_view("0")) == {
        "scores",
        "pot",
        "lastRoll",
        "over",
        "toMove",
        "myPlayerID",
    }
