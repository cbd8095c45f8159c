"""Runs the fenced blocks of a document, as a reader would, in an empty folder.

    ```python file=NAME     saved as a file
    ```python add=NAME      put above the last line of that file
    ```diff file=NAME       changed in that file
    ```python               run; a ```text block after it is what it prints
    ```console              `$ command` is run; the lines after it are what it prints,
                            and where they show a prompt, what is typed there

In what is printed, `...` stands for anything: within a line, or for any lines. A
command after which nothing is shown may print what it likes. Every command must
succeed, unless what it prints begins a line with `error[`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Block", "Reader", "blocks"]

FENCE = re.compile(r"^```(\w*)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^\w+> (.*)$")
HAND_OVER = re.compile(r"^Seat \w+, your turn\. Press Enter when only you can see\.$")
COMMAND_TIMEOUT_S = 60


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, what its first line says more, its text."""

    language: str
    info: str
    text: str
    line: int

    @property
    def target(self) -> tuple[str, str]:
        """("file", "bluff.py"), or twice nothing."""
        key, _, name = self.info.strip().partition("=")
        return key, name


def blocks(document: Path) -> list[Block]:
    """Every fenced block of a document, in order."""
    text = document.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2], found[3], text.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(text)
    ]


@dataclass
class Reader:
    """Someone who follows a document in `folder`, word by word."""

    folder: Path
    printed: str | None = field(default=None)

    def follow(self, block: Block) -> None:
        """Do what the block shows. Raises AssertionError when it is not so."""
        key, name = block.target
        if block.language == "python" and key == "file":
            (self.folder / name).write_text(block.text, encoding="utf-8")
        elif block.language == "python" and key == "add":
            self._add(self.folder / name, block.text)
        elif block.language == "diff":
            self._change(self.folder / name, block)
        elif block.language == "python":
            self.printed = self._run([sys.executable, "-c", block.text], "", block)
        elif block.language == "text":
            assert self.printed is not None, f"line {block.line}: nothing was printed"
            check_output(block.text, self.printed, block.line)
        else:
            assert block.language == "console", f"line {block.line}: what is this?"
            for command, shown in commands(block.text):
                output = self._run(["sh", "-c", command], shown, block)
                if shown:
                    check_output(shown, output, block.line)

    def _run(self, arguments: list[str], shown: str, block: Block) -> str:
        done = subprocess.run(
            arguments,
            cwd=self.folder,
            env=self._environment(),
            input=typed(shown),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
        fails = re.search(r"^error\[", shown, re.MULTILINE) is not None
        said = f"line {block.line}: {arguments[-1]}\n{done.stdout}"
        assert (done.returncode != 0) == fails, said
        return done.stdout

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("HOTSEAT_")}
        programs = str(Path(sys.executable).parent)
        return {
            **kept,
            "PATH": f"{programs}{os.pathsep}{kept['PATH']}",
            "PYTHONPATH": str(self.folder),
            "PYTHONUTF8": "1",
            "COLUMNS": "80",
        }

    @staticmethod
    def _add(file: Path, text: str) -> None:
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        assert lines[-1] == "game = g.build()\n", lines[-1]
        file.write_text("".join([*lines[:-1], text, "\n\n", lines[-1]]), "utf-8")

    @staticmethod
    def _change(file: Path, block: Block) -> None:
        lines = block.text.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in "- ")
        new = "".join(line[1:] for line in lines if line[0] in "+ ")
        before = file.read_text(encoding="utf-8")
        assert before.count(old) == 1, f"line {block.line}: not in {file.name}"
        file.write_text(before.replace(old, new), "utf-8")


def commands(text: str) -> list[tuple[str, str]]:
    """Each command of a console block, with what is shown after it."""
    first, *parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert not first, f"a console block begins with a command, not {first!r}"
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def typed(shown: str) -> str:
    """What a reader types, where a transcript shows prompts."""
    lines = []
    for line in shown.splitlines():
        if HAND_OVER.match(line):
            lines.append("")
        elif found := PROMPT.match(line):
            lines.append(found[1])
    return "".join(f"{line}\n" for line in lines)


def check_output(shown: str, printed: str, line: int) -> None:
    """Compare what a document shows with what was printed."""
    pattern = ""
    for text in shown.splitlines():
        if text.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            parts = map(re.escape, text.rstrip().split("..."))
            pattern += r"[^\n]*?".join(parts) + r"\n"
    tidy = "".join(f"{text.rstrip()}\n" for text in printed.splitlines())
    assert re.fullmatch(pattern, tidy), (
        f"line {line}: the document shows\n{shown}\nbut this was printed:\n{tidy}"
    )
