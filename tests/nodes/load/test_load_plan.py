"""What a load test will do, how its players choose, and how it counts time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.engine.games.connect_four import game as connect_four
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.client.view import View
from hotseat.nodes.load.latency import Latencies
from hotseat.nodes.load.plan import plan_matches
from hotseat.nodes.load.policy import RandomLegal, Scripted

GAMES = [tic_tac_toe, connect_four]


def view(*legal: tuple[str, object], seat: str = "0") -> View:
    return View("m", seat, 1, 1, "play", ("0",), None, False, {}, None, legal)


def test_one_seed_gives_one_plan() -> None:
    """Games, players, arrivals and choices repeat with the seed, and differ without."""
    one, again, other = (
        plan_matches(GAMES, matches=20, rate=10, seed=seed, run="r")
        for seed in ("a", "a", "b")
    )
    assert one == again
    assert [p.start_s for p in one] != [p.start_s for p in other]
    assert one[3].choices("0").random() == again[3].choices("0").random()
    assert one[3].choices("0").random() != one[3].choices("1").random()
    assert one[3].choices("0").random() != other[3].choices("0").random()


def test_two_runs_never_share_a_match() -> None:
    """Creation keys differ from run to run, also with the same seed."""
    one, other = (plan_matches(GAMES, matches=3, rate=10, seed="a") for _ in range(2))
    keys = {plan.key for plan in one} | {plan.key for plan in other}
    assert len(keys) == 6


def test_games_take_turns_and_arrivals_keep_the_rate() -> None:
    """All games are played in turn; the mean time between arrivals is 1 / rate."""
    plans = plan_matches(GAMES, matches=2000, rate=50, seed="a")
    assert [plan.game for plan in plans[:4]] == GAMES * 2
    assert plans[0].start_s == 0
    assert plans[-1].start_s == pytest.approx(2000 / 50, rel=0.1)


@pytest.mark.parametrize(
    "wrong", [{"matches": 0}, {"rate": 0}, {"rate": float("nan")}, {"games": []}]
)
def test_a_plan_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    """No matches, no rate, no games: a clear error, not an endless or empty run."""
    options: dict[str, object] = {"games": GAMES, "matches": 1, "rate": 1.0} | wrong
    with pytest.raises(ValueError, match=r"must be|no game"):
        plan_matches(seed="a", **options)  # type: ignore[arg-type]


def test_random_players_choose_among_what_is_legal() -> None:
    """Every legal action comes up, nothing else does, and none when there is none."""
    (plan,) = plan_matches(GAMES, matches=1, rate=1, seed="a")
    policy = RandomLegal(plan.choices("0"))
    legal = [("place", cell) for cell in range(4)]
    assert {policy.choose(view(*legal)) for _ in range(200)} == set(legal)
    assert policy.choose(view()) is None


def test_scripted_players_wait_for_their_turn() -> None:
    """A script goes on only at this seat's turn, and ends."""
    policy = Scripted([("a", 1), ("b", 2)])
    assert policy.choose(view(seat="1")) is None
    assert policy.choose(view()) == ("a", 1)
    assert policy.choose(view()) == ("b", 2)
    assert policy.choose(view()) is None


@given(st.lists(st.floats(1e-6, 900), min_size=1, max_size=200), st.integers(1, 100))
def test_percentiles_are_near_the_exact_ones(values: list[float], percent: int) -> None:
    """Within the width of a bucket of the sorted list's percentile, in fixed memory."""
    latencies = Latencies()
    for value in values:
        latencies.add(value)
    rank = -(-len(values) * percent // 100)
    exact = sorted(values)[rank - 1]
    assert latencies.percentile_s(percent) == pytest.approx(exact, rel=0.05)
    assert latencies.max_s == max(values)
