"""`hotseat loadtest`, without its command line: connect, play, verify, report."""

from __future__ import annotations

import json
import secrets
import sys
from contextlib import AsyncExitStack

import anyio
from rich.console import Console

from ...engine.definition import Game
from ..client import ClientOptions, ClusterUnreachable, connect
from ..exit_codes import ExitCode
from ..games import installed_games, load_game
from ..operator.ask_cluster import cluster_unreachable
from ..operator_error import OperatorError
from ..telemetry import structured_logging
from .plan import LoadOptions, plan_matches
from .progress import show_progress
from .report import Tally, closing_table, report_json
from .run import LoadRun

__all__ = ["run"]

OPERATION_TIMEOUT_S = 20.0
"""A simulated player is patient: a slow answer is a latency, not a failure."""


def run(options: LoadOptions) -> int:
    """Run a load test and print its report. 0 if every match ended, and right.

    Raises:
        OperatorError: cluster_unreachable, a game that cannot be had or played, or
            options that make no sense.
    """
    games = [load_game(spec) for spec in options.games or installed_games()]
    for game in games:
        if game.legal_actions is None:
            raise OperatorError(
                "not_playable",
                f"{game.name} does not list its legal actions; players choose by them",
                hint="give define_game(...) a legal_actions function",
                exit_code=ExitCode.USAGE,
            )
    try:
        with structured_logging(level="warning"):
            tally = anyio.run(_run, options, games, backend=options.loop)
    except ClusterUnreachable as error:
        raise cluster_unreachable(str(error)) from error
    except BaseExceptionGroup as group:
        if group.subgroup(KeyboardInterrupt) is not None:
            raise KeyboardInterrupt from None  # Ctrl-C, however trio wrapped it
        raise
    _print(options, tally)
    return ExitCode.OK if tally.passed else ExitCode.FAILED


async def _run(options: LoadOptions, games: list[Game]) -> Tally:
    seed = options.seed if options.seed is not None else secrets.token_hex(4)
    try:
        plans = plan_matches(
            games, matches=options.matches, rate=options.rate, seed=seed
        )
    except ValueError as error:
        raise OperatorError(
            "invalid_plan", str(error), exit_code=ExitCode.USAGE
        ) from error
    patient = ClientOptions(timeout_s=OPERATION_TIMEOUT_S, requests_max=16_384)
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(connect(options.cluster, options=patient))
            for _ in range(max(1, options.clients))
        ]
        load = LoadRun(plans, clients, seed=seed, timeout_s=options.timeout_s)
        async with anyio.create_task_group() as tasks:
            if not options.json:
                tasks.start_soon(show_progress, load.tally)
            await load.play()
            await load.verify()
            tasks.cancel_scope.cancel()
    return load.tally


def _print(options: LoadOptions, tally: Tally) -> None:
    if options.json:
        sys.stdout.write(json.dumps(report_json(tally)) + "\n")
        return
    console = Console()
    console.print(closing_table(tally))
    for trouble in tally.troubles:
        console.print(f"[red]{trouble.game} {trouble.match}[/red]", highlight=False)
        for reason in trouble.reasons:
            console.print(f"  {reason}", markup=False, highlight=False)
