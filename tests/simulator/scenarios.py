"""Scripted strokes, for what chance alone meets too rarely.

A scenario is a profile, a script, or both. A script is called when the world begins;
it schedules what it wants, and draws from the seed, so that each seed is another try.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .profiles import PROFILES, in_profile
from .scripts import (
    deposed,
    deposed_read,
    late_fold,
    late_join,
    late_pin,
    late_tail,
    long_tail,
    lost_promise,
    lost_tail,
)
from .settings import Settings, without_faults

if TYPE_CHECKING:
    from .world import World

__all__ = ["SCENARIOS", "Scenario"]


@dataclass(frozen=True)
class Scenario:
    """A world of its own kind, and what happens in it."""

    name: str
    text: str
    settings: Callable[[Settings], Settings]
    script: Callable[[World, random.Random], None] | None = None


SCENARIOS: dict[str, Scenario] = {}


def _profile(name: str) -> None:
    text = (PROFILES[name].__doc__ or "").strip()
    SCENARIOS[name] = Scenario(name, text, lambda s: in_profile(s, name))


def _script(
    script: Callable[[World, random.Random], None],
    tune: Callable[[Settings], Settings],
) -> None:
    def settings(drawn: Settings) -> Settings:
        return tune(replace(without_faults(drawn), profile=script.__name__))

    text = (script.__doc__ or "").strip().splitlines()[0]
    SCENARIOS[script.__name__] = Scenario(script.__name__, text, settings, script)


def _small(settings: Settings) -> Settings:
    return replace(
        settings,
        nodes=3,
        shards=1,
        copies=2,
        min_isr=1,
        players=6,
        matches=2,
        goal=400,
        deadline_ms=0,
        think_ms=50,
        impatience_ms=100,
        faults_ms=8_000,
        quiet_ms=5_000,
        mischief=0.3,
        clock_rates=False,
        missing_version=False,
        impure=False,
        kept_transactions=1_000,
    )


for _name in PROFILES:
    _profile(_name)
_script(deposed, lambda s: replace(_small(s), faults_ms=9_000))
_script(late_fold, lambda s: replace(_small(s), faults_ms=9_000))
_script(late_pin, lambda s: replace(_small(s), faults_ms=9_000))
_script(
    deposed_read,
    lambda s: replace(_small(s), faults_ms=9_000, spies=3, rates={"message_lost": 0.3}),
)
_script(
    late_join,
    lambda s: replace(
        _small(s),
        faults_ms=6_000,
        options=replace(s.options, cas_pause_ms=1_800, cas_pause_ms_max=2_000),
    ),
)
_script(
    late_tail,
    lambda s: replace(
        _small(s),
        nodes=4,
        copies=4,
        durability="disk",
        faults_ms=6_000,
        options=replace(
            s.options, append_entries_max=1, window_entries=1, kept_entries=4096
        ),
    ),
)
_script(
    long_tail,
    lambda s: replace(
        _small(s),
        copies=3,
        faults_ms=5_000,
        mischief=0.0,
        impatience_ms=40,
        options=replace(s.options, kept_entries=4096, heartbeat_ms=100),
    ),
)
for _told in (lost_promise, lost_tail):
    _script(_told, lambda s: replace(_small(s), durability="disk", faults_ms=6_000))
