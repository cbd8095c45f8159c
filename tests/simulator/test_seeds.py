"""Whole clusters under faults: a fixed set of seeds, and some new ones each time."""

from __future__ import annotations

import time

import pytest

from .regressions import REGRESSIONS
from .runs import command_of, run_seed

FIXED = 140
FRESH = 60
GROUP = 10

BASE = int(time.time()) // 60 * 1_000
"""Of the fresh seeds; the seeds are printed with a failure."""


def live(seeds: list[int]) -> None:
    failed = []
    for seed in seeds:
        outcome = run_seed(seed)
        if outcome.violation:
            failed.append(f"{outcome.violation}\n    {command_of(seed)}")
    assert not failed, "\n".join(failed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, FIXED, GROUP))
def test_no_promise_is_broken_under_faults(first: int) -> None:
    """Whatever goes wrong, nothing acknowledged is lost, doubled or reordered."""
    live(list(range(first, first + GROUP)))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, FRESH, GROUP))
def test_no_promise_is_broken_under_new_faults(first: int) -> None:
    """The same, for seeds that nobody has run before."""
    live(list(range(BASE + first, BASE + first + GROUP)))


@pytest.mark.slow
def test_what_was_once_found_stays_mended() -> None:
    """Seeds that have found a fault are clean."""
    live(sorted(REGRESSIONS))
