"""Which matches are idle."""

from __future__ import annotations

from hotseat.nodes.supervisor.tiers import Tiers


def test_a_match_goes_down_the_tiers_with_time() -> None:
    """It runs, rests after a first time without use, and is stale after a second."""
    tiers = Tiers(10, 20)
    tiers.runs("m", 0)
    assert list(tiers.idle(9)) == []
    assert list(tiers.idle(10)) == ["m"]
    assert tiers.rests("m", 10)
    assert list(tiers.idle(100)) == []
    assert list(tiers.stale(29)) == []
    assert list(tiers.stale(30)) == ["m"]
    tiers.forget("m")
    assert (tiers.running, tiers.resting) == (0, 0)


def test_use_begins_the_time_anew() -> None:
    """In either tier; and one that rests may run again."""
    tiers = Tiers(10, 20)
    tiers.runs("m", 0)
    tiers.runs("m", 5)
    assert list(tiers.idle(10)) == []
    tiers.rests("m", 15)
    assert not tiers.rests("m", 30)
    assert list(tiers.stale(40)) == []
    tiers.runs("m", 41)
    assert list(tiers.stale(100)) == []
    assert list(tiers.idle(51)) == ["m"]


def test_a_sweep_looks_only_at_what_it_moves() -> None:
    """Those used longest ago come first, and the first that is not due ends it."""
    tiers = Tiers(10, 20)
    for number in range(5):
        tiers.runs(str(number), number)
    assert list(tiers.idle(12)) == ["0", "1", "2"]
    tiers.rests("4", 20)
    assert list(tiers.oldest(2)) == ["4", "0", "1"]


def test_a_clock_that_steps_back_makes_nothing_idle() -> None:
    """A match only looks younger."""
    tiers = Tiers(10, 20)
    tiers.runs("m", 1_000)
    assert list(tiers.idle(0)) == []
    tiers.runs("m", 0)
    assert list(tiers.idle(10)) == ["m"]
