"""A real local cluster under load, beside the unbatched echo in the same run.

Three node processes, started by `hotseat up --detach`, play connect four; every match
begins at once, so that the cluster has as much to do as it can take. Load generator,
nodes and echo share the machine, in turn.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import anyio

from hotseat.engine.games.connect_four import game as connect_four
from hotseat.nodes.client import ClientOptions, connect
from hotseat.nodes.load.plan import plan_matches
from hotseat.nodes.load.report import Tally
from hotseat.nodes.load.run import LoadRun

from .echo import echo_server
from .row import Row, pairs

__all__ = [
    "MATCHES_AT_ONCE",
    "cluster_actions_per_s",
    "cluster_latency",
    "local_cluster",
    "play_load",
]

NODES = 3
CLIENTS = 4
ROUNDS = 3
CLUSTER_TIMEOUT_S = 60

MATCHES_AT_ONCE = 100
ARRIVALS_PER_S = 10_000.0

UNLOADED_MATCHES = 4


def cluster_actions_per_s() -> list[Row]:
    """Acknowledged actions per second, with 100 matches running."""
    with local_cluster() as folder, echo_server() as echo:
        return [
            pairs(
                "cluster_actions_per_s",
                "actions/s",
                lambda: play_load(folder, MATCHES_AT_ONCE).actions_per_s,
                echo.per_second,
                floor_is="unbatched nng request/reply echo",
                rounds=ROUNDS,
                better="higher",
                goal=0.1,
            )
        ]


def cluster_latency() -> list[Row]:
    """Median time from dispatch to acknowledgement, with next to nothing to do."""
    with local_cluster() as folder, echo_server() as echo:
        return [
            pairs(
                "cluster_latency",
                "ms",
                lambda: (
                    play_load(folder, UNLOADED_MATCHES).latencies.percentile_s(50)
                    * 1000
                ),
                lambda: 1000 / echo.per_second(),
                floor_is="round trip of the unbatched nng echo",
                rounds=ROUNDS,
            )
        ]


@contextmanager
def local_cluster(*more: str) -> Iterator[Path]:
    """Run a cluster in a folder of its own; `more` is for `hotseat up`."""
    with tempfile.TemporaryDirectory(prefix="hotseat-bench-") as name:
        folder = Path(name) / "cluster"
        place = ("--dir", str(folder))
        _hotseat("up", "--nodes", str(NODES), *place, "--detach", *more)
        try:
            yield folder
        finally:
            _hotseat("down", "--dir", str(folder))


def _hotseat(*arguments: str) -> None:
    command = [sys.executable, "-m", "hotseat.nodes.cli.main", *arguments]
    subprocess.run(
        command, check=True, timeout=CLUSTER_TIMEOUT_S, stdout=subprocess.DEVNULL
    )


def play_load(folder: Path, matches: int) -> Tally:
    """Play to the end; a bench of wrong matches would measure nothing."""
    tally = anyio.run(_play, folder, matches)
    if not tally.passed:
        raise RuntimeError(f"the load test failed: {tally.troubles[:3]}")
    return tally


async def _play(folder: Path, matches: int) -> Tally:
    plans = plan_matches(
        [connect_four], matches=matches, rate=ARRIVALS_PER_S, seed="bench"
    )
    options = ClientOptions(timeout_s=20.0, requests_max=16_384)
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(connect(folder, options=options))
            for _ in range(CLIENTS)
        ]
        load = LoadRun(plans, clients, seed="bench", timeout_s=60.0)
        await load.play()
        await load.verify()
        return load.tally
