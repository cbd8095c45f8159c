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
from ..cluster_afar import ClusterAfar
from ..cluster_dir import ClusterDir
from ..nng import NngEndpoint
from ..operator.ask_cluster import find_cluster
from ..operator.ask_door import DoorRefused, DoorUnreachable, ask_door
from ..operator.doors import find_doors
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
    """Connect to a cluster, over nng.

    `cluster` is its folder, or the address of one node's command door, which is asked
    with the cluster's secret if it lies open to a network. Matches are
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
    if not isinstance(cluster, str) or "://" not in cluster:
        return ClusterDir.load(Path(cluster))
    try:
        return await find_cluster(cluster)
    except (DoorUnreachable, DoorRefused) as error:
        raise ClusterUnreachable(error.message) from error


async def ask_doors(home: ClusterDir) -> list[PeerAddress]:
    """Where the nodes are that answer now, in any order: clients spread over them."""
    found: list[PeerAddress] = []

    async def ask(door: str) -> None:
        try:
            said = await ask_door(door, "identify")
        except OperatorError:
            return  # that node is not there now; the others are
        found.append(PeerAddress(said["process"], said["inbox"], said["incarnation"]))

    if isinstance(home, ClusterAfar):
        doors = [*(await find_doors(home)).reached.values()]
    else:
        doors = [home.door(node) for node in home.node_names()]
    async with anyio.create_task_group() as tasks:
        for door in doors:
            tasks.start_soon(ask, door)
    random.shuffle(found)
    return found
