"""Every snippet of the page on takebacks does what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..gates.tree import ROOT
from .snippets import Reader, blocks


@pytest.mark.system
@pytest.mark.timeout(120)
def test_the_page_on_takebacks_can_be_followed(tmp_path: Path) -> None:
    """From an empty folder, output included."""
    reader = Reader(tmp_path)
    for block in blocks(ROOT / "docs" / "undo.md"):
        reader.follow(block)
