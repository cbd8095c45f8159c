"""Each rule that is broken on purpose is caught, by the seed that caught it first."""

from __future__ import annotations

import pytest

from .mutants import MUTANTS, kept_seeds
from .runs import run_seed

KEPT = kept_seeds()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(KEPT))
def test_a_broken_rule_is_caught(name: str) -> None:
    """A checker says so: the faults are not too tame, and the checkers not too kind."""
    mutant = MUTANTS[name]
    outcome = run_seed(KEPT[name], scenario=mutant.scenario, mutant=name)
    assert outcome.violation, f"{name} survived seed {KEPT[name]}"
