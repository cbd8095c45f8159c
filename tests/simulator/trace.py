"""What happened, as lines: a hash of all of it, and the text when somebody looks."""

from __future__ import annotations

import sys
from collections import Counter
from hashlib import blake2b
from zlib import crc32

from .scheduler import Scheduler

__all__ = ["Trace"]


class Trace:
    """Two runs with one hash did the same, event by event.

    `note` is for what a reader wants to see, `fold` for the many small things.
    """

    def __init__(self, scheduler: Scheduler, *, show: bool = False) -> None:
        self.counts: Counter[str] = Counter()
        """How often each kind of thing happened."""
        self._scheduler = scheduler
        self._show = show
        self._hash = blake2b(digest_size=8)
        self._crc = 0

    def note(self, text: str) -> None:
        """A line, with its time."""
        line = f"{self._scheduler.now_us / 1_000:10.3f} {text}\n"
        self._hash.update(line.encode())
        if self._show:
            sys.stdout.write(line)

    def fold(self, data: bytes) -> None:
        """Something too frequent to be told."""
        self._crc = crc32(data, self._crc)

    def struck(self, fault: str, text: str = "") -> None:
        """A fault has struck: counted, and told."""
        self.counts[fault] += 1
        self.note(f"FAULT {fault} {text}")

    def digest(self) -> str:
        """Of everything so far."""
        whole = self._hash.copy()
        whole.update(self._crc.to_bytes(4, "big"))
        whole.update(repr(sorted(self.counts.items())).encode())
        return whole.hexdigest()
