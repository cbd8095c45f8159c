"""When which shard wants its `tick`: idle shards cost nothing."""

from __future__ import annotations

import heapq

__all__ = ["Timers"]


class Timers:
    """At most one time per key. A time that moved later is found out when it comes."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int]] = []
        self._due: dict[int, int] = {}  # Invariant: every item is in the heap

    def want(self, key: int, due_ms: int | None) -> None:
        """Let `pop` give the key at `due_ms` or earlier, once; None: no wish."""
        known = self._due.get(key)
        if due_ms is None or (known is not None and known <= due_ms):
            return
        self._due[key] = due_ms
        heapq.heappush(self._heap, (due_ms, key))

    def pop(self, now_ms: int) -> list[int]:
        """The keys whose time has come; each must be wanted again."""
        came: list[int] = []
        while self._heap and self._heap[0][0] <= now_ms:
            due_ms, key = heapq.heappop(self._heap)
            if self._due.get(key) == due_ms:
                del self._due[key]
                came.append(key)
        return came

    def next_ms(self) -> int | None:
        """When `pop` has something."""
        heap = self._heap
        while heap and self._due.get(heap[0][1]) != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0] if heap else None
