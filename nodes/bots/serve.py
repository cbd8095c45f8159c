"""The bots process: from its configuration to its end.

The order is: a worker, which shows that games and bots can be had; the cluster; the
rooms. What it was asked to play goes on at whoever comes next: nothing is kept here.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import anyio

from ...config import BotsConfig, Config
from ..client import ClientOptions, ask_doors, connect
from ..client.shell import Client, ClientStatistics
from ..cluster_dir import ClusterDir
from ..node.health import Health
from ..seat_secret import seat_secrets
from ..telemetry import get_logger
from .player import PlayerOptions
from .pool import Pool, PoolStatistics, open_pool
from .rooms import BotStatistics, ClusterRooms, Rooms

__all__ = ["PRINCIPAL", "STATISTICS", "run_bots"]

STATISTICS: Mapping[str, type] = {
    "bots": BotStatistics,
    "bot_pool": PoolStatistics,
    "client": ClientStatistics,
}
"""The parts of a bots process that tell statistics, and of which type."""

PRINCIPAL = "bots"

LOOK_S = 0.25
"""Between two looks whether a node is there."""

WAITING_NOTE_S = 10.0

log = get_logger()


async def run_bots(config: Config, home: ClusterDir) -> None:
    """Run bots until SIGTERM or SIGINT.

    Raises:
        OperatorError: The cluster's folder cannot be used, or a game or a bot cannot
            be had.
        LinkRefused: It cannot listen there.
    """
    options, stop = config.bots, anyio.Event()
    home.bots_ready_path(config.node.id).unlink(missing_ok=True)
    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(anyio.create_task_group())
        tasks.start_soon(_obey_signals, stop)
        pool = await stack.enter_async_context(
            open_pool(
                config.node.games,
                options.bots,
                workers=options.workers,
                limit_s=options.limit_s,
                memory_mib=options.worker_mib,
            )
        )
        names = await pool.prepare()
        if await _a_node_answers(home, stop):
            client = await stack.enter_async_context(
                connect(
                    home,
                    principal=PRINCIPAL,
                    # a room and the seats in it are watched
                    options=ClientOptions(watches_max=16 * options.rooms_max),
                    inbox=options.inbox,
                )
            )
            rooms = _rooms(options, home, client, pool)
            if config.metrics.listen is not None:
                pages = _pages(config, rooms, pool, client)
                door = pages.http_door(config.metrics.listen)
                await stack.enter_async_context(door)
                log.info("metrics_served", url=door.url)
            tasks.start_soon(rooms.run)
            async with _told(home, config.node.id):
                log.info("bots_ready", bots=names, spare=options.spare)
                await stop.wait()
                log.info("bots_stopping")
        tasks.cancel_scope.cancel()
    log.info("bots_stopped")


def _rooms(options: BotsConfig, home: ClusterDir, client: Client, pool: Pool) -> Rooms:
    return Rooms(
        ClusterRooms(home),
        client,
        seat_secrets(home.secret()),
        pool.decide,
        PlayerOptions(
            think_s=options.think_s,
            limit_s=options.limit_s,
            tries=options.tries,
            spare_after_s=options.spare_after_s,
            seed=options.seed or secrets.token_hex(16),
        ),
        poll_s=options.poll_s,
        rooms_max=options.rooms_max,
        spare=options.spare,
    )


def _pages(config: Config, rooms: Rooms, pool: Pool, client: Client) -> Health:
    def parts() -> dict[str, object]:
        return {
            "bots": rooms.statistics(),
            "bot_pool": pool.statistics(),
            "client": client.statistics(),
        }

    facts = {
        "cluster": config.cluster.id,
        "node": config.node.id,
        "kind": "bots",
    }
    return Health(parts, lambda: client.reachable, facts)


async def _a_node_answers(home: ClusterDir, stop: anyio.Event) -> bool:
    """Wait until one of the cluster's nodes is there; False: told to stop before."""
    waited = 0.0
    while not stop.is_set():
        if await ask_doors(home):
            return True
        if waited % WAITING_NOTE_S == 0:
            log.warning("bots_wait")
        waited += LOOK_S
        with anyio.move_on_after(LOOK_S):
            await stop.wait()
    return False


@asynccontextmanager
async def _told(home: ClusterDir, name: str) -> AsyncIterator[None]:
    """Say in the folder that this process is ready, while it is."""
    path = home.bots_ready_path(name)
    draft = path.with_suffix(".new")
    draft.write_text(f"{os.getpid()}\n", "ascii")
    draft.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


async def _obey_signals(stop: anyio.Event) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
        async for _ in received:
            stop.set()
