"""Where a client listens for answers: where the nodes of its cluster reach it.

A cluster of one machine is reached over loopback, and so is its client. Nodes that
others reach at an address of a network see this machine at the address from which it
would send to them.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable

import anyio

from ...runtime.link import PeerAddress

__all__ = ["LOOPBACK", "inbox_beside"]

LOOPBACK = "tcp://127.0.0.1:0"
"""On a port of the system's."""

RESOLVE_S = 2.0
"""For a name to be resolved; a node whose name is not is passed over."""

ANY_PORT = 9
"""Nothing is sent there: the system only chooses a way."""


async def inbox_beside(nodes: Iterable[PeerAddress]) -> str:
    """An address to listen at, so that these nodes reach it."""
    for node in nodes:
        scheme, _, place = node.inbox.partition("://")
        host = place.rpartition(":")[0].strip("[]")
        if scheme != "tcp" or not host:
            continue
        with anyio.move_on_after(RESOLVE_S):
            try:
                found = await anyio.getaddrinfo(host, ANY_PORT, type=socket.SOCK_DGRAM)
            except OSError:
                continue
            for family, _, _, _, address in found:
                own = _own_address(family, address)
                if own is not None and not own.is_loopback:
                    return f"tcp://[{own}]:0" if own.version == 6 else f"tcp://{own}:0"
    return LOOPBACK


def _own_address(
    family: int, address: tuple[object, ...]
) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """From where this machine sends to an address; None: there is no way."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(address)
            host: str = probe.getsockname()[0]
    except OSError:
        return None
    return ipaddress.ip_address(host.partition("%")[0])
