"""The gateway process: from its configuration to its end.

The order is: keys, games, cluster, socket; on SIGTERM the players are let go first,
then the socket is closed. anycorn speaks HTTP and WebSocket; it is stopped by its
trigger, never by cancellation, and logs no request: tokens stand in their queries.
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import anycorn
import anyio

from ...config import Config, GatewayConfig
from ...runtime.errors import LinkRefused
from ..bots.catalog import names_of
from ..client import ClientOptions, ask_doors, connect
from ..client.shell import ClientStatistics
from ..cluster_dir import ClusterDir
from ..games import Games
from ..node.health import Health
from ..node.loop_watch import loop_watch
from ..seat_secret import seat_secrets
from ..telemetry import get_logger
from ..tokens import KeyFile, Tokens
from ..tokens.tokens import TokenStatistics
from .app import gateway_app
from .bounded_server import allow_files, bound_server
from .gateway import Gateway, GatewayStatistics
from .page_connection import SILENT_BEATS_MAX

__all__ = ["PRINCIPAL", "STATISTICS", "run_gateway", "server_config"]

STATISTICS: Mapping[str, type] = {
    "gateway": GatewayStatistics,
    "tokens": TokenStatistics,
    "client": ClientStatistics,
}
"""The parts of a gateway that tell statistics, and of which type."""

PRINCIPAL = "gateway"
"""On whose behalf every gateway opens matches: one key is one match at all of them."""

HANDSHAKE_BYTES_MAX = 16 * 1024
"""Of a request's line and headers: a token is in there."""

KEEP_ALIVE_S = 15.0
BACKLOG = 1024

LOOK_S = 0.25
"""Between two looks whether a node is there."""

WAITING_NOTE_S = 10.0

CLIENT = ClientOptions(requests_max=16_384, watches_max=65_536, watch_idle_s=10.0)
"""One link for all players: their number is bounded by the connections."""

log = get_logger()


async def run_gateway(config: Config, home: ClusterDir) -> None:
    """Run a gateway until SIGTERM or SIGINT.

    Raises:
        OperatorError: The cluster's folder cannot be used.
        KeyFileError: The keys of tokens cannot be read or made.
        LinkRefused: It cannot listen there.
    """
    allow_files(config.gateway.connections_max)
    keys = KeyFile(config.gateway.token_keys_file or home.token_keys_path)
    keys.make()
    tokens = Tokens(home.cluster, keys.keys)
    games = Games.load(config.node.games)
    for name, error in games.broken.items():
        log.warning("game_broken", game=name, code=error.code, error=error.message)
    stop = anyio.Event()
    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(anyio.create_task_group())
        tasks.start_soon(_obey_signals, stop)
        if await _a_node_answers(home, stop):
            client = await stack.enter_async_context(
                connect(
                    home,
                    principal=PRINCIPAL,
                    options=CLIENT,
                    inbox=config.gateway.inbox,
                )
            )
            gateway = Gateway(
                client,
                tokens,
                seat_secrets(home.secret()),
                games,
                config.gateway,
                config.gateway.public_url or "",
                place=home.path,
            )
            gateway.own_bots = names_of(config.bots.bots)
            await _serve(gateway, config, home, stop)
        tasks.cancel_scope.cancel()
    log.info("gateway_stopped")


async def _a_node_answers(home: ClusterDir, stop: anyio.Event) -> bool:
    """Wait until one of the cluster's nodes is there; False: told to stop before."""
    waited = 0.0
    while not stop.is_set():
        if await ask_doors(home):
            return True
        if waited % WAITING_NOTE_S == 0:
            log.warning("gateway_waits")
        waited += LOOK_S
        with anyio.move_on_after(LOOK_S):
            await stop.wait()
    return False


async def _serve(
    gateway: Gateway, config: Config, home: ClusterDir, stop: anyio.Event
) -> None:
    """
    Raises:
        LinkRefused: It cannot listen there.
    """
    listen, closing = config.gateway.listen, anyio.Event()
    async with AsyncExitStack() as stack:
        stack.enter_context(loop_watch())
        tasks = await stack.enter_async_context(anyio.create_task_group())
        serve = partial(
            anycorn.serve,
            gateway_app(gateway),  # type: ignore[arg-type]  # its own names for ASGI
            server_config(config.gateway),
            shutdown_trigger=closing.wait,
            mode="asgi",
        )
        try:
            binds = await tasks.start(serve)
        except (OSError, ExceptionGroup) as error:
            cause: Exception = error
            while isinstance(cause, ExceptionGroup):
                cause = cause.exceptions[0]
            if not isinstance(cause, OSError):
                raise
            reason = cause.strerror or str(cause)
            raise LinkRefused(f"cannot listen on {listen}: {reason}") from error
        if not gateway.url:
            gateway.url = str(binds[0])
        if config.metrics.listen is not None:
            pages = _pages(gateway, config).http_door(config.metrics.listen)
            await stack.enter_async_context(pages)
            log.info("metrics_served", url=pages.url)
        async with _told(home, config.node.id, str(binds[0])):
            log.info("gateway_listening", url=str(binds[0]), public=gateway.url)
            await stop.wait()
            log.info("gateway_stopping")
            with anyio.move_on_after(config.gateway.stop_grace_s):
                await gateway.stop()
        closing.set()


def server_config(options: GatewayConfig) -> anycorn.Config:
    """How anycorn serves the application: by what it can be told, and by what it must
    be kept from."""
    bound_server()
    server = anycorn.Config()
    server.bind = [options.listen]
    server.backlog = BACKLOG
    server.loglevel = "WARNING"
    server.include_server_header = False
    server.h11_max_incomplete_size = HANDSHAKE_BYTES_MAX
    server.keep_alive_timeout = KEEP_ALIVE_S
    server.graceful_timeout = options.stop_grace_s
    server.shutdown_timeout = options.stop_grace_s
    server.websocket_max_message_size = options.message_bytes_max
    server.websocket_ping_interval = options.heartbeat_s
    # Browsers answer pings by themselves. Who does not is gone, or does not read: then
    # a send hangs in the server, which shields it from cancellation, until this ends.
    silent_s: Any = SILENT_BEATS_MAX * options.heartbeat_s  # not whole, as it declares
    server.read_timeout = silent_s
    # A context per connection costs 300 KB, and views are small.
    server.websocket_permessage_deflate = False
    return server


def _pages(gateway: Gateway, config: Config) -> Health:
    def parts() -> dict[str, object]:
        return {
            "gateway": gateway.statistics(),
            "tokens": gateway.tokens.statistics(),
            "client": gateway.client.statistics(),
        }

    facts = {
        "cluster": config.cluster.id,
        "node": config.node.id,
        "kind": "gateway",
    }
    return Health(parts, lambda: gateway.ready, facts)


@asynccontextmanager
async def _told(home: ClusterDir, name: str, url: str) -> AsyncIterator[None]:
    """Say in the folder where this gateway listens, while it does."""
    path = home.gateway_url_path(name)
    draft = path.with_suffix(".new")
    draft.write_text(f"{url}\n", "utf-8")
    draft.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


async def _obey_signals(stop: anyio.Event) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
        async for _ in received:
            stop.set()
