"""The breadcrumb: which match's code was running when a process died."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hotseat.nodes.node.breadcrumb import (
    FILE_BYTES,
    MATCH_BYTES_MAX,
    Breadcrumb,
    BreadcrumbGuard,
    open_breadcrumb,
    read_breadcrumb,
)
from hotseat.runtime.budget import NO_GUARD

DIES = """
import os, sys
from pathlib import Path
from hotseat.nodes.node.breadcrumb import BreadcrumbGuard, open_breadcrumb
from hotseat.runtime.budget import NO_GUARD
with open_breadcrumb(Path(sys.argv[1]), "boot-1") as (left, crumb):
    guard = BreadcrumbGuard(NO_GUARD, crumb)
    guard.run("match-a", len, "well behaved")
    guard.run("match-b", os.kill, os.getpid(), int(sys.argv[2]))
"""


def left_at(path: Path) -> Breadcrumb | None:
    with open_breadcrumb(path, "next") as (left, _):
        return left


@pytest.mark.system
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSEGV])
def test_a_process_that_dies_names_the_match(tmp_path: Path, sign: int) -> None:
    """However it ends; and the name is told once."""
    path = tmp_path / "breadcrumb"
    done = subprocess.run([sys.executable, "-c", DIES, str(path), str(int(sign))])
    assert done.returncode == -sign
    assert read_breadcrumb(path) == Breadcrumb("match-b", "boot-1")
    assert left_at(path) == Breadcrumb("match-b", "boot-1")
    assert left_at(path) is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_is_left_after_the_code_has_run(tmp_path: Path) -> None:
    """A process that dies elsewhere accuses no match, whatever its code raised."""
    path = tmp_path / "breadcrumb"
    with open_breadcrumb(path, "b") as (left, crumb):
        assert left is None
        guard = BreadcrumbGuard(NO_GUARD, crumb)
        seen = guard.run("m1", lambda: path.read_bytes()[:3])
        assert seen == b"\x02m1"
        assert read_breadcrumb(path) is None
        with pytest.raises(ZeroDivisionError):
            guard.run("m1", lambda: 1 // 0)
        assert path.read_bytes()[0] == 0
    assert left_at(path) is None


def test_a_damaged_file_says_nothing_wrong(tmp_path: Path) -> None:
    """Any bytes at all are survived, and long names are cut."""
    path = tmp_path / "breadcrumb"
    assert read_breadcrumb(path) is None
    path.write_bytes(b"\xff\xfe")
    assert read_breadcrumb(path) is None
    assert left_at(path) is None
    path.write_bytes(b"\xff" * FILE_BYTES)
    found = left_at(path)
    assert found is not None
    assert len(found.match) == MATCH_BYTES_MAX
    with open_breadcrumb(path, "b" * 100) as (_, crumb):
        guard = BreadcrumbGuard(NO_GUARD, crumb)
        seen = guard.run("x" * 100, lambda: read_breadcrumb(path))
        assert seen == Breadcrumb("x" * MATCH_BYTES_MAX, "b" * 16)
