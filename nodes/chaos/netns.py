"""Cuts the network between the nodes of a local cluster: a namespace for each.

Every node has a network namespace of its own, and all of them are on one bridge; this
process stands on the bridge too. What is cut is lost without a word, packet by packet,
as on a real network: a neighbour entry that leads nowhere. So a machine can vanish
without a reset, which no proxy can do.

It needs Linux, `ip`, and the right to make namespaces (`is_permitted`).
"""

from __future__ import annotations

import secrets
import shutil
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import anyio.to_thread

__all__ = ["NetworkNamespaces", "is_permitted", "network_namespaces"]

NOWHERE = "02:00:00:00:00:01"
"""A hardware address that nobody has."""

HOST = 254
"""This process, among the addresses of the bridge."""

COMMAND_S = 10.0


class NetworkNamespaces:
    """The namespaces of all nodes, and what is cut now."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self._tag = f"hs{secrets.token_hex(2)}"
        self._net = f"10.{100 + secrets.randbelow(100)}.{secrets.randbelow(250)}"
        self._numbers = {node: number for number, node in enumerate(nodes, start=1)}
        self._cut: set[tuple[str, int]] = set()

    @property
    def host(self) -> str:
        """The address of this process, as nodes reach it."""
        return f"{self._net}.{HOST}"

    def inbox(self, node: str) -> str:
        """Where a node listens."""
        return f"tcp://{self._net}.{self._numbers[node]}:0"

    def wrap(self, node: str, argv: Sequence[str]) -> list[str]:
        """The command line that runs another one in a node's namespace."""
        return ["ip", "netns", "exec", self._name(node), *argv]

    def cut(self, one: str, other: str, *, one_way: bool = False) -> None:
        """Lose what goes from one node to another, and back if not `one_way`."""
        self._lose(one, self._numbers[other])
        if not one_way:
            self._lose(other, self._numbers[one])

    def isolate(self, node: str) -> None:
        """Lose all that goes from a node to the others, and back."""
        for other in self._numbers:
            if other != node:
                self.cut(node, other)

    def vanish(self, node: str) -> None:
        """Lose all that goes from a node to anybody, this process too."""
        self.isolate(node)
        self._lose(node, HOST)

    def heal(self) -> None:
        """Let everything through again."""
        for node, number in self._cut:
            self._in(node, "neigh", "del", f"{self._net}.{number}", "dev", "eth0")
        self._cut.clear()

    def open(self) -> None:
        """Make them all.

        Raises:
            OSError: It is not permitted here.
        """
        _ip("link", "add", self._tag, "type", "bridge")
        _ip("addr", "add", f"{self.host}/24", "dev", self._tag)
        _ip("link", "set", self._tag, "up")
        for node, number in self._numbers.items():
            name, outside = self._name(node), f"{self._tag}v{number}"
            _ip("netns", "add", name)
            peer = ("peer", "name", "eth0", "netns", name)
            _ip("link", "add", outside, "type", "veth", *peer)
            _ip("link", "set", outside, "master", self._tag, "up")
            self._in(node, "addr", "add", f"{self._net}.{number}/24", "dev", "eth0")
            self._in(node, "link", "set", "eth0", "up")
            self._in(node, "link", "set", "lo", "up")

    def close(self) -> None:
        """Remove what there is of them."""
        for node in self._numbers:
            with suppress(OSError):
                _ip("netns", "del", self._name(node))
        with suppress(OSError):
            _ip("link", "del", self._tag)

    def _name(self, node: str) -> str:
        return f"{self._tag}-{node}"

    def _lose(self, node: str, number: int) -> None:
        if (node, number) not in self._cut:
            self._cut.add((node, number))
            to = f"{self._net}.{number}"
            nowhere = ("lladdr", NOWHERE, "nud", "permanent", "dev", "eth0")
            self._in(node, "neigh", "replace", to, *nowhere)

    def _in(self, node: str, *arguments: str) -> None:
        _ip("-n", self._name(node), *arguments)


def is_permitted() -> bool:
    """Whether namespaces can be made here."""
    if shutil.which("ip") is None:
        return False
    probe = NetworkNamespaces(["n1"])
    try:
        probe.open()
    except OSError:
        return False
    finally:
        probe.close()
    return True


@asynccontextmanager
async def network_namespaces(nodes: Sequence[str]) -> AsyncIterator[NetworkNamespaces]:
    """Make a namespace for each node; none is left when the block ends.

    Raises:
        OSError: It is not permitted here.
    """
    spaces = NetworkNamespaces(nodes)
    try:
        await anyio.to_thread.run_sync(spaces.open)
        yield spaces
    finally:
        spaces.close()


def _ip(*arguments: str) -> None:
    try:
        subprocess.run(
            ["ip", *arguments], check=True, capture_output=True, timeout=COMMAND_S
        )
    except subprocess.SubprocessError as error:
        said = getattr(error, "stderr", b"") or b""
        text = said.decode("utf-8", "replace").strip()
        raise OSError(f"ip {' '.join(arguments)}: {text or error}") from error
