"""`Alive`: who is to be told, at every beat, that this node lives and what it owns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..control_plane import ShardRecord
from .message import Alive

__all__ = ["Heartbeat"]


class Heartbeat:
    """The peers of a node: all that share a shard with it."""

    def __init__(self, node: str, every_ms: int) -> None:
        self._node = node
        self._every_ms = every_ms
        self._owned: dict[str, tuple[tuple[int, int], ...]] = {}
        self._greeted: dict[str, None] = {}
        self._beat_at_ms = 0
        self._leaving = False

    @property
    def peers(self) -> frozenset[str]:
        """Who is told."""
        return frozenset(self._owned)

    def greet(self, node: str) -> None:
        """Tell this peer at once."""
        self._greeted[node] = None

    def leave(self) -> None:
        """Tell all of them at once, and from now on, that this node is about to go."""
        self._leaving = True
        self._beat_at_ms = 0

    def regroup(self, shards: Iterable[tuple[int, ShardRecord, int | None]]) -> None:
        """Of all shards: number, record, and the epoch if this node owns it."""
        owned: dict[str, list[tuple[int, int]]] = {}
        for shard, record, epoch in shards:
            members = dict.fromkeys([*(node for node, _ in record.isr), *record.want])
            if record.move is not None:
                members[record.move.to] = None
            if self._node not in members:
                continue
            for member in members:
                if member != self._node:
                    said = owned.setdefault(member, [])
                    if epoch is not None:
                        said.append((shard, epoch))
        self._owned = {node: tuple(said) for node, said in sorted(owned.items())}

    def beat(self, now_ms: int, clock_ms: int) -> Iterator[tuple[str, Alive]]:
        """What is to be sent now."""
        greeted, self._greeted = self._greeted, {}
        if now_ms >= self._beat_at_ms:
            self._beat_at_ms = now_ms + self._every_ms
            greeted = dict.fromkeys(self._owned)
        for node in greeted:
            yield node, Alive(clock_ms, self._owned.get(node, ()), self._leaving)

    def due_ms(self) -> int | None:
        """When `beat` has something again."""
        return self._beat_at_ms if self._owned else None
