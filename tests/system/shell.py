"""An operator who runs commands in the test's own process: many take little time."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hotseat.nodes.cli.main import run

from .terminal import HOTSEAT, environment

__all__ = ["Done", "Operator", "running_cluster"]


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

    def run(self, *arguments: str, cwd: Path) -> Done:
        """Run one to its end, without a terminal."""
        self._monkeypatch.chdir(cwd)
        self._capsys.readouterr()
        status = run(arguments)
        return Done(int(status), *self._capsys.readouterr())

    def told(self, *arguments: str, cwd: Path, status: int = 0) -> Any:
        """What a command prints with --json."""
        done = self.run(*arguments, "--json", cwd=cwd)
        assert done.status == status, done
        return json.loads(done.stdout)

    def refused(self, *arguments: str, cwd: Path) -> str:
        """The code of an error, with exit status 1."""
        done = self.run(*arguments, cwd=cwd)
        assert done.status == 1, done
        assert done.stderr.startswith("error["), done
        return done.stderr.partition("]")[0].removeprefix("error[")


@contextmanager
def running_cluster(home: Path, *options: str) -> Iterator[Path]:
    """`home`, with a cluster in `.hotseat` that these options of `up` have begun."""

    def command(*arguments: str) -> None:
        subprocess.run([*HOTSEAT, *arguments], cwd=home, env=environment(), check=True)

    command("up", *options, "--detach")
    try:
        yield home
    finally:
        command("down")
