"""The live line of a load test: on a terminal only, and on stderr."""

from __future__ import annotations

import sys

import anyio
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from .report import Tally

__all__ = ["show_progress"]

REFRESH_S = 0.2


async def show_progress(tally: Tally) -> None:
    """Show how a run goes until cancelled."""
    if not sys.stderr.isatty():
        return
    progress = Progress(
        TextColumn("[bold]{task.description:<8}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
    )
    with progress:
        playing = progress.add_task("playing", total=tally.matches, note="")
        checking = progress.add_task("checking", total=tally.matches, note="")
        while True:
            running = tally.started - tally.ended - tally.unfinished
            note = (
                f"{running} running, {tally.actions_acked:,} actions, "
                f"p50 {tally.latencies.percentile_s(50) * 1000:.1f} ms"
            )
            done = tally.ended + tally.unfinished
            progress.update(playing, completed=done, note=note)
            checked = tally.verified + tally.wrong + tally.unverified
            wrong = f"[red]{tally.wrong} wrong" if tally.wrong else ""
            progress.update(checking, completed=checked, note=wrong)
            progress.refresh()
            await anyio.sleep(REFRESH_S)
