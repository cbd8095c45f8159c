"""Which match's code was running when a process died: a breadcrumb that outlives it.

Before a game's code is run, the match's id is written into a small file that is mapped
into memory; afterwards it is taken away. It costs no system call, and the file survives
however the process ends, if the machine does. Whoever finds the process gone may read
it: other nodes of the machine, and the next process, at its start. It says which
process's it is, so that one death is counted once.

Only the match is told, not the action: an action that kills a process was never
committed, so the match is what has to be set apart.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, TypeVarTuple

from ...runtime.budget import Guard, GuardStatistics

__all__ = [
    "MATCH_BYTES_MAX",
    "Breadcrumb",
    "BreadcrumbGuard",
    "open_breadcrumb",
    "read_breadcrumb",
]

MATCH_BYTES_MAX = 63
"""A match's id has 26; what is longer is cut."""

BOOT_BYTES = 16
BOOT_AT = 1 + MATCH_BYTES_MAX
FILE_BYTES = BOOT_AT + BOOT_BYTES
"""The length of the id (0: no code runs), the id, and whose process it is."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


@dataclass(frozen=True, slots=True)
class Breadcrumb:
    """A process's last word: the match whose code ran when it ended."""

    match: str
    boot: str


def read_breadcrumb(path: Path) -> Breadcrumb | None:
    """What the process of the file at `path` was running; None: nothing is known."""
    try:
        with path.open("rb") as file:
            return _parse(file.read(FILE_BYTES))
    except OSError:
        return None


@contextmanager
def open_breadcrumb(
    path: Path, boot: str
) -> Iterator[tuple[Breadcrumb | None, mmap.mmap]]:
    """What the last process left at `path`, and the map for this one, `boot`.

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
        left = _parse(crumb[:])
        crumb[0] = 0
        crumb[BOOT_AT:] = boot.encode()[:BOOT_BYTES].ljust(BOOT_BYTES, b"\0")
        yield left, crumb
        crumb[0] = 0


def _parse(data: bytes) -> Breadcrumb | None:
    if len(data) != FILE_BYTES or data[0] == 0:
        return None
    length = min(data[0], MATCH_BYTES_MAX)
    match = data[1 : 1 + length].decode("ascii", "replace")
    boot = data[BOOT_AT:].rstrip(b"\0").decode("ascii", "replace")
    return Breadcrumb(match, boot)


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
