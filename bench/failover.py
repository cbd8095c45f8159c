"""How long a match is silent when its owner dies, in a real cluster under play.

Three node processes, the players and the coordinator share this machine. Matches are
played at a stated open-loop rate; a node is killed with SIGKILL (or frozen with
SIGSTOP), and of each match that it owned the time is taken from that instant to the
match's first acknowledgement after it: whoever is to move there asks at once. The next
fault comes when all copies are in sync, and shards spread evenly, again. At the end
every log is held against what the players were told.

`failover` is the whole measurement, and takes minutes: it runs when asked for by name.
`takeover` is a small one for every run.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

from hotseat.nodes.chaos.account import Verdict
from hotseat.nodes.chaos.cluster import ClusterPlan
from hotseat.nodes.chaos.plan import ChaosPlan, Fault, FaultKind
from hotseat.nodes.chaos.run import ChaosRun, run_chaos

from .row import Row

__all__ = ["LOGS", "failover", "takeover", "wrong_of"]

MATCHES = 1_000
RATE_PER_S = 200.0
"""Actions offered per second by all matches together: a match acts every 5 s."""

BUSY_RATE_PER_S = 400.0
"""The same with twice as much play: a third of what the two cores can do besides."""

KILLS = 20
FREEZES = 5
FROZEN_S = 4.0

SMALL_MATCHES, SMALL_RATE_PER_S, SMALL_KILLS = 150, 150.0, 3

SQLITE_MS, ETCD_MS, FROZEN_MS = 250.0, 400.0, 2500.0
"""What a match may be silent, 99 of 100 times."""


LOGS = Path(tempfile.gettempdir()) / "hotseat-bench-logs"
"""Where the nodes' logs are if a run fails."""


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    allowed_ms: float
    plan: ChaosPlan


def failover() -> list[Row]:
    """A thousand matches, 20 kills, with each coordinator; and an owner that hangs."""
    kills = (Fault(FaultKind.KILL),) * KILLS
    freezes = (Fault(FaultKind.FREEZE, FROZEN_S),) * FREEZES
    rows = _measure(
        "failover",
        [
            _Case("sqlite", SQLITE_MS, _plan(kills)),
            _Case("sqlite_busy", SQLITE_MS, _plan(kills, rate=BUSY_RATE_PER_S)),
            _Case("frozen_busy", FROZEN_MS, _plan(freezes, rate=BUSY_RATE_PER_S)),
        ],
    )
    if shutil.which("etcd") is None:
        print("there is no etcd here: its row is left out", file=sys.stderr)
        return rows
    from tests.nodes.coordinators.etcd_cluster import running_etcd

    with running_etcd(1) as etcd:
        plan = _plan(kills, etcd.address, rate=BUSY_RATE_PER_S)
        return rows + _measure("failover", [_Case("etcd_busy", ETCD_MS, plan)])


def takeover() -> list[Row]:
    """The same with few matches and three kills."""
    plan = ChaosPlan(
        matches=SMALL_MATCHES,
        rate=SMALL_RATE_PER_S,
        seconds=0.0,
        faults=(Fault(FaultKind.KILL),) * SMALL_KILLS,
        even=True,
        seed="bench",
    )
    return _measure("takeover", [_Case("sqlite", SQLITE_MS, plan)])


def _plan(
    faults: Sequence[Fault], coordinator: str | None = None, rate: float = RATE_PER_S
) -> ChaosPlan:
    return ChaosPlan(
        ClusterPlan(coordinator=coordinator),
        matches=MATCHES,
        rate=rate,
        seconds=0.0,
        faults=tuple(faults),
        even=True,
        clients=4,
        seed="bench",
    )


def _measure(prefix: str, cases: Sequence[_Case]) -> list[Row]:
    return [row for case in cases for row in _rows(prefix, case)]


def _rows(prefix: str, case: _Case) -> list[Row]:
    quick = {"use_uvloop": importlib.util.find_spec("uvloop") is not None}
    run = anyio.run(
        partial(run_chaos, case.plan, keep=LOGS), backend_options=quick
    )  # the loop that nodes have: players are to cost as little as they can
    silence, verdict = run.silence(), run.verdict
    p99_ms = silence.p99_s * 1000
    wrong = wrong_of(verdict)
    _tell(case, run)
    return [
        Row(
            f"{prefix}_silence_p99_{case.name}",
            p99_ms,
            "ms",
            case.allowed_ms,
            f"what is allowed; {case.plan.matches} matches, {case.plan.rate:g} "
            f"actions/s, {silence.matches} silences",
            p99_ms / case.allowed_ms,
            "lower",
            1.0,
        ),
        Row(
            f"{prefix}_silence_p50_{case.name}",
            silence.p50_s * 1000,
            "ms",
            None,
            "nothing: it is there to be watched",
            None,
            "lower",
            None,
        ),
        Row(
            f"{prefix}_wrong_{case.name}",
            wrong,
            "faults",
            1.0,
            f"one lost, doubled, diverged, ... of {verdict.actions_acked:,} actions",
            float(wrong),
            "lower",
            0.0,
        ),
    ]


def wrong_of(verdict: Verdict) -> int:
    """How often a promise was broken."""
    return (
        verdict.lost
        + verdict.doubled
        + verdict.reordered
        + verdict.diverged
        + verdict.views_back
        + verdict.strange
    )


def _tell(case: _Case, run: ChaosRun) -> None:
    """What the rows do not say."""
    silence, latencies = run.silence(), run.latencies
    print(
        f"{case.name}: {len(run.strikes)} faults, {run.failovers} shards taken over, "
        f"{silence.matches} silences (max {silence.max_s * 1000:.0f} ms); "
        f"{run.acked / run.played_s:.0f} of {case.plan.rate:.0f} actions/s; latency "
        f"p50 {latencies.percentile_s(50) * 1000:.1f} ms, "
        f"p99 {latencies.percentile_s(99) * 1000:.1f} ms",
        file=sys.stderr,
    )
    for sentence in run.verdict.faults[:10]:
        print(f"  {sentence}", file=sys.stderr)
