"""Cuts links between the nodes of a local cluster, by a proxy before each inbox.

A node listens at an address of its own and tells the others the proxy's. A link is
one connection that its sender has dialled, so a cut from one node to another stops
the connections that the first has to the second, and leaves the way back alone. What
is cut is not reset: bytes wait, as they would on a wire without a route, and go on
when it is healed. Clients are never cut: they dial through the proxy too.

Who has dialled is read from /proc: the process that holds the socket at the other end
of the connection. So this works on Linux only.
"""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import Listener, SocketAttribute, SocketStream

from ..block_failure import BlockFailure

__all__ = ["LinkProxy", "free_port", "link_proxy"]

LOOPBACK = "127.0.0.1"
PIECE_BYTES = 64 * 1024

Way = tuple[str, str]
"""From a node, to a node."""

Pids = Callable[[], Mapping[str, int]]
"""The processes of the nodes that run now."""


class LinkProxy:
    """The proxies of all nodes, and what is cut now. Made by `link_proxy`."""

    def __init__(self, targets: Mapping[str, int], pids: Pids) -> None:
        """`targets`: the port of each node's own inbox."""
        self._targets = targets
        self._pids = pids
        self._cut: set[Way] = set()
        self._changed = anyio.Event()
        self.ports: dict[str, int] = {}

    def inbox(self, node: str) -> str:
        """Where a node listens itself."""
        return f"tcp://{LOOPBACK}:{self._targets[node]}"

    def advertised(self, node: str) -> str:
        """Where the others find it."""
        return f"tcp://{LOOPBACK}:{self.ports[node]}"

    def cut(self, one: str, other: str, *, one_way: bool = False) -> None:
        """Stop what goes from one node to another, and back if not `one_way`."""
        self._cut.add((one, other))
        if not one_way:
            self._cut.add((other, one))
        self._change()

    def isolate(self, node: str) -> None:
        """Stop all that goes from a node to the others, and back."""
        for other in self._targets:
            if other != node:
                self.cut(node, other)

    def heal(self) -> None:
        """Let everything go on."""
        self._cut.clear()
        self._change()

    @property
    def is_cut(self) -> bool:
        return bool(self._cut)

    def _change(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def _until_open(self, way: Way) -> None:
        while way in self._cut:
            await self._changed.wait()

    async def _listen(self, node: str, listener: Listener[SocketStream]) -> None:
        async with listener:
            await listener.serve(partial(self._serve, node))

    async def _serve(self, node: str, stream: SocketStream) -> None:
        """One connection that somebody has opened to this node."""
        async with stream:
            port = stream.extra(SocketAttribute.remote_port)
            way = (_holder(port, self.ports[node], self._pids()), node)
            await self._until_open(way)
            try:
                inner = await anyio.connect_tcp(LOOPBACK, self._targets[node])
            except OSError:
                return  # it does not listen now: the dialler sees the end at once
            async with inner, anyio.create_task_group() as tasks:

                async def pump(source: SocketStream, sink: SocketStream) -> None:
                    with suppress(
                        anyio.EndOfStream,
                        anyio.BrokenResourceError,
                        anyio.ClosedResourceError,
                    ):
                        while True:
                            piece = await source.receive(PIECE_BYTES)
                            await self._until_open(way)
                            await sink.send(piece)
                    tasks.cancel_scope.cancel()  # one end is gone: so is the other

                tasks.start_soon(pump, stream, inner)
                tasks.start_soon(pump, inner, stream)


@asynccontextmanager
async def link_proxy(nodes: Sequence[str], pids: Pids) -> AsyncIterator[LinkProxy]:
    """Run a proxy for each node, on ports that are free now."""
    proxy = LinkProxy({node: free_port() for node in nodes}, pids)
    with BlockFailure() as failure:
        async with anyio.create_task_group() as tasks:
            for node in nodes:
                listener = await anyio.create_tcp_listener(local_host=LOOPBACK)
                proxy.ports[node] = listener.extra(SocketAttribute.local_port)
                tasks.start_soon(proxy._listen, node, listener)
            try:
                with failure.kept():
                    yield proxy
            finally:
                proxy.heal()
            tasks.cancel_scope.cancel()


def free_port() -> int:
    """A port of loopback that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def _holder(port: int, remote: int, pids: Mapping[str, int]) -> str:
    """The node whose process holds the socket at `port`; "" for somebody else."""
    inode = _inode(port, remote)
    if inode is None:
        return ""
    wanted = f"socket:[{inode}]"
    for node, pid in pids.items():
        folder = f"/proc/{pid}/fd"
        with suppress(OSError):  # it has just ended
            for file in os.listdir(folder):
                with suppress(OSError):
                    if os.readlink(f"{folder}/{file}") == wanted:
                        return node
    return ""


def _inode(port: int, remote: int) -> str | None:
    ends = (f":{port:04X}", f":{remote:04X}")
    for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(ends[0]) and fields[2].endswith(ends[1]):
            return fields[9]
    return None
