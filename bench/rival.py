"""The rival: boardgame.io's headless client, on Node and on bun, playing our games.

Installed with npm into build/rivals, once. Where that cannot be done there is no rival,
which is no failure: `Absent` says why.
"""

from __future__ import annotations

import functools
import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

__all__ = ["Absent", "Rival", "Runtime", "find_rival"]

Runtime = Literal["node", "bun"]

SOURCE = Path(__file__).parent / "rivals"
ROOT = Path(__file__).parent.parent / "build" / "rivals"

INSTALL_TIMEOUT_S = 180
ANSWER_TIMEOUT_S = 60
"""The longest answer first plays 10,000 moves, which takes about 6 s."""


class Absent(Exception):
    """There is no such rival on this machine."""


class Rival:
    """A running rival. It answers one request at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def step_us(self, scenario: str, count: int) -> float:
        """CPU time of a step in microseconds.

        Raises:
            Absent: it stopped, or takes too long.
        """
        ask, answers = self._process.stdin, self._process.stdout
        assert ask is not None
        assert answers is not None
        try:
            ask.write(f"{scenario} {count}\n")
            ask.flush()
        except BrokenPipeError:
            raise Absent("it stopped") from None
        ready, _, _ = select.select([answers], [], [], ANSWER_TIMEOUT_S)
        line = answers.readline() if ready else ""
        if not line:
            raise Absent("it stopped" if ready else "it does not answer")
        answer = json.loads(line)
        return float(answer["cpu_us"]) / int(answer["steps"])


@contextmanager
def find_rival(runtime: Runtime) -> Iterator[Rival]:
    """Start the rival.

    Raises:
        Absent: it cannot be installed or started.
    """
    command = [_program(runtime), str(SOURCE / "boardgame.mjs")]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"RIVALS_ROOT": str(ROOT), "NODE_ENV": "production"},
    )
    try:
        yield Rival(process)
    finally:
        process.kill()
        process.communicate()


@functools.cache
def _program(runtime: Runtime) -> str:
    why = _install()
    if why is not None:
        raise Absent(why)
    if runtime == "node":
        program = shutil.which("node")
        if program is None:
            raise Absent("node is not installed")
        return program
    bun = ROOT / "node_modules" / ".bin" / "bun"
    try:
        subprocess.run(
            [bun, "--version"], check=True, capture_output=True, timeout=20, text=True
        )
    except (OSError, subprocess.SubprocessError):
        raise Absent("the npm package bun did not install") from None
    return str(bun)


@functools.cache
def _install() -> str | None:
    """Install the packages if they are not there; why they are not, or None."""
    wanted = (SOURCE / "package.json").read_text("utf-8")
    stamp = ROOT / "installed.json"
    if stamp.exists() and stamp.read_text("utf-8") == wanted:
        return None
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    ROOT.mkdir(parents=True, exist_ok=True)
    (ROOT / "package.json").write_text(wanted, "utf-8")
    quiet = ("--no-audit", "--no-fund", "--no-progress", "--fetch-retries=1")
    try:
        subprocess.run(
            [npm, "install", *quiet],
            cwd=ROOT,
            check=True,
            capture_output=True,
            timeout=INSTALL_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"npm install failed: {error}"
    stamp.write_text(wanted, "utf-8")
    return None
