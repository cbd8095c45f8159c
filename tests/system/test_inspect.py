"""`hotseat inspect` in a real terminal: a saved match, and one that is being played."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from hotseat.engine.replay import write_log_file
from hotseat.nodes.client import Accepted, RemoteMatch, Seat, connect

from ..nodes.inspected import rolls

pytestmark = pytest.mark.system

COMMAND_TIMEOUT_S = 50
HOTSEAT = (sys.executable, "-P", "-m", "hotseat.nodes.cli.main")
ESCAPE = re.compile(
    r"\x1b(\[[0-?]*[ -/]*[@-~]|[P_\]][^\x1b\x07]*(\x1b\\|\x07)|[@-Z\\-_])"
)
MOVES = (0, 3, 1, 4, 2)
"""The first player's row is full."""


def environment() -> dict[str, str]:
    """A plain terminal, and nothing of HOTSEAT_* from outside."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HOTSEAT_")}
    return kept | {"TERM": "xterm-256color"}


def hotseat(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run one command to its end, without a terminal."""
    return subprocess.run(
        [*HOTSEAT, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=COMMAND_TIMEOUT_S,
        cwd=cwd,
        env=environment(),
        check=False,
    )


class Screen:
    """A command in a terminal of 80 by 24, and what it has drawn there."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.process = process
        self.text = ""
        self._terminal = terminal

    def press(self, keys: str) -> None:
        """Type something."""
        os.write(self._terminal, keys.encode())

    def wait_for(self, text: str) -> None:
        """Read until this was drawn, after what was waited for before."""
        until = time.monotonic() + COMMAND_TIMEOUT_S
        while text not in self.text:
            assert time.monotonic() < until, f"{text!r} is not in {self.text!r}"
            assert self._read(), f"ended before {text!r} came: {self.text!r}"
        self.text = self.text.partition(text)[2]

    def wait_end(self) -> int:
        """Read to the end; the exit status."""
        while self._read():
            pass
        return self.process.wait(COMMAND_TIMEOUT_S)

    def _read(self) -> bool:
        """Take what is there within a moment; False at the end."""
        if not select.select([self._terminal], [], [], 0.2)[0]:
            return self.process.poll() is None
        try:
            drawn = os.read(self._terminal, 1 << 16)
        except OSError:  # how Linux says that nobody has the terminal any more
            return False
        self.text += ESCAPE.sub("", drawn.decode("utf-8", "replace"))
        return bool(drawn)


@contextmanager
def inspect(*arguments: str, cwd: Path) -> Iterator[Screen]:
    """Run the inspector in a terminal."""
    terminal, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [*HOTSEAT, "inspect", *arguments],
        stdin=inner,
        stdout=inner,
        stderr=inner,
        cwd=cwd,
        env=environment(),
        start_new_session=True,
    )
    os.close(inner)
    try:
        yield Screen(process, terminal)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a cluster of two nodes in `.hotseat`."""
    home = tmp_path_factory.mktemp("inspect")
    started = hotseat("up", "--nodes", "2", "--detach", cwd=home)
    assert started.returncode == 0, started.stderr
    try:
        yield home
    finally:
        stopped = hotseat("down", cwd=home)
        assert stopped.returncode == 0, stopped.stderr


def test_a_running_match_is_watched_to_its_end_and_then_inspected(home: Path) -> None:
    """Live by its id alone; what was exported from it while it ran opens as a file."""

    async def main() -> None:
        async with connect(home / ".hotseat") as client:
            match = await client.create("tic-tac-toe", players=["0", "1"])
            assert isinstance(match, RemoteMatch)
            seats = [await match.take(name) for name in ("0", "1")]

            async def move(number: int) -> None:
                seat = seats[number % 2]
                assert isinstance(seat, Seat)
                answer = await seat.dispatch("place", {"cell": MOVES[number]})
                assert isinstance(answer, Accepted)

            await move(0)
            await move(1)
            in_thread = anyio.to_thread.run_sync
            with inspect(match.id, cwd=home) as screen:
                await in_thread(screen.wait_for, f"{match.id}  2/2  live")
                await move(2)
                await in_thread(screen.wait_for, "3/3  live")
                running = ("replay", "export", match.id, "--running", "--json")
                done = await in_thread(lambda: hotseat(*running, cwd=home))
                assert done.returncode == 0, done.stderr
                screen.press("\x1b[H")  # Home
                await in_thread(screen.wait_for, "0/3  paused")
                await move(3)
                await in_thread(screen.wait_for, "0/4  paused")
                screen.press("\x1b[F")  # End
                await in_thread(screen.wait_for, "4/4  live")
                await move(4)
                await in_thread(screen.wait_for, "5/5  paused")
                screen.press("q")
                assert await in_thread(screen.wait_end) == 0
                assert "Traceback" not in screen.text
            with inspect(match.id, "--frame", "2", cwd=home) as screen:
                await in_thread(screen.wait_for, "2/5  paused")
                screen.press("q")
                assert await in_thread(screen.wait_end) == 0
            with inspect(f"{match.id}.hotseat", "--light", cwd=home) as screen:
                await in_thread(screen.wait_for, "0/3  paused")
                screen.press("\x03")  # Ctrl-C
                assert await in_thread(screen.wait_end) == 0

    anyio.run(main)


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("nonsense",), 2, "no_such_match"),
        (("a" * 26,), 1, "unknown_match"),
        (("a" * 26, "--dir", "nowhere"), 3, "no_cluster"),
        (("bad",), 1, "invalid_envelope"),
    ],
)
def test_what_cannot_be_inspected_says_why(
    home: Path, arguments: tuple[str, ...], status: int, code: str
) -> None:
    """One error with a code, and its exit status."""
    (home / "bad").write_text("{}")
    done = hotseat("inspect", *arguments, cwd=home)
    assert done.returncode == status, done.stderr
    assert done.stderr.startswith(f"error[{code}]: ")
    assert done.stdout == ""


def test_without_a_terminal_it_says_what_to_use_instead(home: Path) -> None:
    """A pipe gets no screen full of escapes."""
    (home / "saved").write_bytes(write_log_file(rolls(5).log))
    done = hotseat("inspect", "saved", cwd=home)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error[no_terminal]: ")
