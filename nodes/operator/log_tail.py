"""Reads what is appended to a log, as it comes: through rotation and truncation.

A file that was put aside is read to its end before the new one is begun; one that was
cut is begun anew. A line is given out when it is whole. It waits for nothing: call
`read` again.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import IO

__all__ = ["HISTORY_BYTES_MAX", "LINE_BYTES_MAX", "LogTail"]

LINE_BYTES_MAX = 1024 * 1024
"""A longer line is given out in pieces: no log makes us keep more than that."""

HISTORY_BYTES_MAX = 1024 * 1024
"""How far back a log is read that was there before."""

READ_BYTES = 256 * 1024


class LogTail:
    """One log. Use it as a context manager, or `close` it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._inode = (0, 0)
        self._partial = b""

    def __enter__(self) -> LogTail:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def history(self) -> list[str]:
        """The last lines that are there already; `read` goes on behind them."""
        if not self._open():
            return []
        assert self._file is not None
        size = os.fstat(self._file.fileno()).st_size
        begin = max(0, size - HISTORY_BYTES_MAX)
        self._file.seek(begin)
        lines = self._lines()
        return lines[1:] if begin else lines  # the first one may be cut

    def read(self) -> list[str]:
        """The lines that have come since the last time; none if there is no file."""
        lines: list[str] = []
        if self._file is not None:
            lines += self._lines()
            if not self._is_same():
                lines += self._rest()
                self.close()
        if self._file is None and self._open():
            lines += self._lines()
        return lines

    def _open(self) -> bool:
        try:
            self._file = self._path.open("rb")
        except FileNotFoundError:
            return False
        status = os.fstat(self._file.fileno())
        self._inode = (status.st_dev, status.st_ino)
        return True

    def _is_same(self) -> bool:
        """Whether the path still leads to the open file."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return True  # on its way to be put aside: what follows comes later
        return (status.st_dev, status.st_ino) == self._inode

    def _lines(self) -> list[str]:
        assert self._file is not None
        if os.fstat(self._file.fileno()).st_size < self._file.tell():
            self._file.seek(0)  # it was cut
            self._partial = b""
        lines: list[str] = []
        while piece := self._file.read(READ_BYTES):
            *whole, self._partial = (self._partial + piece).split(b"\n")
            lines += map(_text, whole)
            if len(self._partial) > LINE_BYTES_MAX:
                lines += self._rest()
        return lines

    def _rest(self) -> list[str]:
        """What has no end of line, and will get none."""
        rest, self._partial = self._partial, b""
        return [_text(rest)] if rest else []


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r")
