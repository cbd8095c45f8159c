"""When this node was last alive, told by a file's time to its next process.

After a stop of the whole cluster nobody has heard of the owners before: this is how
long nobody could act, for the games that credit outages. It is a hint of a second's
grain, and not synced: what a power failure takes of it is credited a little more.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["AliveMark"]

TOUCH_MS = 1_000
"""Between two marks."""


class AliveMark:
    """`last_ms`: the wall clock at the last mark of an earlier process; 0: never."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._marked_ms = 0
        try:
            self.last_ms = path.stat().st_mtime_ns // 1_000_000
        except FileNotFoundError:
            self.last_ms = 0

    def touch(self, now_ms: int) -> None:
        """Mark the present time, if the last mark is old enough.

        A disk that refuses it is the journal's to tell of: the mark is only a hint.
        """
        if abs(now_ms - self._marked_ms) < TOUCH_MS:
            return
        self._marked_ms = now_ms
        with suppress(OSError):
            self._path.touch()
            os.utime(self._path, ns=(now_ms * 1_000_000, now_ms * 1_000_000))
