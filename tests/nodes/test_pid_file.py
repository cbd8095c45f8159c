"""A pid file belongs to one living process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hotseat.nodes.pid_file import PidFile, PidFileHeld, holder_of

HOLD = """
import sys
from pathlib import Path
from hotseat.nodes.pid_file import PidFile
with PidFile(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_held_file_names_its_holder_and_is_refused_to_another(
    tmp_path: Path,
) -> None:
    """The second one learns who was first."""
    path = tmp_path / "up.pid"
    with PidFile(path):
        assert holder_of(path) == os.getpid()
        with pytest.raises(PidFileHeld) as caught, PidFile(path):
            pass
        assert caught.value.pid == os.getpid()
        assert path.read_text() == f"{os.getpid()}\n"
    assert holder_of(path) is None
    with PidFile(path):
        pass


def test_nobody_holds_a_file_that_is_not_there(tmp_path: Path) -> None:
    """No file, no holder."""
    assert holder_of(tmp_path / "up.pid") is None


def test_a_killed_holder_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    """A stale file is taken over, however its owner ended."""
    path = tmp_path / "up.pid"
    argv = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        assert holder_of(path) == process.pid
        process.kill()
        process.wait()
    assert path.read_text() == f"{process.pid}\n"
    assert holder_of(path) is None
    with PidFile(path):
        assert holder_of(path) == os.getpid()
