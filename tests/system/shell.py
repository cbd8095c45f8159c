"""An operator who runs commands: as processes, or, as that takes a tenth of the time,
in the test's own process."""

from __future__ import annotations

import io
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hotseat.nodes.cli.main import run

from .terminal import COMMAND_TIMEOUT_S, HOTSEAT, environment

__all__ = ["Done", "Operator", "hotseat", "running_cluster"]


class Done(NamedTuple):
    """How a command ended, and what it printed."""

    status: int
    stdout: str
    stderr: str


class Operator:
    """Runs commands from a folder."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        for name in [name for name in os.environ if name.startswith("HOTSEAT_")]:
            monkeypatch.delenv(name)

    def run(self, *arguments: str, cwd: Path, stdin: str = "") -> Done:
        """Run one to its end, without a terminal."""
        self._monkeypatch.chdir(cwd)
        given = io.TextIOWrapper(io.BytesIO(stdin.encode()))
        self._monkeypatch.setattr("sys.stdin", given)
        self._capsys.readouterr()
        status = run(arguments)
        return Done(int(status), *self._capsys.readouterr())

    def told(self, *arguments: str, cwd: Path, status: int = 0, stdin: str = "") -> Any:
        """What a command prints with --json."""
        done = self.run(*arguments, "--json", cwd=cwd, stdin=stdin)
        assert done.status == status, done
        return json.loads(done.stdout)

    def refused(self, *arguments: str, cwd: Path) -> str:
        """The code of an error, with exit status 1."""
        done = self.run(*arguments, cwd=cwd)
        assert done.status == 1, done
        assert done.stderr.startswith("error["), done
        return done.stderr.partition("]")[0].removeprefix("error[")


def hotseat(
    *arguments: str, cwd: Path | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run one to its end in a process of its own, without a terminal, and with nothing
    of HOTSEAT_* but what is given."""
    return subprocess.run(
        [*HOTSEAT, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=COMMAND_TIMEOUT_S,
        cwd=cwd,
        env=environment() | environ,
        check=False,
    )


@contextmanager
def running_cluster(home: Path, *options: str, **environ: str) -> Iterator[Path]:
    """`home`, with a cluster in `.hotseat` that these options of `up` have begun."""
    started = hotseat("up", *options, "--detach", cwd=home, **environ)
    assert started.returncode == 0, started.stderr
    try:
        yield home
    finally:
        stopped = hotseat("down", cwd=home)
        assert stopped.returncode == 0, stopped.stderr
