"""The coordinator is restored from an old backup; an operator raises what went back.

What was acknowledged is safe as long as nobody believes the old records. Who has seen
newer ones does not; who has not may go on from them. So nobody but the operator writes,
and no process starts, until the newest records are there again, in epochs above any
that was reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from hotseat.runtime.control_plane import SHARDS_MAX, encode_record
from hotseat.runtime.coordinator import ABSENT, CasOk, Write
from hotseat.runtime.testing.memory_store import StoreImage

if TYPE_CHECKING:
    from .world import World

__all__ = ["RAISER", "Restoration"]

RAISED_BY = 100
"""Epochs."""

RAISER = "raiser"
"""Who writes the records again; their nonces begin so."""


class Restoration:
    """One backup at a time, and what became of it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._backup: StoreImage | None = None
        self.mending = False
        """Old records are there, and no process may start."""

    def back_up(self) -> bool:
        """Take a backup, if there is none; once every node has served."""
        world = self._world
        served = all(world.boot_recorded(node) for node in world.nodes)
        if self._backup is not None or not served:
            return False
        self._backup = world.coordinator.store.image()
        return True

    def restore(self) -> bool:
        """Make the coordinator what it was, at a revision that it never had."""
        world = self._world
        processes = world.network.processes.values()
        if self._backup is None or self.mending:
            return False
        self.mending = True
        world.coordinator.restore(self._backup)
        self._backup = None
        world.checks.restored()
        for process in processes:
            process.session = process.watched = None
        return True

    def finish(self) -> None:
        """The operator writes the newest records again."""
        if not self.mending:
            return
        world = self._world
        self.mending = world.coordinator.read_only = False
        for shard, record in world.checks.records():
            if record.epoch:
                epoch = record.epoch + RAISED_BY
                raised = replace(record, epoch=epoch, claim=f"{RAISER}.{epoch}")
                self._write(world.keys.shard(shard), encode_record(raised))
        for key, replica in world.checks.replicas():
            self._write(key, encode_record(replica))
        for key, pin in world.checks.pins():
            self._write(key, encode_record(pin))
        self._delete_ended()

    def _delete_ended(self) -> None:
        """Pins that the backup had, and that had ended since."""
        world = self._world
        store = world.coordinator.store
        kept = {key for key, _ in world.checks.pins()}
        kept |= {world.keys.shard(shard) for shard, _ in world.checks.records()}
        ended = [
            Write(entry.key, entry.revision, None)
            for entry in store.list(world.keys.prefix).entries
            if entry.key not in kept
            and (
                world.keys.pin_of(entry.key) is not None
                or (world.keys.shard_of(entry.key) or 0) >= SHARDS_MAX
            )
        ]
        if ended:
            assert isinstance(store.apply(ended), CasOk)

    def _write(self, key: str, value: bytes) -> None:
        store = self._world.coordinator.store
        held = [entry for entry in store.list(key).entries if entry.key == key]
        expected = held[0].revision if held else ABSENT
        assert isinstance(store.apply([Write(key, expected, value)]), CasOk)
