"""Every snippet of the tutorial's second part does what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..gates.tree import ROOT
from .snippets import Reader, blocks

DOCS = ROOT / "docs"


@pytest.mark.system
@pytest.mark.timeout(120)
def test_the_second_part_can_be_followed(tmp_path: Path) -> None:
    """In the folder that the first part leaves, output included."""
    reader = Reader(tmp_path)
    for block in blocks(DOCS / "tutorial.md"):
        if block.target[1]:  # a file that is written there, or changed
            reader.follow(block)
    for block in blocks(DOCS / "tutorial-gamekit.md"):
        reader.follow(block)
