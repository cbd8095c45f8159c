"""A command in a real terminal: keys in, what is drawn out."""

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

__all__ = ["COMMAND_TIMEOUT_S", "HOTSEAT", "Screen", "environment", "in_terminal"]

COMMAND_TIMEOUT_S = 50
HOTSEAT = (sys.executable, "-P", "-m", "hotseat.nodes.cli.main")
ESCAPE = re.compile(
    r"\x1b(\[[0-?]*[ -/]*[@-~]|[P_\]][^\x1b\x07]*(\x1b\\|\x07)|[@-Z\\-_])"
)


def environment() -> dict[str, str]:
    """A plain terminal, and nothing of HOTSEAT_* from outside."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HOTSEAT_")}
    return kept | {"TERM": "xterm-256color"}


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
def in_terminal(*arguments: str, cwd: Path) -> Iterator[Screen]:
    """Run a command of hotseat in a terminal of 80 by 24."""
    terminal, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [*HOTSEAT, *arguments],
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
