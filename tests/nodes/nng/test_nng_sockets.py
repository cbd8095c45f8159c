"""However long nng takes to close a socket, nobody who must not wait does."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pynng
import pytest
import structlog

from hotseat.nodes import nng, nng_sockets
from hotseat.nodes.nng import NngChannel, NngWire
from hotseat.nodes.nng_sockets import SOCKET_STUCK, close_socket, open_socket

pytestmark = pytest.mark.system

STUCK = Path(__file__).with_name("stuck_process.py")
backends = pytest.mark.parametrize("backend", ["trio", "asyncio"])


class Brake:
    """A callback that keeps a thread of nng's until it is let go."""

    def __init__(self) -> None:
        self.held = threading.Event()
        self.let_go = threading.Event()

    def __call__(self, *ignored: object) -> None:
        self.held.set()
        assert self.let_go.wait(20)


@contextmanager
def braked() -> Iterator[Brake]:
    """It lets go by itself after a while, so that a failure is not a hang."""
    brake = Brake()
    timer = threading.Timer(8, brake.let_go.set)
    timer.start()
    try:
        yield brake
    finally:
        timer.cancel()
        brake.let_go.set()


def nothing(*ignored: object) -> None:
    pass


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not condition():  # noqa: ASYNC110  # threads of nng's tell no event
            await anyio.sleep(0.005)


@backends
def test_the_loop_does_not_wait_for_a_link_to_close(backend: str) -> None:
    """nng closes a link when its callbacks have returned; the loop goes on before."""

    async def main() -> None:
        inbox = NngWire("tcp://127.0.0.1:0")
        address = inbox.listen(nothing, nothing)
        with braked() as brake:
            channel = NngChannel(address, brake, nothing, nothing)
            await until(brake.held.is_set)
            channel.close()
            assert not brake.let_go.is_set()
        inbox.close()

    anyio.run(main, backend=backend)


@backends
def test_the_loop_waits_for_an_inbox_for_a_limited_time(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process ends though nng does not."""
    monkeypatch.setattr(nng, "_CLOSE_S", 0.05)

    async def main() -> None:
        with braked() as brake:
            monkeypatch.setattr(nng, "current_post", lambda: brake)
            inbox = NngWire("tcp://127.0.0.1:0")
            address = inbox.listen(nothing, nothing)
            monkeypatch.undo()
            monkeypatch.setattr(nng, "_CLOSE_S", 0.05)
            other = NngWire("tcp://127.0.0.1:0")
            other.listen(nothing, nothing)
            channel = other.dial(address, nothing, nothing)
            await until(brake.held.is_set)
            inbox.close()
            assert not brake.let_go.is_set()
        channel.close()
        other.close()

    anyio.run(main, backend=backend)


def test_a_connection_that_went_before_it_came_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """nng tells of both in two threads: the later notice brings no connection back."""
    posted: list[Callable[[], None]] = []
    came: list[int] = []
    went: list[int] = []
    monkeypatch.setattr(nng, "current_post", lambda: posted.append)

    async def main() -> None:
        inbox = NngWire("tcp://127.0.0.1:0")
        address = inbox.listen(came.append, went.append)
        for _ in range(2):
            await come_and_go(address)
        up, down, up_later, down_before = posted
        for notice in (up, down, down_before, up_later):
            notice()
        inbox.close()

    async def come_and_go(address: str) -> None:
        wanted = len(posted) + 2
        peer = open_socket(pynng.Push0)
        peer.dial(address, block=True)
        await until(lambda: len(posted) == wanted - 1)
        close_socket(peer)
        await until(lambda: len(posted) == wanted)

    anyio.run(main)
    assert len(set(went)) == 2
    assert came == went[:1]


def test_a_socket_that_does_not_close_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a while the others are closed without it, and that is logged."""
    monkeypatch.setattr(nng_sockets, "STUCK_S", 0.05)
    with structlog.testing.capture_logs() as logs, braked() as brake:
        inbox, peer = joined(brake)
        assert brake.held.wait(5)
        stuck = close_socket(inbox)
        assert not stuck.wait(0.2)
        assert close_socket(open_socket(pynng.Pull0)).wait(5)
        assert not brake.let_go.is_set()
    assert stuck.wait(5)
    assert close_socket(peer).wait(5)
    assert [line["event"] for line in logs] == [SOCKET_STUCK]


def test_sockets_close_when_they_are_due() -> None:
    """One that may still be dialling is left alone for a while."""
    later = close_socket(open_socket(pynng.Pull0), 0.3)
    assert close_socket(open_socket(pynng.Pull0)).wait(0.2)
    assert not later.wait(0)
    assert later.wait(5)


def test_an_open_socket_is_never_garbage() -> None:
    """A collection in a callback of nng's closes none: it would wait for itself."""
    connected, collected = threading.Event(), threading.Event()

    def collect(pipe: object) -> None:
        gc.collect()
        collected.set()

    forgotten, peer = joined(nothing)
    inbox, other = joined(lambda pipe: connected.set(), collect)
    assert connected.wait(5)
    trace = weakref.ref(forgotten)
    del forgotten
    assert close_socket(other).wait(5)
    assert collected.wait(5)
    again = trace()
    assert again is not None
    for socket in (again, peer, inbox):
        assert close_socket(socket).wait(5)
    del again, socket
    gc.collect()
    assert trace() is None  # closed, and gone


def test_a_process_ends_though_a_socket_does_not() -> None:
    """The end of the interpreter waits for nng for a limited time."""
    run = subprocess.run(
        [sys.executable, str(STUCK)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (run.returncode, run.stdout.strip()) == (0, "over"), run.stderr[-500:]


def joined(
    connected: Callable[[Any], None], removed: Callable[[Any], None] = nothing
) -> tuple[Any, Any]:
    """An inbox that tells of its connection, and the other end of that."""
    inbox = open_socket(pynng.Pull0)
    inbox.add_post_pipe_connect_cb(connected)
    inbox.add_post_pipe_remove_cb(removed)
    inbox.listen("tcp://127.0.0.1:0")
    peer = open_socket(pynng.Push0)
    peer.dial(f"tcp://{inbox.listeners[0].local_address}", block=True)
    return inbox, peer
