"""The terminal of a person: lines out, lines in, without holding up the loop.

Colour and clearing only for a real terminal. Input that comes from a pipe or a file is
repeated, so that a transcript reads as what a terminal would show.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import anyio

from ..exit_codes import ExitCode
from ..operator_error import OperatorError

__all__ = ["Terminal"]

LINE_BYTES_MAX = 1 << 20
READ_BYTES = 1 << 12
STYLES = {"bold": "1", "dim": "2", "warn": "33"}
CLEAR = "\x1b[2J\x1b[3J\x1b[H"  # screen, scrollback, cursor home


class Terminal:
    """Standard input and output of this process."""

    def __init__(self) -> None:
        self._in = sys.stdin.fileno()
        self._is_person = sys.stdin.isatty()
        self._is_screen = sys.stdout.isatty()
        self._colour = self._is_screen and not os.environ.get("NO_COLOR")
        self._pending = b""
        self._at_end = False
        self._asking = False

    def say(self, text: str = "", style: str = "") -> None:
        """Print one or several lines."""
        if self._asking:  # the prompt stands there unanswered
            sys.stdout.write("\n")
            self._asking = False
        if style and self._colour and text:
            text = f"\x1b[{STYLES[style]}m{text}\x1b[0m"
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def clear(self) -> None:
        """Take away what the one before has seen. A pipe keeps everything."""
        if self._is_screen:
            sys.stdout.write(CLEAR)
            sys.stdout.flush()

    async def ask(self, prompt: str) -> str:
        """One line, without its end. May be cancelled: what was typed is kept.

        Raises:
            OperatorError: input_ended, or a line that nobody can mean.
        """
        sys.stdout.write(prompt)
        sys.stdout.flush()
        self._asking = True
        line = await self._line()
        self._asking = False
        if not self._is_person:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
        return line

    async def _line(self) -> str:
        while b"\n" not in self._pending and not self._at_end:
            with suppress(PermissionError):  # a file, which can always be read
                await anyio.wait_readable(self._in)
            read = os.read(self._in, READ_BYTES)
            self._at_end = not read
            self._pending += read
            if len(self._pending) > LINE_BYTES_MAX:
                raise OperatorError("line_too_long", "a line of input has no end")
        if not self._pending:
            raise OperatorError(
                "input_ended",
                "the input ended before the match did",
                hint="quit leaves a match",
                exit_code=ExitCode.FAILED,
            )
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")
