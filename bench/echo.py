"""The floor of everything on the network: an unbatched nng request/reply echo.

The server is a process of its own; the client sends one request, waits for its
reply, and sends the next. Both are plain pynng, with nothing of ours.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pynng

__all__ = ["Echo", "echo_server"]

MESSAGE = b"x" * 100
"""About the size of a small action."""

TIMEOUT_MS = 10_000

SERVER = """
import sys, pynng
socket = pynng.Rep0(listen=sys.argv[1])
print("ready", flush=True)
while True:
    socket.send(socket.recv())
"""


class Echo:
    """A client of the echo server."""

    def __init__(self, address: str) -> None:
        self._socket = pynng.Req0(
            recv_timeout=TIMEOUT_MS, send_timeout=TIMEOUT_MS, resend_time=-1
        )
        self._socket.dial(address, block=True)

    def per_second(self, seconds: float = 0.5) -> float:
        """Round trips per second, one at a time."""
        count = 0
        began = now = time.perf_counter()
        while now - began < seconds:
            for _ in range(50):
                self._socket.send(MESSAGE)
                self._socket.recv()
            count += 50
            now = time.perf_counter()
        return count / (now - began)

    def close(self) -> None:
        self._socket.close()


@contextmanager
def echo_server() -> Iterator[Echo]:
    """Run an echo process, and a client of it."""
    with tempfile.TemporaryDirectory(prefix="hotseat-echo-") as folder:
        address = f"ipc://{Path(folder) / 'echo'}"
        process = subprocess.Popen(
            [sys.executable, "-c", SERVER, address], stdout=subprocess.PIPE
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            echo = Echo(address)
            try:
                yield echo
            finally:
                echo.close()
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
