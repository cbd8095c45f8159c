"""What the documentation lists is what the code has."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotseat.engine.refusal import REFUSALS
from hotseat.runtime.refusal import RUNTIME_REFUSALS

from .tables import BLOCK, DOCS, TABLES, filled


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_tables_follow_the_code(page: Path) -> None:
    """A stale table fails; `python -m tests.docs.tables` writes it anew."""
    text = page.read_text(encoding="utf-8")
    assert text == filled(text)


def test_every_table_stands_somewhere() -> None:
    """A table that no page shows would be lost."""
    shown = {
        name
        for page in DOCS.glob("*.md")
        for _, name, *_ in BLOCK.findall(page.read_text(encoding="utf-8"))
    }
    assert shown == set(TABLES)


def test_no_code_has_two_meanings() -> None:
    """Engine and runtime share no code."""
    assert not REFUSALS.keys() & RUNTIME_REFUSALS.keys()
