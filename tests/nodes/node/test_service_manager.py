"""systemd is told when a node is ready, that it lives, and that it is about to end."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock

from hotseat.nodes.node.service_manager import ServiceManager


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.setblocking(False)
        yield listener


def said(listener: socket.socket) -> list[str]:
    """Everything that came, line by line; what is for people is left out."""
    lines: list[str] = []
    while True:
        try:
            lines += listener.recv(4096).decode().splitlines()
        except BlockingIOError:
            return [line for line in lines if not line.startswith("STATUS=")]


async def test_ready_is_said_once_and_not_before(
    manager: socket.socket, autojump_clock: MockClock
) -> None:
    """`systemctl restart` returns when the node serves, and not when it was started."""
    ready = trio.Event()
    service = ServiceManager({"NOTIFY_SOCKET": manager.getsockname()})
    async with trio.open_nursery() as tasks:
        tasks.start_soon(service.run, ready.wait)
        await trio.testing.wait_all_tasks_blocked()
        assert said(manager) == []
        ready.set()
    assert said(manager) == ["READY=1"]
    service.stopping()
    assert said(manager) == ["STOPPING=1"]


async def test_it_shows_that_it_lives_in_time(
    manager: socket.socket, autojump_clock: MockClock
) -> None:
    """Three times in the time after which it would be ended, for as long as it runs."""
    service = ServiceManager(
        {
            "NOTIFY_SOCKET": manager.getsockname(),
            "WATCHDOG_USEC": "30000000",
            "WATCHDOG_PID": str(os.getpid()),
        }
    )
    with trio.move_on_after(65):
        await service.run(trio.lowlevel.checkpoint)
    assert said(manager) == ["READY=1"] + ["WATCHDOG=1"] * 7


@pytest.mark.parametrize(
    "variables", [{}, {"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}]
)
async def test_who_is_not_watched_shows_nothing(
    manager: socket.socket, variables: dict[str, str], autojump_clock: MockClock
) -> None:
    """The watchdog may be another process's."""
    address = {"NOTIFY_SOCKET": manager.getsockname()}
    await ServiceManager(address | variables).run(trio.lowlevel.checkpoint)
    assert said(manager) == ["READY=1"]


async def test_without_a_manager_nothing_is_done() -> None:
    """From a shell, or in a container, nobody asks."""
    service = ServiceManager({"WATCHDOG_USEC": "1000"})
    await service.run(trio.sleep_forever)
    service.stopping()


async def test_a_manager_that_does_not_listen_is_told_of_once(tmp_path: Path) -> None:
    """The node goes on without it."""
    service = ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "nobody")})
    with capture_logs() as logs:
        await service.run(trio.lowlevel.checkpoint)
        service.stopping()
    assert [line["event"] for line in logs] == ["service_manager_silent"]


async def test_an_address_without_a_file_is_known() -> None:
    """systemd may listen in the abstract namespace."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0hotseat-test-{os.getpid()}")
        listener.setblocking(False)
        service = ServiceManager({"NOTIFY_SOCKET": f"@hotseat-test-{os.getpid()}"})
        await service.run(trio.lowlevel.checkpoint)
        assert said(listener) == ["READY=1"]
