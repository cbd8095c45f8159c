"""Worlds that are hard on one part of the protocol: tuned faults, sizes and players.

A part of all seeds live in one of them; mutants that break that part are hunted there.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from .settings import Settings

__all__ = ["PROFILES", "in_profile"]

Tune = Callable[[Settings, random.Random], Settings]


def _tails(settings: Settings, draw: random.Random) -> Settings:
    """Logs that differ: small frames, many records at once, owners that die."""
    return replace(
        settings,
        nodes=draw.choice([3, 4]),
        shards=1,
        copies=3,
        min_isr=1,
        think_ms=60,
        players=8,
        matches=draw.choice([2, 4]),
        goal=400,
        faults_ms=4_000,
        between_ms=250,
        faults={
            "crash_owner": 2,
            "isolate_owner": 2,
            "cut_one_way": 2,
            "cut_pair": 1,
            "pause_owner": 1,
            "ambush": 3,
            "retry_storm": 1,
        },
        rates=_some(
            draw, ("message_lost", "message_delayed", "message_reordered"), 0.1
        ),
        options=replace(settings.options, append_entries_max=draw.choice([1, 2, 4])),
    )


def _records(settings: Settings, draw: random.Random) -> Settings:
    """A coordinator whose answers are lost, and whose requests land late."""
    return replace(
        settings,
        faults_ms=6_000,
        between_ms=250,
        faults={
            "cut_pair": 2,
            "false_reset": 1,
            "pause_any": 2,
            "crash_owner": 2,
            "crash_any": 1,
            "want_edit": 2,
            "move": 1,
            "ambush": 2,
            "cut_owner_coordinator": 1,
        },
        rates={"cas_late": 0.25, "cas_answer_lost": 0.15, "cas_lost": 0.05},
    )


def _reads(settings: Settings, draw: random.Random) -> Settings:
    """Owners that do not know that they are deposed, and are asked all the time."""
    return replace(
        settings,
        spies=3,
        think_ms=70,
        impatience_ms=120,
        shards=1,
        players=8,
        matches=2,
        goal=400,
        faults_ms=6_000,
        between_ms=700,
        faults={
            "strand_owner": 5,
            "isolate_owner": 1,
            "pause_owner": 1,
            "move": 1,
            "want_edit": 1,
        },
        rates=_some(draw, ("message_delayed", "client_lost"), 0.02),
    )


def _disks(settings: Settings, draw: random.Random) -> Settings:
    """Disks that are slow, full, or lose what was not synced."""
    return replace(
        settings,
        durability="disk",
        faults_ms=6_000,
        between_ms=250,
        think_ms=60,
        faults={
            "slow_disk": 4,
            "full_disk": 2,
            "vanish": 2,
            "crash_owner": 2,
            "blackout": 1,
            "crash_looping": 1,
            "ambush": 1,
            "isolate_owner": 1,
        },
        rates={},
    )


def _boots(settings: Settings, draw: random.Random) -> Settings:
    """Nodes that die while they start."""
    return replace(
        settings,
        durability="disk",
        faults_ms=6_000,
        between_ms=350,
        faults={
            "crash_looping": 5,
            "slow_disk": 3,
            "blackout": 1,
            "fsync_lied": 1,
            "full_disk": 1,
        },
        rates=_some(draw, ("cas_answer_lost", "cas_late"), 0.1),
    )


def _moves(settings: Settings, draw: random.Random) -> Settings:
    """Shards that are moved all the time, whatever happens meanwhile."""
    return replace(
        settings,
        faults_ms=6_000,
        between_ms=150,
        faults={
            "move": 8,
            "want_edit": 2,
            "crash_owner": 1,
            "pause_owner": 1,
            "cut_pair": 1,
            "false_reset": 1,
            "ambush": 2,
        },
        rates=_some(draw, ("cas_late", "cas_answer_lost", "message_delayed"), 0.05),
    )


def _some(draw: random.Random, names: tuple[str, ...], rate: float) -> dict[str, float]:
    return {name: rate for name in names if draw.random() < 0.5}


PROFILES: dict[str, Tune] = {
    "tails": _tails,
    "records": _records,
    "reads": _reads,
    "disks": _disks,
    "boots": _boots,
    "moves": _moves,
}


def in_profile(settings: Settings, name: str) -> Settings:
    """The same seed, in a profile's world."""
    draw = random.Random(f"profile {name} {settings.seed}")
    return replace(PROFILES[name](settings, draw), profile=name)
