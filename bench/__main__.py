"""Run the measurements, print each beside its floor, write bench/results.json.

usage: python -m bench [--only NAME] [--list] [--check]      (or ONLY=NAME)

NAME is a measurement, or the beginning of one; each makes one row or several, whose
names begin with its own. What takes minutes (failover, migration, gateway_churn) runs
only when it is named. A run of some replaces their rows in the file and leaves the
others. With --check the exit status is 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hotseat.nodes.telemetry import structured_logging

from . import (
    cluster,
    engine_games,
    engine_memory,
    failover,
    gamekit,
    gateway,
    journal,
    link_echo,
    migration,
    replay,
)
from .row import Row

TABLE_WIDTH = 120
"""Where there is no terminal to ask."""

RESULTS = Path(__file__).parent / "results.json"

SUMMARY = "Measure, print each row beside its floor, write bench/results.json."

MEASUREMENTS: Mapping[str, Callable[[], list[Row]]] = {
    measure.__name__: measure
    for measure in (
        engine_games.engine_tic_tac_toe,
        engine_games.engine_core,
        engine_games.engine_2kb,
        engine_games.engine_20kb,
        engine_games.engine_g_size,
        engine_games.engine_log_10,
        engine_games.engine_log_1000,
        engine_games.engine_log_10000,
        engine_games.engine_log_length,
        engine_games.engine_create,
        engine_memory.engine_memory,
        gamekit.gamekit_move,
        replay.replay_materialize,
        replay.replay_open,
        replay.replay_jump,
        replay.replay_envelope_open,
        replay.replay_envelope_jump,
        link_echo.link_echo,
        journal.journal_group,
        cluster.cluster_actions_per_s,
        cluster.cluster_latency,
        gateway.gateway_latency,
        gateway.gateway_sessions,
        gateway.gateway_churn,
        failover.takeover,
        failover.failover,
        migration.migration,
    )
}

LONG = {"failover", "gateway_churn", "migration"}
"""Measured only when asked for by name: they take minutes."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=SUMMARY)
    parser.add_argument("--only", default=os.environ.get("ONLY", ""), metavar="NAME")
    parser.add_argument("--list", action="store_true", help="name them")
    parser.add_argument("--check", action="store_true", help="fail on a missed goal")
    options = parser.parse_args()
    if options.list:
        print("\n".join(MEASUREMENTS))
        return 0
    chosen = [
        name
        for name in MEASUREMENTS
        if name.startswith(options.only) and (options.only or name not in LONG)
    ]
    if not chosen:
        text = f"there is no measurement {options.only!r}; --list names them"
        print(text, file=sys.stderr)
        return 2
    rows: list[Row] = []
    progress = Console(stderr=True)
    with structured_logging(level="error"):
        for name in chosen:
            with progress.status(f"measuring {name}"):
                rows += MEASUREMENTS[name]()
    console = Console()
    if not console.is_terminal:
        console = Console(width=TABLE_WIDTH)
    console.print(_table(rows))
    _write(rows, chosen)
    return 1 if options.check and any(row.met is False for row in rows) else 0


def _table(rows: list[Row]) -> Table:
    table = Table(title="each value beside its floor, measured in turn")
    table.add_column("row")
    for column in ("value", "floor"):
        table.add_column(column, justify="right")
    table.add_column("unit")
    for column in ("ratio", "goal"):
        table.add_column(column, justify="right")
    table.add_column("met")
    table.add_column("the floor is")
    for row in rows:
        sign = "<=" if row.better == "lower" else ">="
        wanted = row.stretch if row.goal is None else row.goal
        table.add_row(
            row.name,
            _figure(row.value),
            _figure(row.floor),
            row.unit,
            "" if row.ratio is None else f"{row.ratio:.3g}",
            "" if wanted is None else f"{sign} {wanted:g}",
            _verdict(row),
            row.floor_is,
        )
    return table


def _verdict(row: Row) -> str:
    if row.stretch_met:
        return "stretch"
    return {True: "yes", False: "NO", None: ""}[row.met]


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _write(rows: list[Row], chosen: list[str]) -> None:
    """Keep the rows of earlier runs that were not measured now, in order."""
    earlier = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else []
    kept = [*(row.to_json() for row in rows)]
    kept += [row for row in earlier if _owner(row["name"]) not in (None, *chosen)]
    order = list(MEASUREMENTS)
    kept.sort(key=lambda row: order.index(str(_owner(row["name"]))))
    RESULTS.write_text(json.dumps(kept, indent=2) + "\n", "utf-8")


def _owner(row: str) -> str | None:
    """The measurement that a row comes from: the longest whose name begins it."""
    owners = [name for name in MEASUREMENTS if f"{row}_".startswith(f"{name}_")]
    return max(owners, key=len, default=None)


if __name__ == "__main__":
    sys.exit(main())
