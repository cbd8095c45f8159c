"""A parent that was sent to the background reports once, or is found dead."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hotseat.nodes.local.detach import Report, start_detached

pytestmark = pytest.mark.system

REPORTS = """
import sys
from hotseat.nodes.local.detach import Report, report_to
report_to(int(sys.argv[2]), Report({error!r}, {status}))
{then}
"""
LIVES_ON = "import time; time.sleep(0.2); print('still here', flush=True)"


def start(tmp_path: Path, code: str) -> Report:
    return start_detached([sys.executable, "-c", code], tmp_path / "up.log")


def test_a_good_report_returns_at_once_and_the_process_runs_on(tmp_path: Path) -> None:
    """Nobody waits for a cluster that is ready."""
    code = REPORTS.format(error="", status=0, then=LIVES_ON)
    assert start(tmp_path, code) == Report("", 0)
    assert (tmp_path / "up.log").read_text() == ""


def test_an_error_comes_through_as_it_was_told(tmp_path: Path) -> None:
    """The text and the exit status are the other side's."""
    code = REPORTS.format(error="error[odd]: it is odd", status=2, then="")
    assert start(tmp_path, code) == Report("error[odd]: it is odd", 2)


@pytest.mark.parametrize(
    "code",
    [
        "import sys; sys.exit(3)",
        "import os, sys; os.write(int(sys.argv[2]), b'x'); sys.exit(3)",
    ],
)
def test_a_parent_that_dies_without_a_word_is_an_error(
    tmp_path: Path, code: str
) -> None:
    """A pipe that ends too early says that much, and where to look."""
    report = start(tmp_path, code)
    assert report.error.startswith("error[start_failed]: the parent died with status 3")
    assert str(tmp_path / "up.log") in report.error
    assert report.exit_code == 1
