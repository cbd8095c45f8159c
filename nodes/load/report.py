"""What a load test found: counted while it runs, told at the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from .latency import Latencies

__all__ = ["Tally", "Trouble", "closing_table", "report_json"]

TROUBLES_MAX = 50
"""Matches whose troubles are kept word for word; all are counted."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A match that ended wrong, did not finish or was lost, and why."""

    match: str
    game: str
    reasons: tuple[str, ...]


@dataclass(slots=True)
class Tally:
    """The counts of one run. Durations in seconds."""

    seed: str
    matches: int
    started: int = 0
    ended: int = 0
    verified: int = 0
    wrong: int = 0
    unverified: int = 0  # ended, but lost before its log could be had
    unfinished: int = 0
    actions_acked: int = 0
    outcomes_unknown: int = 0
    duration_s: float = 0.0
    sample: str = ""  # the id of the last match that was right, to look into
    games: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    latencies: Latencies = field(default_factory=Latencies)
    troubles: list[Trouble] = field(default_factory=list)

    @property
    def actions_per_s(self) -> float:
        return self.actions_acked / self.duration_s if self.duration_s else 0.0

    @property
    def passed(self) -> bool:
        """Every match ended, and every one was right."""
        return self.ended == self.matches == self.verified and not self.wrong

    def acted(self, latency_s: float) -> None:
        """An action was acknowledged after so long."""
        self.actions_acked += 1
        self.latencies.add(latency_s)

    def trouble(self, trouble: Trouble) -> None:
        if len(self.troubles) < TROUBLES_MAX:
            self.troubles.append(trouble)


def report_json(tally: Tally) -> dict[str, Any]:
    """The one object that `--json` prints. Fields are only ever added."""
    return {
        "matches": tally.matches,
        "matches_finished": tally.ended,
        "matches_verified": tally.verified,
        "matches_wrong": tally.wrong,
        "matches_unfinished": tally.unfinished,
        "matches_unverified": tally.unverified,
        "actions_acked": tally.actions_acked,
        "actions_per_s": round(tally.actions_per_s, 1),
        "latency_ms": {
            "p50": _ms(tally.latencies.percentile_s(50)),
            "p99": _ms(tally.latencies.percentile_s(99)),
            "max": _ms(tally.latencies.max_s),
        },
        "refusals": dict(sorted(tally.refusals.items())),
        "outcomes_unknown": tally.outcomes_unknown,
        "duration_s": round(tally.duration_s, 3),
        "games": dict(sorted(tally.games.items())),
        "seed": tally.seed,
        "sample": tally.sample,
        "troubles": [
            {"match": one.match, "game": one.game, "reasons": list(one.reasons)}
            for one in tally.troubles
        ],
    }


def closing_table(tally: Tally) -> Table:
    """The same, for people."""
    latencies = tally.latencies
    table = Table(title=f"load test, seed {tally.seed}", show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    games = ", ".join(f"{name} {count}" for name, count in sorted(tally.games.items()))
    refusals = ", ".join(
        f"{code} {count}" for code, count in sorted(tally.refusals.items())
    )
    rows = {
        "matches finished": f"{tally.ended} of {tally.matches}",
        "replayed and right": str(tally.verified),
        "wrong": str(tally.wrong),
        "unfinished": str(tally.unfinished),
        "lost before verified": str(tally.unverified),
        "games": games or "none",
        "actions acknowledged": f"{tally.actions_acked:,}",
        "actions/s": f"{tally.actions_per_s:,.0f}",
        "latency p50": f"{_ms(latencies.percentile_s(50))} ms",
        "latency p99": f"{_ms(latencies.percentile_s(99))} ms",
        "latency max": f"{_ms(latencies.max_s)} ms",
        "refusals": refusals or "none",
        "unknown outcomes": str(tally.outcomes_unknown),
        "time": f"{tally.duration_s:.1f} s",
        "a match to look into": tally.sample or "none",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 2)
