"""A client listens where its cluster's nodes reach it."""

from __future__ import annotations

import socket

import pytest

from hotseat.nodes.client.inbox import LOOPBACK, inbox_beside
from hotseat.runtime.link import PeerAddress


def node(inbox: str) -> PeerAddress:
    return PeerAddress("n1", inbox, "boot")


@pytest.mark.parametrize(
    "inbox",
    [
        "tcp://127.0.0.1:7000",
        "tcp://localhost:7000",
        "tcp://[::1]:7000",
        "ipc:///run/n1.inbox",
        "tcp://no-such-host.invalid:7000",
    ],
)
async def test_on_loopback_where_the_nodes_are(inbox: str) -> None:
    """A cluster of one machine opens nothing to a network, nor does its client."""
    assert await inbox_beside([node(inbox)]) == LOOPBACK
    assert await inbox_beside([]) == LOOPBACK


async def test_at_the_address_by_which_nodes_are_reached() -> None:
    """Where they stand on a network, so does the client: they must reach it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address of nobody: nothing is sent
        except OSError:
            pytest.skip("this machine is on no network")
        own = probe.getsockname()[0]
    nodes = [node("ipc:///run/n1.inbox"), node(f"tcp://{own}:7000")]
    assert await inbox_beside(nodes) == f"tcp://{own}:0"
    assert await inbox_beside([node("tcp://192.0.2.1:7000")]) == f"tcp://{own}:0"
