"""Whether this process has room for more: told to others by its registration.

Coarse on purpose: a flag with some play, so that it does not flicker.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from .memory_limit import memory_limit_bytes

__all__ = ["MemoryRoom"]

FULL = 0.85
"""Of the limit: from here on there is no room."""

ROOM_AGAIN = 0.75

PAGE_BYTES = resource.getpagesize()
MIB = 1024 * 1024


class MemoryRoom:
    """`limit_mib` 0: what the container, or else the machine, has."""

    def __init__(self, limit_mib: int) -> None:
        self._limit_bytes = limit_mib * MIB or memory_limit_bytes()
        self.room = True

    def look(self) -> bool:
        """Look how much the process holds; whether `room` has changed."""
        return self.judge(resident_bytes())

    def judge(self, held_bytes: int) -> bool:
        """The same, of so much."""
        bound = (FULL if self.room else ROOM_AGAIN) * self._limit_bytes
        before, self.room = self.room, held_bytes < bound
        return before != self.room


def resident_bytes() -> int:
    """What the process holds in memory; if that is not told, the most it ever did."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return int(pages) * PAGE_BYTES
