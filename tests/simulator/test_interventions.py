"""Operators change matches while everything goes wrong: the promises hold."""

from __future__ import annotations

from collections import Counter

import pytest

from .runs import command_of, run_seed

SEEDS = range(8)


@pytest.mark.slow
def test_what_an_operator_was_told_stands_in_the_log_once() -> None:
    """Through takeovers, pins and lost answers; copies and players agree on it."""
    failed, done = [], Counter[str]()
    for seed in SEEDS:
        outcome = run_seed(seed, interventions=True)
        done.update(outcome.counts)
        if outcome.violation:
            command = command_of(seed, interventions=True)
            failed.append(f"{outcome.violation}\n    {command}")
    assert not failed, "\n".join(failed)
    for kind in ("Edit", "Upgrade", "Terminate", "ResignSeat"):
        assert done[f"intervention_{kind}"], (kind, done)
