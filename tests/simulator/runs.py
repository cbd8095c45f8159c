"""Running seeds: one, or many in several processes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import structlog

from .hosting import hosting_of
from .mutants import MUTANTS, mutated
from .profiles import PROFILES, in_profile
from .scenarios import SCENARIOS
from .settings import Settings, draw_settings, with_faults_apart
from .world import Outcome, World, run_world

IN_PINNING = 0.4
"""In how many of them an operator pins matches."""

IN_PROFILE = 0.35
"""How many of the seeds live in a profile's world."""

INTERVENING = 0.25
"""In how many of them an operator edits, upgrades and ends matches."""

INTERVENTIONS_MS = 150
"""Between two commands, where that is asked for."""

__all__ = ["command_of", "run_seed", "run_seeds"]


def run_seed(
    seed: int,
    *,
    scenario: str = "",
    mutant: str = "",
    interventions: bool = False,
    show: bool = False,
) -> Outcome:
    """Live through one seed; with a scenario its nemesis follows a script.

    With a mutant, one rule of the product is broken meanwhile. With interventions,
    operators change matches whatever the seed says.
    """
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    settings, script = _world_of(seed, scenario)
    if not scenario and not mutant:
        settings = _intervening(with_faults_apart(_pinning(settings)))
    if interventions:
        settings = replace(settings, interventions_ms=INTERVENTIONS_MS)
    hosting = hosting_of("matches")
    if not mutant:
        return run_world(settings, hosting, script=script, show=show)
    with mutated(MUTANTS[mutant]):
        return run_world(settings, hosting, script=script, show=show)


def _world_of(
    seed: int, scenario: str
) -> tuple[Settings, Callable[[World], None] | None]:
    """A third of the seeds live in a profile, by themselves."""
    settings = draw_settings(seed)
    draw = random.Random(f"scenario {seed}")
    if not scenario and draw.random() < IN_PROFILE:
        return in_profile(settings, draw.choice(list(PROFILES))), None
    if not scenario:
        return settings, None
    chosen = SCENARIOS[scenario]
    script = chosen.script
    if script is None:
        return chosen.settings(settings), None
    return chosen.settings(settings), lambda world: script(world, draw)


def _pinning(settings: Settings) -> Settings:
    """In some worlds matches are pinned. (Drawn apart: the others are as they were.)"""
    draw = random.Random(f"pinning {settings.seed}")
    if draw.random() >= IN_PINNING:
        return settings
    options = replace(
        settings.options,
        pins_max=draw.choice([2, 256, 256]),
        pin_hold_ms=draw.choice([100, 400, 1_000]),
    )
    pins_ms = draw.choice([100, 300, 900])
    idle_ms = draw.choice([300, 2_000, 60_000])
    options = replace(options, pin_idle_ms=idle_ms)
    return replace(settings, pins_ms=pins_ms, options=options)


def _intervening(settings: Settings) -> Settings:
    """In some worlds operators change matches. (Drawn apart, too.)"""
    draw = random.Random(f"intervening {settings.seed}")
    if draw.random() >= INTERVENING:
        return settings
    return replace(settings, interventions_ms=draw.choice([100, 300, 900]))


def run_seeds(
    seeds: Iterable[int], *, scenario: str = "", mutant: str = "", jobs: int = 1
) -> Iterator[Outcome]:
    """Outcomes in the order of the seeds."""
    if jobs <= 1:
        for seed in seeds:
            yield run_seed(seed, scenario=scenario, mutant=mutant)
        return
    asked = [(seed, scenario, mutant) for seed in seeds]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_run_asked, asked, chunksize=4)


def _run_asked(asked: tuple[int, str, str]) -> Outcome:
    seed, scenario, mutant = asked
    return run_seed(seed, scenario=scenario, mutant=mutant)


def command_of(
    seed: int, *, scenario: str = "", mutant: str = "", interventions: bool = False
) -> str:
    """What to run to see a seed again."""
    command = f"python -m tests.simulator --seed {seed} -v"
    if scenario:
        command += f" --scenario {scenario}"
    if mutant:
        command += f" --mutant {mutant}"
    if interventions:
        command += " --interventions"
    return command
