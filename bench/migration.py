"""Planned work under play: what players notice when shards move and a node is drained.

Three node processes, the players and the coordinator share this machine. A thousand
matches are played at a stated open-loop rate. Again and again all shards are moved to
one node, one after the other, and then that node, with all the matches, is drained.

A match's pause is what the nodes tell: from the moment that its former owner held new
records to the first word of the new owner. What players noticed is told beside it: how
long their actions took meanwhile, and how many were refused. At the end every log is
held against what the players were told.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import anyio

from hotseat.nodes.chaos.cluster import OPTIONS, ClusterPlan
from hotseat.nodes.chaos.plan import ChaosPlan, Fault, FaultKind
from hotseat.nodes.chaos.run import ChaosRun, run_chaos
from hotseat.nodes.operator.pauses import pauses_told

from .failover import LOGS, wrong_of
from .row import Row

__all__ = ["migration"]

MATCHES = int(os.environ.get("MATCHES", "1000"))
RATE_PER_S = float(os.environ.get("RATE", "200"))
"""Actions offered per second by all matches together."""

ROUNDS = int(os.environ.get("ROUNDS", "5"))

PINS = (
    "[replication]\npin_idle_ms = 3000 # what was moved alone is soon at home again\n"
)

PAUSE_MS = 50.0
DRAIN_S = 10.0


def migration() -> list[Row]:
    """Moves one by one, and drains of a node that owns everything."""
    plan = ChaosPlan(
        ClusterPlan(options=OPTIONS + PINS),
        matches=MATCHES,
        rate=RATE_PER_S,
        seconds=0.0,
        faults=(Fault(FaultKind.MIGRATE),) * ROUNDS,
        even=True,
        clients=4,
        seed="bench",
    )
    run = anyio.run(partial(run_chaos, plan, keep=LOGS))
    _tell(run)
    return _rows(run)


def _rows(run: ChaosRun) -> list[Row]:
    played = f"{run.plan.matches} matches, {run.plan.rate:g} actions/s"
    moved = pauses_told([pair for one in run.migrations for pair in one.moves])
    alone = pauses_told([pair for one in run.migrations for pair in one.matches])
    drained = [one.drained["pauses"] for one in run.migrations]
    drain_s = max(one.drain_s for one in run.migrations)
    action_ms = run.migrating_latencies.percentile_s(99) * 1000
    refused = sum(run.refusals.values()) + sum(run.gone.values())
    drained_p99 = max(told["p99_ms"] for told in drained)
    return [
        _over([moved, alone, *drained], played),
        _told("move_pause_p99", moved["p99_ms"], "shards moved one by one"),
        _told("match_pause_p99", alone["p99_ms"], "matches moved alone: pin too"),
        _told("drain_pause_p99", drained_p99, "the worst of the drains"),
        _row("drain", drain_s, "s", DRAIN_S, f"the slowest; {played}"),
        _told(
            "action_p99", action_ms, "what players waited meanwhile, retries and all"
        ),
        _faults("refused", refused, f"one refused of {run.acked:,} actions"),
        _faults("wrong", wrong_of(run.verdict), "one lost, doubled, diverged, ..."),
    ]


def _over(told: Sequence[Mapping[str, Any]], played: str) -> Row:
    """How many of all moved matches waited longer than is allowed to one in a hundred:
    at most 1 % is the same as a p99 of at most `PAUSE_MS`."""
    moved = sum(one["matches"] for one in told)
    long = sum(
        count
        for one in told
        for bound_ms, count in one["histogram"]
        if bound_ms == 0 or bound_ms > PAUSE_MS
    )
    floor_is = f"p99 <= {PAUSE_MS:g} ms; {moved:,} moved of {played}"
    return _row("pauses_over_50ms", 100 * long / moved, "%", 1.0, floor_is)


def _told(name: str, value_ms: float, what: str) -> Row:
    """A figure without a goal."""
    told = f"nothing: {what}"
    return Row(f"migration_{name}", value_ms, "ms", None, told, None, "lower", None)


def _row(name: str, value: float, unit: str, allowed: float, floor_is: str) -> Row:
    told = f"what is allowed; {floor_is}"
    ratio = value / allowed
    return Row(f"migration_{name}", value, unit, allowed, told, ratio, "lower", 1.0)


def _faults(name: str, count: int, floor_is: str) -> Row:
    faults = float(count)
    return Row(
        f"migration_{name}", faults, "faults", 1.0, floor_is, faults, "lower", 0.0
    )


def _tell(run: ChaosRun) -> None:
    """What the rows do not say."""
    for one in run.migrations:
        pauses = one.drained["pauses"]
        print(
            f"{one.node}: {pauses_told(one.moves)}\n  matches alone:"
            f" {pauses_told(one.matches)}\n  drained in {one.drain_s:.2f} s,"
            f" {one.drained['shards']} shards, {one.drained['matches']} matches:"
            f" {pauses}",
            file=sys.stderr,
        )
    while_moving, all_of_them = run.migrating_latencies, run.latencies
    print(
        f"{run.acked / run.played_s:.0f} of {run.plan.rate:.0f} actions/s; latency p50 "
        f"{all_of_them.percentile_s(50) * 1000:.1f} ms, while shards were moved p50 "
        f"{while_moving.percentile_s(50) * 1000:.1f}, p99 "
        f"{while_moving.percentile_s(99) * 1000:.1f}, at most "
        f"{while_moving.max_s * 1000:.1f} ms; refused: {dict(run.refusals)}",
        file=sys.stderr,
    )
    for sentence in run.verdict.faults[:10]:
        print(f"  {sentence}", file=sys.stderr)
