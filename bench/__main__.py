"""Run the measurements, print each beside its floor, write bench/results.json.

usage: python -m bench [--only NAME] [--list] [--check]      (or ONLY=NAME)

NAME is a row, or the beginning of one. A run of some rows replaces those in the file
and leaves the others. With --check the exit status is 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from hotseat.nodes.telemetry import structured_logging

from . import cluster, engine_games, link_echo
from .row import Row

TABLE_WIDTH = 120
"""Where there is no terminal to ask."""

RESULTS = Path(__file__).parent / "results.json"

SUMMARY = "Measure, print each row beside its floor, write bench/results.json."

ROWS: Mapping[str, Callable[[], Row]] = {
    measure.__name__: measure
    for measure in (
        engine_games.engine_step_tic_tac_toe,
        engine_games.session_step_tic_tac_toe,
        engine_games.engine_step_20kb,
        engine_games.session_step_5000_moves,
        link_echo.link_echo,
        cluster.cluster_actions_per_s,
        cluster.cluster_latency,
    )
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=SUMMARY)
    parser.add_argument("--only", default=os.environ.get("ONLY", ""), metavar="NAME")
    parser.add_argument("--list", action="store_true", help="name the rows")
    parser.add_argument("--check", action="store_true", help="fail on a missed goal")
    options = parser.parse_args()
    if options.list:
        print("\n".join(ROWS))
        return 0
    chosen = [name for name in ROWS if name.startswith(options.only)]
    if not chosen:
        print(f"there is no row {options.only!r}; --list names them", file=sys.stderr)
        return 2
    rows: list[Row] = []
    progress = Console(stderr=True)
    with structured_logging(level="error"):
        for name in chosen:
            with progress.status(f"measuring {name}"):
                rows.append(ROWS[name]())
    console = Console()
    if not console.is_terminal:
        console = Console(width=TABLE_WIDTH)
    console.print(_table(rows))
    _write(rows)
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
        table.add_row(
            row.name,
            _figure(row.value),
            _figure(row.floor),
            row.unit,
            f"{row.ratio:.3g}",
            "" if row.goal is None else f"{sign} {row.goal:g}",
            {True: "yes", False: "NO", None: ""}[row.met],
            row.floor_is,
        )
    return table


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _write(rows: list[Row]) -> None:
    """Keep the rows of earlier runs that were not measured now, in order."""
    found: dict[str, Any] = {}
    if RESULTS.exists():
        found = {row["name"]: row for row in json.loads(RESULTS.read_text("utf-8"))}
    found |= {row.name: row.to_json() for row in rows}
    kept = [found[name] for name in ROWS if name in found]
    RESULTS.write_text(json.dumps(kept, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
