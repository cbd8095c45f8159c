"""Every broken rule is noticed: else the faults are too tame, or the checkers blind."""

from __future__ import annotations

import pytest

from .mutants import MUTANTS, kept_seeds
from .runs import run_seed
from .scenarios import SCENARIOS


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_rule_is_noticed(name: str) -> None:
    """The kept seed of a mutant breaks a promise; without the mutant it breaks none."""
    seed, scenario = kept_seeds()[name], MUTANTS[name].scenario
    assert run_seed(seed, scenario=scenario, mutant=name).violation
    assert run_seed(seed, scenario=scenario).violation == ""


def test_every_mutant_has_a_kept_seed_and_a_scenario_that_exists() -> None:
    """The list of seeds is complete, and holds nothing else."""
    assert sorted(kept_seeds()) == sorted(MUTANTS)
    assert {m.scenario for m in MUTANTS.values()} <= {"", *SCENARIOS}
