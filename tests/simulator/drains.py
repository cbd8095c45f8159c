"""An operator drains nodes, for good or before a restart, and thinks better of it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from hotseat.runtime.control_plane import DrainRecord, encode_record
from hotseat.runtime.coordinator import ABSENT, Write

from .process import Process
from .scheduler import MS

if TYPE_CHECKING:
    from .world import World

__all__ = ["Drains"]

LEFT_DRAINING = 0.3
"""How often a node still drains when the faults have ended."""


class Drains:
    """Writes and deletes the `drain/` keys of a world."""

    def __init__(self, world: World, draw: random.Random) -> None:
        self._world = world
        self._draw = draw
        self._writes = 0

    def drain(self, node: str) -> None:
        """All that it owns and holds is to go elsewhere; later it drains no more."""
        if self._write(node, ""):
            self._world.trace.struck("drain", node)
            delay_ms = self._draw.choice([100, 1_000, 4_000, 20_000])
            self._world.scheduler.after(delay_ms * MS, self._undrain, node)

    def restart(self, process: Process) -> None:
        """What it owns is to go; then it asks to be let go, and is told to stop."""
        if not self._write(process.node, process.boot):
            return
        world, draw = self._world, self._draw
        world.trace.struck("drain_stop", process.boot)
        at_ms = draw.choice([5, 60, 300, 1_000])
        world.scheduler.after(at_ms * MS, process.let_go)
        at_ms += draw.choice([1, 20, 200, 1_000])
        restart_ms = draw.choice([50, 300, 2_500])
        world.scheduler.after(at_ms * MS, process.stop, restart_ms)

    def end(self) -> None:
        """The faults have ended: mostly nobody drains any more."""
        for node in self._world.nodes:
            if self._draw.random() >= LEFT_DRAINING:
                self._undrain(node)

    def _write(self, node: str, boot: str) -> bool:
        self._writes += 1
        record = DrainRecord(node=node, boot=boot, nonce=f"drain.{self._writes}")
        return self._put(node, encode_record(record))

    def _undrain(self, node: str) -> None:
        self._put(node, None)

    def _put(self, node: str, value: bytes | None) -> bool:
        store, key = self._world.coordinator.store, self._world.keys.drain(node)
        held = [entry for entry in store.list(key).entries if entry.key == key]
        if value is None and not held:
            return False
        store.apply([Write(key, held[0].revision if held else ABSENT, value)])
        return True
