"""What a node process stands on: opened in order, closed in reverse.

Games, coordinator, journal, inbox; then what watches over the loop and games' code.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from ...config import Config
from ...runtime.budget import NO_GUARD, Guard
from ...runtime.clock import Clock, SystemClock
from ...runtime.coordinator import Coordinator
from ...runtime.hello import Credential
from ...runtime.journal import Journal
from ...runtime.link import Endpoint, Identity
from ...runtime.replication.recovered import Recovered
from ..cluster_dir import ClusterDir
from ..coordinators.open_coordinator import coordinator_of
from ..games import Games
from ..journal.node_journal import node_journal
from ..nng import NngEndpoint
from ..supervisor.watchdog import open_watchdog
from ..telemetry import get_logger
from .breadcrumb import Breadcrumb, BreadcrumbGuard, open_breadcrumb
from .collector import Collector, bounded_pauses
from .folder import folder_of
from .loop_watch import LoopWatch, loop_watch
from .thread_turns import short_turns

__all__ = ["BREADCRUMB", "NodeParts", "open_parts"]

BREADCRUMB = "breadcrumb"
"""The file's name in a node's folder."""

log = get_logger()


@dataclass(frozen=True, slots=True)
class NodeParts:
    """`recovered` is what counts of the journal; `left`, what this node's last process
    was running when it died."""

    config: Config
    home: ClusterDir
    games: Games
    endpoint: Endpoint
    coordinator: Coordinator
    journal: Journal
    recovered: Recovered
    guard: Guard = NO_GUARD
    left: Breadcrumb | None = None
    collector: Collector = field(default_factory=Collector)
    loop: LoopWatch | None = None
    clock: Clock = field(default_factory=SystemClock)


@asynccontextmanager
async def open_parts(config: Config) -> AsyncIterator[NodeParts]:
    """Open all of it.

    Raises:
        OperatorError: The cluster's folder or a game cannot be used.
        LinkRefused: The inbox cannot be opened.
        JournalError: The journal cannot be used.
        CoordinatorError: The coordinator cannot be used.
    """
    home = folder_of(config)
    games = Games.load(config.node.games)
    for name, error in games.broken.items():
        log.error("game_broken", game=name, code=error.code, error=str(error))
    identity = Identity(
        cluster=config.cluster.id,
        process=config.node.id,
        kind="node",
        incarnation=secrets.token_hex(8),
        games=games.names(),
    )
    log.info("node_starting", incarnation=identity.incarnation)
    folder = home.make_node_folder(config.node.id)
    async with AsyncExitStack() as stack:
        coordinator = await stack.enter_async_context(
            coordinator_of(config.cluster.coordinator, home)
        )
        durable = config.cluster.durability == "disk"
        journal, recovered = await stack.enter_async_context(
            node_journal(folder / "journal.db", durable=durable)
        )
        credential = Credential(home.secret())
        inbox = NngEndpoint(
            identity,
            config.node.listen,
            credential,
            config.link,
            advertise=config.node.advertise,
        )
        endpoint = await stack.enter_async_context(inbox)
        stack.enter_context(short_turns())
        collector = stack.enter_context(bounded_pauses())
        loop = stack.enter_context(loop_watch())
        guard = stack.enter_context(open_watchdog(config.supervisor.resolver_budget_s))
        left: Breadcrumb | None = None
        if config.node.breadcrumb:
            opened = open_breadcrumb(folder / BREADCRUMB, identity.incarnation)
            left, crumb = stack.enter_context(opened)
            guard = BreadcrumbGuard(guard, crumb)
        yield NodeParts(
            config,
            home,
            games,
            endpoint,
            coordinator,
            journal,
            recovered,
            guard,
            left,
            collector,
            loop,
        )
