"""What goes wrong between real processes costs one link, and leaves nothing behind."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict
from functools import partial
from itertools import count
from pathlib import Path

import anyio
import pynng
import pytest
import structlog

from hotseat.nodes.nng import NngEndpoint
from hotseat.runtime.codec import encode_hello
from hotseat.runtime.errors import LinkRefused
from hotseat.runtime.frame import Unwatch
from hotseat.runtime.hello import Credential, build_hello
from hotseat.runtime.inbox import LINK_DOWN, LINK_UP, PIPE_LOST
from hotseat.runtime.link import (
    Arrival,
    Identity,
    LinkDownReason,
    PeerDown,
    PeerUp,
)
from hotseat.runtime.link_options import LinkOptions
from hotseat.runtime.testing.link_scene import Recorder

pytestmark = pytest.mark.system

SECRET = Credential(b"the cluster's own secret")
OPTIONS = LinkOptions(heartbeat_s=0.2, silence_s=1.0)
incarnations = count(1)
ECHO = Path(__file__).with_name("echo_process.py")
HUNG_UP = Path(__file__).with_name("hung_up_process.py")
backends = pytest.mark.parametrize("backend", ["trio", "asyncio"])


@asynccontextmanager
async def running(name: str) -> AsyncIterator[Recorder]:
    identity = Identity("test", name, "node", f"{name}-{next(incarnations)}")
    endpoint = NngEndpoint(identity, "tcp://127.0.0.1:0", SECRET, OPTIONS)
    async with endpoint, anyio.create_task_group() as group:
        recorder = Recorder(endpoint)
        group.start_soon(recorder.run)
        yield recorder
        group.cancel_scope.cancel()


@contextmanager
def echo_process(name: str, peer: Recorder) -> Iterator[subprocess.Popen[str]]:
    """A process that connects to `peer` and echoes what it gets."""
    address = json.dumps(asdict(peer.address))
    arguments = [sys.executable, str(ECHO), name, "trio", address]
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@backends
@pytest.mark.parametrize("proven", [True, False])
def test_50_megabytes_cost_only_their_connection(backend: str, proven: bool) -> None:
    """nng closes the pipe unasked; it is logged and counted; others go on."""

    async def main() -> None:
        async with running("a") as a, running("b") as b:
            b.endpoint.connect(a.address)
            await a.next(PeerUp, "b")
            with pynng.Push0(dial=a.address.inbox, block_on_dial=True) as push:
                if proven:
                    big = Identity("test", "big", "node", "big-1")
                    hello = build_hello(
                        SECRET, big, "tcp://127.0.0.1:9", a.address.incarnation, 1
                    )
                    push.send(encode_hello(hello))
                    await a.next(PeerUp, "big")
                push.send(bytes(50_000_000))
                await a.until(
                    lambda: a.endpoint.statistics().pipes_lost >= 1, "a lost pipe"
                )
            if proven:
                down = await a.next(PeerDown, "big")
                assert down.reason is LinkDownReason.LOST
            b.endpoint.send("a", Unwatch(1, "m", 1))
            assert (await a.next(Arrival, "b")).frame == Unwatch(1, "m", 1)
            assert not a.seen(PeerDown, "b")

    with structlog.testing.capture_logs() as logs:
        anyio.run(main, backend=backend)
    lost = [line for line in logs if line["event"] == PIPE_LOST]
    assert next(line["process"] for line in lost) == ("big" if proven else None)


@contextmanager
def hanging_up() -> Iterator[str]:
    """The address of somebody who greets as nng does, and hangs up at once."""

    def greet(server: socket.socket) -> None:
        with suppress(OSError):  # the server was closed
            while True:
                connection, _ = server.accept()
                with connection, suppress(OSError):
                    connection.sendall(b"\x00SP\x00\x00\x51\x00\x00")

    with socket.create_server(("127.0.0.1", 0), backlog=512) as server:
        thread = threading.Thread(target=greet, args=(server,))
        thread.start()
        try:
            yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@backends
def test_a_peer_that_hangs_up_at_once_costs_nothing(backend: str) -> None:
    """However often it does: the process lives on, with no descriptor more."""
    with hanging_up() as address:
        run = subprocess.run(
            [sys.executable, str(HUNG_UP), backend, address],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    assert run.returncode == 0, run.stderr[-500:]
    assert int(run.stdout.split()[-1]) <= 4  # a hundred links, thousands of dials


@backends
def test_a_killed_process_is_lost_at_once(backend: str) -> None:
    """SIGKILL closes the connection: no need to wait for silence."""

    async def main() -> None:
        async with running("a") as a:
            with echo_process("x", a) as process:
                await a.next(PeerUp, "x")
                a.endpoint.send("x", Unwatch(1, "m", 1))
                assert (await a.next(Arrival, "x")).frame == Unwatch(1, "m", 1)
                with anyio.fail_after(OPTIONS.silence_s):
                    process.kill()
                    down = await a.next(PeerDown, "x")
                assert down.reason is LinkDownReason.LOST

    anyio.run(main, backend=backend)


@backends
def test_a_process_that_hangs_is_silent_and_may_return(backend: str) -> None:
    """SIGSTOP closes nothing: the heartbeats find it. It comes back when it goes on."""

    async def main() -> None:
        async with running("a") as a:
            with echo_process("x", a) as process:
                await a.next(PeerUp, "x")
                process.send_signal(signal.SIGSTOP)
                down = await a.next(PeerDown, "x")
                assert down.reason is LinkDownReason.SILENT
                process.send_signal(signal.SIGCONT)
                await a.next(PeerUp, "x")
                a.endpoint.send("x", Unwatch(2, "m", 1))
                await a.until(
                    lambda: Unwatch(2, "m", 1) in a.frames("x"), "the echo again"
                )

    anyio.run(main, backend=backend)


@backends
def test_connecting_again_and_again_leaves_nothing_behind(backend: str) -> None:
    """200 connections later there are as many descriptors, tasks and bytes."""

    async def main() -> None:
        async with running("a") as a:
            idle = len(anyio.get_running_tasks())
            before = await after_links(20, a, idle)
            after = await after_links(200, a, idle)
            assert after[0] <= before[0] + 2, "file descriptors"
            assert after[1] <= before[1] + 4_000, "kilobytes"

    async def after_links(number: int, a: Recorder, idle: int) -> tuple[int, int]:
        for _ in range(number):
            await one_link(a)
        await a.until(lambda: len(anyio.get_running_tasks()) == idle, "idle tasks")
        assert a.endpoint.statistics().peers == 0
        gc.collect()
        return len(os.listdir("/proc/self/fd")), resident_kilobytes()

    def resident_kilobytes() -> int:
        status = Path("/proc/self/status").read_text().splitlines()
        return int(next(line.split()[1] for line in status if line[:5] == "VmRSS"))

    async def one_link(a: Recorder) -> None:
        async with running("b") as b:
            b.endpoint.connect(a.address)
            await a.next(PeerUp, "b")
            await b.next(PeerUp, "a")
        a.events.clear()

    anyio.run(main, backend=backend)


@backends
def test_log_events_come_from_the_list(backend: str) -> None:
    """A link that comes and goes writes exactly link_up and link_down, once each."""

    async def main() -> None:
        async with running("a") as a:
            async with running("b") as b:
                b.endpoint.connect(a.address)
                await a.next(PeerUp, "b")
                await b.next(PeerUp, "a")
            await a.next(PeerDown, "b")

    with structlog.testing.capture_logs() as logs:
        anyio.run(main, backend=backend)
    about_b = [line["event"] for line in logs if line.get("process") == "b"]
    assert about_b == [LINK_UP, LINK_DOWN, PIPE_LOST]


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:99999", "nonsense", "ipc:///no/such/folder/x"]
)
def test_a_bad_address_is_refused_by_name(address: str) -> None:
    """An address that cannot be listened at is one clear error."""

    async def main() -> None:
        identity = Identity("test", "a", "node", "a-1")
        async with NngEndpoint(identity, address, SECRET):
            pass

    with pytest.raises(LinkRefused, match="cannot listen at") as caught:
        anyio.run(partial(main))
    assert caught.value.code == "address_unavailable"
