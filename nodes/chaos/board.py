"""The live board of `hotseat demo`: nodes, play, faults, as they are now.

On a terminal it is drawn anew several times a second; elsewhere each fault is a line.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import anyio
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from .cluster import Health
from .report import told
from .run import ChaosRun

__all__ = ["Board"]

REFRESH_S = 0.2
STARTING = Text("starting the nodes", style="yellow")
STATE_STYLES = {"running": "green", "dead": "bold red", "frozen": "bold blue"}


class Board:
    """Shows one run, once it has begun; `show` until cancelled."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(file=sys.stdout)
        self._run: ChaosRun | None = None
        self._said = 0
        self._before = (time.monotonic(), 0)
        self._per_s = 0.0

    def watch(self, run: ChaosRun) -> None:
        """The run that is shown from now on."""
        self._run = run

    async def show(self) -> None:
        """Draw, or say, until cancelled."""
        if self._console.is_terminal:
            await self._draw()
        else:
            await self._repeat(self._say_strikes)

    def finish(self) -> None:
        """Say what has not been said."""
        self._say_strikes(settled=False)

    async def _draw(self) -> None:
        with Live(console=self._console, auto_refresh=False, transient=True) as live:

            def draw() -> None:
                run = self._run
                shown = STARTING if run is None else _drawn(run, self._rate())
                live.update(shown, refresh=True)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._ask_health)
                await self._repeat(draw)

    async def _ask_health(self) -> None:
        while True:
            if self._run is not None and self._run.phase != "done":
                self._run.health = await self._run.cluster.health()
            await anyio.sleep(REFRESH_S)

    async def _repeat(self, step: Callable[[], None]) -> None:
        while True:
            step()
            await anyio.sleep(REFRESH_S)

    def _say_strikes(self, settled: bool = True) -> None:
        run = self._run
        while run is not None and self._said < len(run.strikes):
            strike = run.strikes[self._said]
            if settled and strike.healed_s is None:
                return
            self._console.print(f"  {told(run, strike)}", highlight=False)
            self._said += 1

    def _rate(self) -> float:
        assert self._run is not None
        (before_s, acked), now_s = self._before, time.monotonic()
        if now_s - before_s >= 1.0:
            self._per_s = (self._run.acked - acked) / (now_s - before_s)
            self._before = (now_s, self._run.acked)
        return self._per_s


def _drawn(run: ChaosRun, per_s: float) -> RenderableType:
    plan, home = run.plan, run.cluster.home
    title = (
        f"hotseat demo: {len(run.cluster.nodes)} nodes, {home.shards} shards, "
        f"{run.cluster.copies} copies of each"
    )
    lines: list[RenderableType] = [
        Text(title, style="bold"),
        *([] if run.phase == "done" else [_nodes(run, run.health)]),
        Text(
            f"{len(run.playing)} matches are played, {run.ended} have ended; "
            f"{run.acked:,} actions acknowledged, {per_s:.0f} per second "
            f"of {plan.rate:.0f} offered"
        ),
        Text(_phase(run), style="yellow"),
    ]
    lines += [Text(f"  {told(run, strike)}") for strike in run.strikes]
    return Group(*lines)


def _phase(run: ChaosRun) -> str:
    if run.phase == "verifying":
        return f"checking every log: {run.judged} of {len(run.played)}"
    if run.phase == "done":
        return "stopping the nodes"
    waiting = run.silences.waiting
    return f"{run.phase}" + (f": {waiting} matches wait for an answer" * bool(waiting))


def _nodes(run: ChaosRun, health: Health | None) -> Table:
    table = Table()
    table.add_column("node")
    table.add_column("process")
    table.add_column("state")
    for column in ("owns shards", "follows"):
        table.add_column(column, justify="right")
    pids = run.cluster.processes.pids()
    owners = health.owners if health is not None else {}
    in_sync = health.in_sync if health is not None else {}
    for node in run.cluster.nodes:
        state = run.cluster.processes.state(node)
        owned = [shard for shard, owner in owners.items() if owner == node]
        follows = [
            shard
            for shard, members in in_sync.items()
            if node in members and owners.get(shard) != node
        ]
        table.add_row(
            node,
            str(pids.get(node, "")),
            Text(state, style=STATE_STYLES[state]),
            str(len(owned)),
            str(len(follows)),
        )
    return table
