"""`connect`: a client of a running cluster, found by its folder or a door."""

from __future__ import annotations

import random
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from ...runtime.hello import Credential
from ...runtime.link import Identity, PeerAddress
from ...runtime.link_options import LinkOptions
from ..cluster_dir import ClusterDir
from ..nng import NngEndpoint
from ..operator.ask_door import ask_door
from ..operator_error import OperatorError
from ..telemetry import quiet_unless_configured
from .inbox import inbox_beside
from .options import ClientOptions
from .outcome import ClusterUnreachable
from .shell import Client, open_client

__all__ = ["connect"]


@asynccontextmanager
async def connect(
    cluster: ClusterDir | Path | str,
    *,
    principal: str = "local",
    options: ClientOptions | None = None,
    links: LinkOptions | None = None,
    inbox: str | None = None,
) -> AsyncIterator[Client]:
    """Connect to a cluster of this machine, over nng.

    `cluster` is its folder, or the address of one node's command door. Matches are
    named after `principal`: one key of one principal is one match. `inbox` is where
    nodes reach this client; if not given, at the address that they see this machine at.

    Raises:
        ClusterUnreachable: No node answered in time.
        OperatorError: The folder holds no cluster, or its secret cannot be read.
    """
    quiet_unless_configured()
    home = await _home(cluster)
    if inbox is None:
        inbox = await inbox_beside(await ask_doors(home))
    identity = Identity(
        cluster=home.cluster,
        process=f"client-{secrets.token_hex(8)}",
        kind="client",
        incarnation=secrets.token_hex(8),
        principal=principal,
    )
    endpoint = NngEndpoint(identity, inbox, Credential(home.secret()), links)

    async def locate() -> Sequence[PeerAddress]:
        return await ask_doors(home)

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
        return ClusterDir.load(Path(identity["dir"]))
    return ClusterDir.load(Path(cluster))


async def ask_doors(home: ClusterDir) -> list[PeerAddress]:
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
