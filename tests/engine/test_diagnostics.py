"""The table of diagnostics, the page that prints it, and the code that uses it."""

from __future__ import annotations

import ast
from pathlib import Path

from hotseat.engine.diagnostic import DIAGNOSTICS

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs/diagnostics.md"


def test_page_prints_the_table() -> None:
    """docs/diagnostics.md has one row for each code, in order, and no other."""
    table, _, _ = PAGE.read_text(encoding="utf-8").partition("\n## ")
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{code}` | {said.severity} | {said.meaning} | {said.remedy} |"
        for code, said in DIAGNOSTICS.items()
    ]


def test_every_code_is_given_somewhere() -> None:
    """No code of the table is dead; one outside it cannot be given at all."""
    words = {
        node.value
        for path in (ROOT / "engine").glob("*.py")
        if path.name != "diagnostic.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert DIAGNOSTICS.keys() <= words
