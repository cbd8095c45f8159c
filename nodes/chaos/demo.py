"""`hotseat demo`, without its command line: start, play, kill, take over, account."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import dataclass

import anyio
from rich.console import Console

from ..block_failure import BlockFailure
from ..exit_codes import ExitCode
from ..redundancy import Redundancy
from ..telemetry import structured_logging
from .board import Board
from .cluster import ClusterPlan, ClusterStopped
from .plan import ChaosPlan, Fault, FaultKind
from .report import closing_table, report_json
from .run import ChaosRun, run_chaos

__all__ = ["DemoOptions", "run"]

RATE_PER_MATCH = 1.0
"""Actions per second of each match: what two quick people would do."""

RATE_MAX = 300.0
"""Of all together: players, nodes and board share one machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """What the user of `hotseat demo` chooses."""

    nodes: int = 3
    matches: int = 150
    kills: int = 3
    seconds: float = 20.0
    loop: str = "asyncio"
    coordinator: str | None = None
    json: bool = False


def run(options: DemoOptions) -> int:
    """Show it. 1 if anything was lost, doubled, reordered or diverged.

    Raises:
        OperatorError: The cluster could not be started, or did not heal.
        KeyboardInterrupt: By Ctrl-C; all has been tidied up by then.
    """
    try:
        with structured_logging(level="critical"):
            found = anyio.run(_run, options, backend=options.loop)
    except ClusterStopped:
        raise KeyboardInterrupt from None
    _print(options, found)
    return ExitCode.OK if found.verdict.clean else ExitCode.FAILED


async def _run(options: DemoOptions) -> ChaosRun:
    board = Board()
    found: ChaosRun | None = None
    with BlockFailure() as failure:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_end_with_the_terminal)
            if not options.json:
                tasks.start_soon(board.show)
            with failure.kept():
                found = await run_chaos(_plan(options), watch=board.watch)
            tasks.cancel_scope.cancel()
    assert found is not None
    if not options.json:
        board.finish()
    return found


def _plan(options: DemoOptions) -> ChaosPlan:
    rate = min(RATE_MAX, options.matches * RATE_PER_MATCH)
    return ChaosPlan(
        ClusterPlan(
            nodes=options.nodes,
            redundancy=Redundancy(),
            coordinator=options.coordinator,
        ),
        matches=options.matches,
        rate=rate,
        seconds=options.seconds,
        faults=(Fault(FaultKind.KILL),) * options.kills,
        rest_s=min(2.0, options.seconds / (options.kills + 1)),
    )


async def _end_with_the_terminal() -> None:
    """A terminal that goes away ends all, as Ctrl-C does."""
    with anyio.open_signal_receiver(signal.SIGHUP) as received:
        async for _ in received:
            os.kill(os.getpid(), signal.SIGTERM)


def _print(options: DemoOptions, found: ChaosRun) -> None:
    if options.json:
        sys.stdout.write(json.dumps(report_json(found)) + "\n")
        return
    console = Console()
    console.print(closing_table(found))
    for sentence in found.verdict.faults:
        console.print(f"  {sentence}", markup=False, highlight=False)
