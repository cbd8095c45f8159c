"""An operator at work: moves shards and edits who shall hold them, faults or not."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hotseat.runtime.control_plane import (
    Move,
    ShardRecord,
    decode_record,
    encode_record,
)
from hotseat.runtime.coordinator import Write

if TYPE_CHECKING:
    from .world import World

__all__ = ["Operator"]


class Operator:
    """Reads a record, changes it, writes it back: once."""

    def __init__(
        self, world: World, draw: random.Random, name: str = "operator"
    ) -> None:
        self._world = world
        self._draw = draw
        self._name = name
        self._writes = 0

    def move(self, shard: int | None = None) -> None:
        """Ask for another owner: of the wanted ones mostly, sometimes any node."""

        def change(record: ShardRecord) -> ShardRecord | None:
            others = [node for node in record.want if node != record.owner]
            if not others or self._draw.random() < 0.1:
                others = [n for n in self._world.nodes if n != record.owner]
            if record.move is not None and self._draw.random() < 0.5:
                return None
            return replace(record, move=Move(self._draw.choice(others), self._nonce()))

        self.edit(self._shard() if shard is None else shard, "move", change)

    def edit_want(self, shard: int | None = None) -> None:
        """Ask for other copies."""
        copies = self._world.settings.copies

        def change(record: ShardRecord) -> ShardRecord | None:
            count = self._draw.choice([copies, copies, max(1, copies - 1)])
            want = self._draw.sample(
                self._world.nodes, min(count, len(self._world.nodes))
            )
            return replace(record, want=tuple(want))

        self.edit(self._shard() if shard is None else shard, "want_edit", change)

    def _shard(self) -> int:
        return self._draw.randrange(self._world.settings.shards)

    def edit(
        self,
        shard: int,
        name: str,
        change: Callable[[ShardRecord], ShardRecord | None],
    ) -> None:
        """Read the shard's record, and write it back as `change` has it."""
        world = self._world
        if world.restoration.mending:
            return
        key = world.keys.shard(shard)
        store = world.coordinator.store
        for entry in store.list(key).entries:
            if entry.key != key:
                continue
            record = change(decode_record(ShardRecord, key, entry.value))
            if record is not None and record.epoch:
                world.trace.struck(name, f"{key[-1]} {record.move} {record.want}")
                record = replace(record, claim=self._nonce())
                store.apply([Write(key, entry.revision, encode_record(record))])

    def _nonce(self) -> str:
        self._writes += 1
        return f"{self._name}.{self._writes}"
