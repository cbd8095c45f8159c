"""The client library: create matches, sit down, act, watch.

    async with connect(Path(".hotseat")) as client:
        match = await client.create("tic-tac-toe", players=["0", "1"])
        seat = await match.take("0")
        outcome = await seat.dispatch("place", {"cell": 4})
        async for view in seat.views(legal=True):
            ...

It works on trio and on asyncio. A node's no is a returned `Refusal`; what is raised
is in `client_outcome`. Links that break, nodes that restart and owners that change
are made good with the same key until the operation's deadline.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from ..runtime.hello import Credential
from ..runtime.link import Identity, PeerAddress
from ..runtime.link_options import LinkOptions
from .ask_door import ask_door
from .client_match import RemoteMatch as RemoteMatch
from .client_match import Seat as Seat
from .client_match import Spectator as Spectator
from .client_match import ViewStream as ViewStream
from .client_options import ClientOptions as ClientOptions
from .client_outcome import Accepted as Accepted
from .client_outcome import ClientError as ClientError
from .client_outcome import ClusterUnreachable as ClusterUnreachable
from .client_outcome import NoAnswer as NoAnswer
from .client_outcome import OutcomeUnknown as OutcomeUnknown
from .client_outcome import Refusal as Refusal
from .client_outcome import WatchEnded as WatchEnded
from .client_shell import Client as Client
from .client_shell import open_client as open_client
from .client_view import UndoAsked as UndoAsked
from .client_view import View as View
from .cluster_dir import ClusterDir
from .nng import NngEndpoint
from .operator_error import OperatorError
from .telemetry import quiet_unless_configured

__all__ = [
    "Accepted",
    "Client",
    "ClientError",
    "ClientOptions",
    "ClusterUnreachable",
    "NoAnswer",
    "OutcomeUnknown",
    "Refusal",
    "RemoteMatch",
    "Seat",
    "Spectator",
    "UndoAsked",
    "View",
    "ViewStream",
    "WatchEnded",
    "connect",
    "open_client",
]

INBOX = "tcp://127.0.0.1:0"
"""Where nodes reach a client: as they do each other, on a port of the system's."""


@asynccontextmanager
async def connect(
    cluster: ClusterDir | Path | str,
    *,
    principal: str = "local",
    options: ClientOptions | None = None,
    links: LinkOptions | None = None,
    inbox: str = INBOX,
) -> AsyncIterator[Client]:
    """Connect to a cluster of this machine, over nng.

    `cluster` is its folder, or the address of one node's command door. Matches are
    named after `principal`: one key of one principal is one match. `inbox` is where
    nodes reach this client.

    Raises:
        ClusterUnreachable: No node answered in time.
        OperatorError: The folder holds no cluster, or its secret cannot be read.
    """
    quiet_unless_configured()
    home = await _home(cluster)
    identity = Identity(
        cluster=home.cluster,
        process=f"client-{secrets.token_hex(8)}",
        kind="client",
        incarnation=secrets.token_hex(8),
        principal=principal,
    )
    endpoint = NngEndpoint(identity, inbox, Credential(home.secret()), links)

    async def locate() -> Sequence[PeerAddress]:
        return await _ask_doors(home)

    async with open_client(locate, endpoint, options) as client:
        yield client


async def _home(cluster: ClusterDir | Path | str) -> ClusterDir:
    if isinstance(cluster, ClusterDir):
        return cluster
    if isinstance(cluster, str) and "://" in cluster:
        try:
            identity = await ask_door(cluster, "identify")
        except OperatorError as error:
            raise ClusterUnreachable(error.message) from error
        return ClusterDir.load(Path(identity["secret_file"]).parent)
    return ClusterDir.load(Path(cluster))


async def _ask_doors(home: ClusterDir) -> list[PeerAddress]:
    """Where the nodes are that answer now, in any order: clients spread over them."""
    found: list[PeerAddress] = []

    async def ask(node: str) -> None:
        try:
            said = await ask_door(home.door(node), "identify")
        except OperatorError:
            return  # that node is not there now; the others are
        found.append(PeerAddress(said["process"], said["inbox"], said["incarnation"]))

    async with anyio.create_task_group() as tasks:
        for node in home.node_names():
            tasks.start_soon(ask, node)
    random.shuffle(found)
    return found
