"""Every snippet of the guide to gamekit does what the guide says."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..gates.tree import ROOT
from .snippets import Reader, blocks


@pytest.mark.system
@pytest.mark.timeout(120)
def test_the_guide_can_be_followed(tmp_path: Path) -> None:
    """From an empty folder, output included."""
    reader = Reader(tmp_path)
    for block in blocks(ROOT / "docs" / "gamekit.md"):
        reader.follow(block)
