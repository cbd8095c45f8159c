"""What a seed decides before its world begins: swarm testing.

Each seed enables a random part of the faults at random rates: a run with all of them
at once gets nowhere near the states that a few of them, often, lead to.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Literal

from hotseat.runtime.replication.options import ReplicationOptions

__all__ = ["FAULTS", "RATES", "Settings", "draw_settings"]

FAULTS_FIRST = (
    "crash_owner",
    "crash_any",
    "crash_two",
    "crash_looping",
    "blackout",
    "vanish",
    "disk_lost",
    "image_restored",
    "fsync_lied",
    "pause_owner",
    "pause_any",
    "cut_pair",
    "cut_one_way",
    "isolate",
    "isolate_owner",
    "strand_owner",
    "cut_coordinator",
    "cut_owner_coordinator",
    "cut_clients",
    "coordinator_down",
    "coordinator_slow",
    "watch_slow",
    "lease_lost",
    "false_reset",
    "false_reset_cut",
    "slow_node",
    "slow_link",
    "slow_disk",
    "full_disk",
    "clock_jump",
    "retry_storm",
    "move",
    "want_edit",
    "ambush",
)
"""What the nemesis may do at a time of its choice; `nemesis.py` says what they are."""

FAULTS_APART = (
    "stop_any",
    "stop_all",
    "spoil_state",
    "drain",
    "drain_stop",
    "coordinator_restored",
)
"""The same, drawn apart: what a seed drew of the others stays as it was."""

FAULTS = FAULTS_FIRST + FAULTS_APART

APART = 0.4
"""In how many worlds some of those strike too."""

RATES = (
    "message_lost",
    "message_doubled",
    "message_delayed",
    "message_reordered",
    "stale_frame",
    "client_lost",
    "cas_lost",
    "cas_answer_lost",
    "cas_late",
)
"""What may befall any message or request."""

MISSING_VERSIONS = 0.05
"""How many worlds have a node that lacks the game."""

Durability = Literal["memory", "disk"]


@dataclass(frozen=True)
class Settings:
    """One world. Times in milliseconds."""

    seed: int
    nodes: int = 3
    shards: int = 2
    copies: int = 3
    min_isr: int = 1
    durability: Durability = "disk"
    players: int = 8
    matches: int = 4
    """Played at one time; each is followed by another when it ends."""
    goal: int = 120
    """Points that end a match."""
    deadline_ms: int = 0
    """0: the game has none."""
    think_ms: int = 120
    impatience_ms: int = 300
    """After so long without an answer a client asks again."""
    patience_ms: int = 8_000
    """After so long it gives up: the outcome is unknown."""
    faults_ms: int = 8_000
    quiet_ms: int = 6_500
    between_ms: int = 700
    """Between two strokes of the nemesis, on average."""
    kept_transactions: int = 1_000
    checkpoint_ms: int = 1_500
    clock_rates: bool = False
    missing_version: bool = False
    impure: bool = False
    """The game is not pure: copies differ, and are told, fetched, or set apart."""
    faults: dict[str, int] = field(default_factory=dict)
    """Weight of each fault that is enabled."""
    rates: dict[str, float] = field(default_factory=dict)
    options: ReplicationOptions = field(default_factory=ReplicationOptions)
    spies: int = 0
    """Players who only ask what is refused, here and there."""
    pins_ms: int = 0
    """Between two deeds of an operator who pins matches, on average; 0: there is none.
    """
    interventions_ms: int = 0
    """Between two commands of an operator to a match, on average; 0: there are none."""
    unwatch: bool = False
    """Whether a player says that it is done with a match."""
    mischief: float = 0.04
    """How often a player tries what is refused."""
    profile: str = ""


def draw_settings(seed: int) -> Settings:
    """The world of a seed."""
    draw = random.Random(f"settings {seed}")
    nodes = draw.choice([3, 3, 3, 4, 5])
    copies = draw.choice([2, 3, 3]) if nodes == 3 else draw.choice([2, 3])
    options = ReplicationOptions(
        heartbeat_ms=draw.choice([100, 200, 230]),
        kept_entries=draw.choice([8, 40, 400, 4096]),
        append_entries_max=draw.choice([2, 16, 512, 512]),
        window_entries=draw.choice([16, 256, 4096]),
        uncommitted_entries=draw.choice([64, 8192]),
        catch_up_entries=random.Random(f"catch up {seed}").choice([1, 3, 16, 16]),
    )
    players = draw.choice([4, 6, 8])
    chosen = draw.sample(FAULTS_FIRST, draw.randint(3, 14))
    rates = draw.sample(RATES, draw.randint(0, 6))
    return Settings(
        seed=seed,
        nodes=nodes,
        shards=draw.choice([1, 2, 2, 3]),
        copies=copies,
        min_isr=draw.choice([1, 1, 2]),
        durability=draw.choice(["memory", "disk", "disk"]),
        players=players,
        matches=draw.choice([2, 3, players // 2]) if players > 4 else 2,
        goal=draw.choice([20, 60, 150]),
        deadline_ms=draw.choice([0, 400, 1500]),
        think_ms=draw.choice([60, 120, 200, 300]),
        impatience_ms=draw.choice([100, 250, 600]),
        patience_ms=draw.choice([1_500, 5_000]),
        faults_ms=draw.choice([5_000, 8_000, 11_000]),
        between_ms=draw.choice([200, 400, 900]),
        spies=draw.choice([0, 0, 1, 2]),
        kept_transactions=draw.choice([4, 1_000]),
        checkpoint_ms=draw.choice([300, 1_000, 4_000]),
        clock_rates=draw.random() < 0.25,
        missing_version=draw.random() < MISSING_VERSIONS,
        impure=draw.random() < 0.05,
        faults={name: draw.choice([1, 1, 3]) for name in chosen},
        rates={name: draw.choice([0.003, 0.02, 0.1]) for name in rates},
        options=options,
    )


def with_faults_apart(settings: Settings) -> Settings:
    """The same world; in some, a few more things happen."""
    draw = random.Random(f"apart {settings.seed}")
    if draw.random() >= APART:
        return settings
    chosen = draw.sample(FAULTS_APART, draw.randint(1, 2))
    more = {name: draw.choice([1, 1, 3]) for name in chosen}
    return replace(settings, faults={**settings.faults, **more})


def without_faults(settings: Settings) -> Settings:
    """The same world, left in peace."""
    return replace(settings, faults={}, rates={})
