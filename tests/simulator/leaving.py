"""A planned stop: a process serves nothing more, sees that all it holds is written, and
ends; without durability it seals what it has written. As `Replicator.leave` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hotseat.nodes.journal.node_journal import seal

from .scheduler import MS

if TYPE_CHECKING:
    from .process import Process

__all__ = ["Leaving"]

LOOK_MS = 1
"""Between two looks whether the disk rests."""

LINGER_MS = 50
"""What was said is on its way."""


class Leaving:
    """Of a process that has stood down."""

    def __init__(self, process: Process, restart_ms: int) -> None:
        """It starts again `restart_ms` later."""
        self._process = process
        self._restart_ms = restart_ms
        self._failures = process.disk.failures
        self._durable = process.world.settings.durability == "disk"
        self._sealing = False
        self._later(LOOK_MS, self._look)

    def _look(self) -> None:
        """Go on when the disk rests: what is left, then the seal, then the end."""
        process = self._process
        disk = process.disk
        if not process.alive:
            return
        if process.paused or not disk.resting:
            self._later(LOOK_MS, self._look)
            return
        failed = disk.failures > self._failures
        if not (self._durable or self._sealing or failed) and process.core.ident:
            ops = process.host.checkpoint(process.wall_ms(), everything=True)
            self._sealing = not ops
            ops = ops or (seal(process.core.ident, process.core.boot),)
            disk.write(process, 0, ops)
            self._later(LOOK_MS, self._look)
            return
        self._later(LINGER_MS, self._end)

    def _end(self) -> None:
        if self._process.alive:
            self._process.world.stopped(self._process, self._restart_ms)

    def _later(self, delay_ms: int, do: Callable[[], None]) -> None:
        self._process.world.scheduler.after(delay_ms * MS, do)
