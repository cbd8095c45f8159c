"""Every snippet of the README does what the README says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ..gates.tree import ROOT
from .snippets import Block, Reader, blocks, commands

README = ROOT / "README.md"
HOTSEAT = (sys.executable, "-m", "hotseat.nodes.cli.main")

# Played by hand: what is typed there until the end.
TYPED = {
    "play connect-four": " ".join(str(choice % 4 + 1) for choice in range(200)),
    "play nim:game": "1 " * 60,
}


@pytest.mark.system
@pytest.mark.timeout(240)
def test_the_readme_can_be_followed(tmp_path: Path) -> None:
    """`make run` aside, for which a cluster in the same place stands in."""
    venv = tmp_path / ".venv" / "bin"
    venv.mkdir(parents=True)
    (venv / "hotseat").symlink_to(Path(sys.executable).parent / "hotseat")
    run_in(tmp_path, "up", "--detach")
    try:
        reader = Reader(tmp_path)
        for block in blocks(README):
            if block.language == "console":
                run_commands(reader, block)
            else:
                reader.follow(block)
    finally:
        run_in(tmp_path, "down")
        run_in(tmp_path, "down", "--dir", "table")


def run_in(folder: Path, *arguments: str) -> None:
    """Run a command that has to succeed."""
    subprocess.run([*HOTSEAT, *arguments], cwd=folder, check=True, timeout=60)


def run_commands(reader: Reader, block: Block) -> None:
    """What is typed into a match is not shown in the README."""
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command, shown in commands(block.text):
        assert not shown, "the README shows commands, not what they print"
        if made := re.fullmatch(r"make (\w+)", command):
            assert re.search(rf"^{made[1]}:", targets, re.MULTILINE), command
            continue
        hand = next((typed for name, typed in TYPED.items() if name in command), "")
        piped = f"echo '{hand}' | tr ' ' '\\n' | {command}" if hand else command
        reader.follow(Block("console", "", f"$ {piped}\n", block.line))
