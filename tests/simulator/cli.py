"""The command: seeds, tallies, mutants."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .mutants import MUTANTS
from .runs import command_of, run_seed, run_seeds
from .scenarios import SCENARIOS
from .tally import Tally
from .world import Outcome

__all__ = ["main"]

HUNT_MAX = 2_000
"""Seeds that a mutant must survive to be called one that survives."""

SAVE_EVERY = 50
"""Seeds between two writes of the tally."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0: all is well; 1: a promise was broken; 2: it was asked wrongly."""
    asked = _parser().parse_args(arguments)
    if asked.seed is None:
        asked.seed = 0
    if asked.count is None:
        asked.count = HUNT_MAX if asked.mutant else 1
    if asked.list_mutants:
        for mutant in MUTANTS.values():
            _say(f"{mutant.name:28} {mutant.rule}")
        return 0
    if asked.list_scenarios:
        for scenario in SCENARIOS.values():
            _say(f"{scenario.name:28} {scenario.text}")
        return 0
    if asked.mutant:
        return _hunt(asked)
    if asked.tally is not None:
        return _tally(asked)
    if asked.count == 1:
        return _one(asked)
    return _many(asked)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulator",
        description="Lives of whole clusters under faults, each from a seed.",
    )
    parser.add_argument("--seed", type=int, default=None, help="the (first) seed")
    parser.add_argument("--count", type=int, default=None, help="so many from there")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--tally", type=Path, help="go on with the tally in this file")
    parser.add_argument("--scenario", default="", choices=["", *SCENARIOS])
    parser.add_argument(
        "--interventions",
        action="store_true",
        help="operators change matches, whatever the seed says",
    )
    parser.add_argument("--list-scenarios", action="store_true")
    parser.add_argument("--mutant", default="", choices=["", *MUTANTS])
    parser.add_argument("--list-mutants", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the trace")
    return parser


def _one(asked: argparse.Namespace) -> int:
    seed, scenario = asked.seed, asked.scenario
    outcome = run_seed(
        seed,
        scenario=scenario,
        interventions=asked.interventions,
        show=asked.verbose,
    )
    _tell(outcome, scenario=scenario)
    return 1 if outcome.violation else 0


def _many(asked: argparse.Namespace) -> int:
    began_s = time.process_time()
    failed = acks = 0
    seeds = range(asked.seed, asked.seed + asked.count)
    for outcome in run_seeds(seeds, scenario=asked.scenario, jobs=asked.jobs):
        acks += outcome.acks
        if outcome.violation or asked.verbose:
            _tell(outcome, scenario=asked.scenario)
        failed += bool(outcome.violation)
    spent_s = time.process_time() - began_s
    _say(
        f"{asked.count} seeds from {asked.seed}, {failed} failed, {acks:,}"
        f" acknowledgements, {spent_s / asked.count:.3f} s of processor time each"
    )
    return 1 if failed else 0


def _tally(asked: argparse.Namespace) -> int:
    tally = Tally(asked.tally)
    seeds = range(asked.seed, asked.seed + asked.count)
    missing = [seed for seed in seeds if seed not in tally]
    _say(f"{len(missing)} of {asked.count} seeds are to be run")
    try:
        for done, outcome in enumerate(run_seeds(missing, jobs=asked.jobs), 1):
            tally.add(outcome)
            if outcome.violation:
                _tell(outcome)
            if done % SAVE_EVERY == 0:
                tally.save()
    finally:
        tally.save()
    _say(f"{len(tally)} seeds in {asked.tally}, {tally.failures} failed")
    return 1 if tally.failures else 0


def _hunt(asked: argparse.Namespace) -> int:
    """Run seeds with a rule broken until a checker says so."""
    mutant = MUTANTS[asked.mutant]
    scenario = asked.scenario or mutant.scenario
    if asked.verbose:
        outcome = run_seed(asked.seed, scenario=scenario, mutant=mutant.name, show=True)
        _tell(outcome, scenario=scenario, mutant=mutant.name)
        return 1 if outcome.violation else 0
    seeds = range(asked.seed, asked.seed + asked.count)
    for outcome in run_seeds(
        seeds, scenario=scenario, mutant=mutant.name, jobs=asked.jobs
    ):
        if outcome.violation:
            _tell(outcome, scenario=scenario, mutant=mutant.name)
            _say(f"{mutant.name}: caught by seed {outcome.seed}")
            return 1
    _say(f"{mutant.name}: survived {asked.count} seeds from {asked.seed}")
    return 0


def _tell(outcome: Outcome, *, scenario: str = "", mutant: str = "") -> None:
    _say(outcome.summary())
    if outcome.violation:
        command = command_of(outcome.seed, scenario=scenario, mutant=mutant)
        _say(f"  see it again: {command}")
    sys.stdout.flush()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
