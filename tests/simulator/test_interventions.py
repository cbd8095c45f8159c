"""Operators change matches while everything goes wrong: the promises hold."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from .runs import command_of, run_seed

GROUP = 8

BASE = int(time.time()) // 60 * 1_000
"""Of the fresh seeds; they are printed with a failure."""


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 8, BASE, BASE + 8])
def test_what_an_operator_was_told_stands_in_the_log_once(first: int) -> None:
    """Through takeovers, pins and lost answers; copies and players agree on it."""
    failed, done = [], Counter[str]()
    for seed in range(first, first + GROUP):
        outcome = run_seed(seed, interventions=True)
        done.update(outcome.counts)
        if outcome.violation:
            command = command_of(seed, interventions=True)
            failed.append(f"{outcome.violation}\n    {command}")
    assert not failed, "\n".join(failed)
    for kind in ("Edit", "Upgrade", "Terminate", "ResignSeat"):
        name = f"intervention_{kind}"
        assert done[name], (name, done)
