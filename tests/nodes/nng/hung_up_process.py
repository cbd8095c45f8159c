"""A process of its own that links to a peer which hangs up: run it by its path.

Arguments: the event loop, and the address to dial. It keeps many links to that address
for a while, leaves, and prints by how many its open descriptors grew.
"""

from __future__ import annotations

import os
import sys

import anyio

from hotseat.nodes.nng import NngEndpoint
from hotseat.runtime.hello import Credential
from hotseat.runtime.link import Identity, PeerAddress
from hotseat.runtime.link_options import LinkOptions

SECRET = Credential(b"the cluster's own secret")
LINKS = 100
FOR_S = 2.0
OPTIONS = LinkOptions(backoff_s_min=0.01, backoff_s_max=0.05)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def main(inbox: str) -> None:
    identity = Identity("test", "x", "client", "x-1")
    async with NngEndpoint(identity, "tcp://127.0.0.1:0", SECRET, OPTIONS) as endpoint:
        endpoint.connect(PeerAddress("first", inbox, "first-1"))
        await anyio.sleep(0.1)  # what nng opens once is open now
        before = descriptors()
        endpoint.disconnect("first")
        for number in range(LINKS):
            endpoint.connect(PeerAddress(f"p{number}", inbox, f"p{number}-1"))
        with anyio.move_on_after(FOR_S):
            while True:
                await endpoint.receive()
    sys.stdout.write(f"{descriptors() - before}\n")


anyio.run(main, sys.argv[2], backend=sys.argv[1])
