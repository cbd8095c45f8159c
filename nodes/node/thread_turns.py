"""How long a node's loop keeps the interpreter from its other threads.

Disks are written in threads. Such a thread has the interpreter only when the loop lets
go of it: when that has nothing to do, or after the switch interval. Python's own of
5 ms is paid twice for each group of the journal, when its thread wakes up and when the
disk has answered, just when a crowd keeps the loop busy: as much as the disk itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["TURN_S", "short_turns"]

TURN_S = 0.0002
"""A fraction of a write. Threads that have nothing to do cost nothing."""


@contextmanager
def short_turns() -> Iterator[None]:
    """For the process's life: enter it when a node begins."""
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before_s)
