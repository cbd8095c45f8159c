"""What a chaos run found: as one JSON object, and as a table."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from .plan import FaultKind
from .run import ChaosRun, Strike

__all__ = ["closing_table", "report_json", "told"]

GOOD, BAD = "green", "red"


def report_json(run: ChaosRun) -> dict[str, Any]:
    """The one object that `--json` prints. Fields are only ever added."""
    verdict, latencies = run.verdict, run.latencies
    kills = [strike for strike in run.strikes if strike.kind is FaultKind.KILL]
    return {
        "matches": verdict.matches,
        "actions_acked": verdict.actions_acked,
        "lost": verdict.lost,
        "doubled": verdict.doubled,
        "diverged": verdict.diverged,
        "reordered": verdict.reordered,
        "views_back": verdict.views_back,
        "strange": verdict.strange,
        "copies_compared": verdict.copies_compared,
        "failovers": run.failovers,
        "kills": len(kills),
        "silence_ms": run.silence().to_json(),
        "silences": run.silence().matches,
        "faults": [_strike_json(run, strike) for strike in run.strikes],
        "nodes": len(run.cluster.nodes),
        "shards": run.cluster.home.shards,
        "copies": run.cluster.copies,
        "rate": run.plan.rate,
        "actions_per_s": round(run.acked / run.played_s, 1) if run.played_s else 0.0,
        "latency_ms": {
            "p50": round(latencies.percentile_s(50) * 1000, 2),
            "p99": round(latencies.percentile_s(99) * 1000, 2),
            "max": round(latencies.max_s * 1000, 2),
        },
        "outcomes_unknown": verdict.outcomes_unknown,
        "refusals": dict(sorted(run.refusals.items())),
        "matches_gone": sum(run.gone.values()),
        "duration_s": round(run.played_s, 1),
        "troubles": verdict.faults,
    }


def _strike_json(run: ChaosRun, strike: Strike) -> dict[str, Any]:
    return {
        "kind": strike.kind.value,
        "nodes": list(strike.nodes),
        "matches": strike.matches,
        "failovers": strike.failovers,
        "silence_ms": run.silences.of([strike.number]).to_json(),
        "healed_s": None if strike.healed_s is None else round(strike.healed_s, 2),
    }


def closing_table(run: ChaosRun) -> Table:
    """The account, for people."""
    verdict = run.verdict
    table = Table(title="the players' own account", show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_row("matches", f"{verdict.matches:,}")
    table.add_row("actions acknowledged", f"{verdict.actions_acked:,}")
    for name, count in (
        ("lost", verdict.lost),
        ("doubled", verdict.doubled),
        ("out of order", verdict.reordered),
        ("views that went back", verdict.views_back),
        ("copies that differ", verdict.diverged),
        ("anything else", verdict.strange),
    ):
        color = BAD if count else GOOD
        table.add_row(name, f"[{color}]{count}[/{color}]")
    table.add_row("copies compared", f"{verdict.copies_compared:,}")
    table.add_row("shards taken over", str(run.failovers))
    silence = run.silence()
    if silence.matches:
        ms = silence.to_json()
        said = f"{ms['p50']:.0f} / {ms['p99']:.0f} / {ms['max']:.0f} ms"
        table.add_row("silence p50 / p99 / max", said)
    return table


def told(run: ChaosRun, strike: Strike) -> str:
    """One fault, as a line for people."""
    verb = {
        FaultKind.KILL: "kill -9",
        FaultKind.FREEZE: "freeze",
        FaultKind.ISOLATE: "cut off",
        FaultKind.CUT_TO: "cut one way from",
        FaultKind.VANISH: "without a trace:",
        FaultKind.RESTART_ALL: "kill -9 all:",
        FaultKind.MIGRATE: "drain",
    }[strike.kind]
    line = f"{verb} {', '.join(strike.nodes)}: {strike.matches} matches hit"
    silence = run.silences.of([strike.number])
    if silence.unbroken:
        return f"{line}, {silence.unbroken} still silent"
    ms = silence.to_json()
    line += f", silent for {ms['p50']:.0f} ms (p50), {ms['max']:.0f} ms (max)"
    if strike.healed_s is None:
        return f"{line}; copies are being made good"
    return f"{line}; all copies back after {strike.healed_s:.1f} s"
