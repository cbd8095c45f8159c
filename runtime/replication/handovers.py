"""How long shards that this node handed over were served by nobody.

From the moment that the former owner held new records, to the first frame of the new
owner that reached it: within one way over the link, that is what a player waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Handover", "Handovers"]

KEPT = 1024
"""Of those that have come off."""


@dataclass(frozen=True, slots=True)
class Handover:
    """A shard has another owner, as planned. `number` counts them at this node."""

    number: int
    shard: int
    epoch: int
    to: str
    pause_ms: int


class Handovers:
    """Those that were written and not answered by the new owner yet, and the last."""

    __slots__ = ("_begun", "_done", "count")

    def __init__(self) -> None:
        self._begun: dict[int, tuple[int, str, int]] = {}
        self._done: deque[Handover] = deque(maxlen=KEPT)
        self.count = 0

    def begun(self, shard: int, epoch: int, to: str, held_ms: int) -> None:
        """The record names `to` in `epoch`; records had been held since `held_ms`."""
        self._begun[shard] = (epoch, to, held_ms)

    def heard(self, shard: int, epoch: int, now_ms: int) -> None:
        """The owner of `epoch` has said something."""
        begun = self._begun.get(shard)
        if begun is None or epoch < begun[0]:
            return
        del self._begun[shard]
        if epoch == begun[0]:
            self.count += 1
            pause_ms = max(0, now_ms - begun[2])
            self._done.append(Handover(self.count, shard, epoch, begun[1], pause_ms))

    def since(self, number: int) -> Sequence[Handover]:
        """Those behind that number, as far as they are kept."""
        return [handover for handover in self._done if handover.number > number]
