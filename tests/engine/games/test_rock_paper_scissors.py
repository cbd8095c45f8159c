"""Rock-paper-scissors: simultaneous and hidden."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from hotseat.engine import (
    Batch,
    Refusal,
    Session,
    create_session,
    redact_step,
    snapshot_to_json,
    thaw,
)
from hotseat.engine.games.rock_paper_scissors import HANDS, ROUNDS_MAX, game


def fresh() -> Session:
    return create_session(game, {"players": ["0", "1"]})


def choose(session: Session, seat: str, hand: str) -> Batch:
    answer = session.apply(seat, "choose", {"hand": hand}, now=1)
    assert isinstance(answer, Batch), answer
    return answer


def play_round(session: Session, first: str, second: str) -> None:
    choose(session, "0", first)
    choose(session, "1", second)


def what_others_see(session: Session, batch: Batch) -> Any:
    """All that may leave for the other seat and for spectators."""
    derived = snapshot_to_json(session.snapshot)["derived"]
    return [
        derived,
        thaw(session.public_view()),
        thaw(session.player_view("1")),
        session.legal_actions("1"),
        session.legal_actions("0"),
        [redact_step(game, step, "1") for step in batch.steps],
        [redact_step(game, step, None) for step in batch.steps],
        session.apply("0", "choose", {"hand": "rock"}, now=2),
        session.apply("1", "choose", {"hand": "well"}, now=2),
    ]


def test_choice_stays_hidden_until_the_round_is_complete() -> None:
    """Whatever seat 0 has chosen, everything others may see is the same."""
    seen = []
    for hand in HANDS:
        session = fresh()
        play_round(session, "rock", "rock")
        batch = choose(session, "0", hand)
        assert session.player_view("0")["myChoice"] == hand
        assert session.player_view("1")["myChoice"] is None
        seen.append(what_others_see(session, batch))
    assert seen[0] == seen[1] == seen[2]


def test_who_has_chosen_is_known() -> None:
    """Both may act at once, in any order; who has chosen waits for the other."""
    session = fresh()
    assert session.snapshot.derived.active_players == ["0", "1"]
    choose(session, "1", "paper")
    assert session.public_view()["waitingFor"] == ["0"]
    answer = session.apply("1", "choose", {"hand": "rock"}, now=2)
    assert isinstance(answer, Refusal)
    assert answer.code == "inactive_player"


@pytest.mark.parametrize(("first", "second"), [*product(HANDS, HANDS)])
def test_round_is_decided_by_the_rules(first: str, second: str) -> None:
    """Rock beats scissors, scissors beat paper, paper beats rock."""
    winners = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}
    expected = None
    if first != second:
        expected = "0" if (first, second) in winners else "1"
    session = fresh()
    play_round(session, first, second)
    (revealed,) = session.public_view()["rounds"]
    assert revealed == {"choices": {"0": first, "1": second}, "winner": expected}


def test_two_rounds_win_the_match() -> None:
    """The first to win two rounds has won."""
    session = fresh()
    play_round(session, "rock", "scissors")
    play_round(session, "rock", "rock")
    play_round(session, "rock", "paper")
    assert session.result is None
    play_round(session, "paper", "rock")
    assert session.result == {"winner": "0"}
    assert session.snapshot.derived.control_meta.label == "Player 0 has won"


def test_endless_ties_end() -> None:
    """A match of ties alone is a draw after its last round."""
    session = fresh()
    for _ in range(ROUNDS_MAX):
        assert session.result is None
        play_round(session, "rock", "rock")
    assert session.result == {"draw": True}


def test_leader_wins_when_the_rounds_run_out() -> None:
    """One round won and the rest tied is a victory."""
    session = fresh()
    play_round(session, "rock", "paper")
    for _ in range(ROUNDS_MAX - 1):
        play_round(session, "rock", "rock")
    assert session.result == {"winner": "1"}
