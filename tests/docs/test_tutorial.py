"""Every snippet of the tutorial does what the tutorial says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ..gates.tree import ROOT
from .snippets import Reader, blocks, check_output, commands, typed

TUTORIAL = ROOT / "docs" / "tutorial.md"


@pytest.mark.system
@pytest.mark.timeout(240)
def test_the_tutorial_can_be_followed(tmp_path: Path) -> None:
    """From an empty folder to a load test, output included."""
    reader = Reader(tmp_path)
    try:
        for block in blocks(TUTORIAL):
            reader.follow(block)
    finally:  # if it got stuck while its cluster ran
        down = (sys.executable, "-m", "hotseat.nodes.cli.main", "down")
        subprocess.run([*down, "--dir", str(tmp_path / "cluster")], check=True)


def test_the_reader_notices_what_is_not_so() -> None:
    """A document that shows something else fails."""
    check_output("one\n...\nla... line\n", "one\ntwo\nthree\nlast line\n", 1)
    check_output("...\n", "", 1)
    for shown, printed in [
        ("one\n", "two\n"),
        ("one\n", "one\ntwo\n"),
        ("one\n...\nthree\n", "one\ntwo\n"),
        ("o...e\n", "o\ne\n"),
        ("a.c\n", "abc\n"),
    ]:
        with pytest.raises(AssertionError, match="but this was printed"):
            check_output(shown, printed, 1)


def test_the_reader_types_what_stands_after_a_prompt() -> None:
    """Enter at a hand-over, the rest of the line at a prompt."""
    shown = "Seat 0, your turn. Press Enter when only you can see.\n0> take 3\n1: x\n"
    assert typed(shown) == "\ntake 3\n"
    assert commands("$ a b\nout\n$ c\n") == [("a b", "out\n"), ("c", "")]
