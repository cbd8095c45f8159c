"""Which match's code was running when a process died: a breadcrumb that outlives it.

Before a game's code is run, the match's id is written into a small file that is mapped
into memory; afterwards it is taken away. It costs no system call, and the file survives
however the process ends, if the machine does. The next process reads it once, at its
start.

Only the match is told, not the action: an action that kills a process was never
committed, so the match is what has to be set apart.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, TypeVarTuple

from ..runtime.budget import Guard, GuardStatistics

__all__ = ["MATCH_BYTES_MAX", "BreadcrumbGuard", "open_breadcrumb"]

MATCH_BYTES_MAX = 63
"""A match's id has 26; what is longer is cut."""

FILE_BYTES = 1 + MATCH_BYTES_MAX
"""The length of the id (0: no code runs), and the id."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


@contextmanager
def open_breadcrumb(path: Path) -> Iterator[tuple[str, mmap.mmap]]:
    """What the last process left at `path` ("": nothing), and the map for this one.

    What was left is taken away: it is told once.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if os.fstat(fd).st_size != FILE_BYTES:
            os.ftruncate(fd, 0)
            os.ftruncate(fd, FILE_BYTES)
        crumb = mmap.mmap(fd, FILE_BYTES)
    finally:
        os.close(fd)
    with crumb:
        length = min(crumb[0], MATCH_BYTES_MAX)
        left = crumb[1 : 1 + length].decode("utf-8", "replace")
        crumb[0] = 0
        yield left, crumb
        crumb[0] = 0


class BreadcrumbGuard:
    """A guard that leaves a breadcrumb around another one."""

    __slots__ = ("_crumb", "_guard", "_last", "_packed")

    def __init__(self, guard: Guard, crumb: mmap.mmap) -> None:
        self._guard = guard
        self._crumb = crumb
        self._last = ""
        self._packed = b""

    def run(self, match: str, call: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """As the inner guard does."""
        if match != self._last:
            self._last, self._packed = match, _pack(match)
        crumb = self._crumb
        crumb[: len(self._packed)] = self._packed
        try:
            return self._guard.run(match, call, *arguments)
        finally:
            crumb[0] = 0

    def statistics(self) -> GuardStatistics:
        return self._guard.statistics()


def _pack(match: str) -> bytes:
    encoded = match.encode()[:MATCH_BYTES_MAX]
    return bytes((len(encoded),)) + encoded
