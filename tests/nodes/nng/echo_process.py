"""A process of its own that answers every frame with the same: run it by its path.

Arguments: a name, the event loop, and optionally the address to connect to as JSON.
It prints its own address as one line of JSON, and ends with its standard input.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import anyio
import anyio.to_thread

from hotseat.nodes.nng import NngEndpoint
from hotseat.runtime.errors import LinkError
from hotseat.runtime.hello import Credential
from hotseat.runtime.link import Arrival, Endpoint, Identity, PeerAddress

SECRET = Credential(b"the cluster's own secret")


async def echo(endpoint: Endpoint) -> None:
    while True:
        for event in await endpoint.receive():
            if isinstance(event, Arrival):
                try:
                    endpoint.send(event.process, event.frame)
                except LinkError as error:
                    sys.stderr.write(f"dropped: {error}\n")


async def main(name: str, peer: dict[str, Any] | None) -> None:
    identity = Identity("test", name, "client", f"{name}-1")
    async with (
        NngEndpoint(identity, "tcp://127.0.0.1:0", SECRET) as endpoint,
        anyio.create_task_group() as group,
    ):
        group.start_soon(echo, endpoint)
        if peer:
            endpoint.connect(PeerAddress(**peer))
        sys.stdout.write(json.dumps(asdict(endpoint.address)) + "\n")
        sys.stdout.flush()
        await anyio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        group.cancel_scope.cancel()


if __name__ == "__main__":
    where = json.loads(sys.argv[3]) if len(sys.argv) > 3 else None
    anyio.run(main, sys.argv[1], where, backend=sys.argv[2])
