"""Does a connection attempt say that a process is gone?"""

from __future__ import annotations

import socket
from pathlib import Path

import anyio
import pytest

from hotseat.nodes.node.refused_check import is_refused

pytestmark = pytest.mark.system


async def test_a_port_where_nobody_listens_refuses() -> None:
    """The process that had it has ended."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        inbox = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        assert not await is_refused(inbox)
    assert await is_refused(inbox)


async def test_a_socket_that_nobody_holds_refuses(tmp_path: Path) -> None:
    """A killed process leaves its socket's file behind."""
    path = tmp_path / "inbox"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        assert not await is_refused(f"ipc://{path}")
    assert path.exists()
    assert await is_refused(f"ipc://{path}")


async def test_silence_says_nothing() -> None:
    """A full backlog, a dropped packet: the process may live."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        address = server.getsockname()
        taken = [socket.socket() for _ in range(4)]
        try:
            for one in taken:
                one.setblocking(False)
                one.connect_ex(address)
            with anyio.fail_after(5):
                assert not await is_refused(f"tcp://127.0.0.1:{address[1]}")
        finally:
            for one in taken:
                one.close()


@pytest.mark.parametrize("inbox", ["", "tcp://", "tcp://h:x", "memory://n1", "ws://a"])
async def test_what_is_no_address_says_nothing(inbox: str) -> None:
    """Never a reason to raise, nor to believe that somebody is dead."""
    assert not await is_refused(inbox)
