"""A node that leaves hands over what it owns: it proposes the moves of its own shards.

One at a time (`HANDED_AT_ONCE`), so that a match waits for its own shard alone, and
those who take them over get on with theirs. A shard goes to a member of its in-sync
set that owns little. Where there is none, it goes where a copy can be made. But in a
cluster that has one copy of each shard anyway, a node that is only restarted keeps
them: it is back soon.

A move that does not come off in time is asked for anew, perhaps to another node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping

from ..control_plane import ShardRecord
from ..fleet import Fleet
from ..placement import WantEdit

__all__ = ["COPIED_AT_ONCE", "HANDED_AT_ONCE", "Drainer"]

HANDED_AT_ONCE = 1
"""Moves to a member of the in-sync set that are on their way at one time: each takes
some tens of milliseconds, and each other one at that time makes its pause longer."""

COPIED_AT_ONCE = 16
"""Moves on their way to a node that must be given a copy first."""

TURN_MS = 80
"""Between two looks, while records change: who took a shard over, and feeds another
copy of it, has got on with that when the next one comes."""

IDLE_MS = 250
"""The same, while none does: what is left has no place yet, or is on its way."""

PATIENCE_MS = 3000
"""After so long a move has not come off: the next attempt."""


class Drainer:
    """Of one node, whose name is `node`, where shards shall have so many `copies`."""

    def __init__(self, node: str, copies: int) -> None:
        self._node = node
        self._copies = copies
        self._asked_ms: dict[int, int] = {}  # by shard: when its move was seen first
        self._look_at_ms = 0

    def changed(self, now_ms: int) -> None:
        """Some shard's record is another one now."""
        self._look_at_ms = min(self._look_at_ms, now_ms + TURN_MS)

    def due_ms(self, fleet: Fleet, owns: bool) -> int | None:
        """When `edits` may have something."""
        return self._look_at_ms if owns and fleet.leaves(self._node) else None

    def edits(
        self,
        records: Mapping[int, ShardRecord],
        mine: Collection[int],
        fleet: Fleet,
        unfit: Callable[[int], Collection[str]],
        now_ms: int,
    ) -> list[WantEdit]:
        """The moves to propose now, of shards that this node owns (`mine`)."""
        if not fleet.leaves(self._node) or now_ms < self._look_at_ms:
            return []
        self._look_at_ms = now_ms + IDLE_MS
        owned = Counter(dict.fromkeys(sorted(fleet.up), 0))
        for record in records.values():
            holder = record.owner if record.move is None else record.move.to
            if holder is not None and holder in owned:
                owned[holder] += 1
        left = sorted(shard for shard in mine if shard in records)
        self._asked_ms = {s: at for s, at in self._asked_ms.items() if s in left}
        waiting = [s for s in left if not self._moves(s, records[s], fleet, now_ms)]
        room = {True: HANDED_AT_ONCE, False: COPIED_AT_ONCE}  # by whether it has a copy
        for shard in set(left).difference(waiting):
            move = records[shard].move
            room[move is not None and _holds(move.to, records[shard])] -= 1
        edits: list[WantEdit] = []
        for shard in waiting:
            record, lacking = records[shard], set(unfit(shard))
            if not self.has_place(record, fleet, lacking):
                continue
            edit = self._edit(shard, record, fleet, lacking, owned)
            handed = _holds(edit.to, record)
            if room[handed] > 0:
                room[handed] -= 1
                self._asked_ms[shard] = now_ms
                owned[edit.to or ""] += 1
                edits.append(edit)
        return edits

    def has_place(
        self, record: ShardRecord, fleet: Fleet, unfit: Collection[str]
    ) -> bool:
        """Whether somebody is there who can take the shard over."""
        fit = fleet.up.difference(unfit)
        stays = self._copies == 1 and self._node not in fleet.draining
        return any(node in fit for node, _ in record.isr) or (bool(fit) and not stays)

    def _moves(
        self, shard: int, record: ShardRecord, fleet: Fleet, now_ms: int
    ) -> bool:
        """It is on its way, and may yet arrive."""
        if record.move is None or record.move.to not in fleet.up:
            return False
        return now_ms - self._asked_ms.setdefault(shard, now_ms) < PATIENCE_MS

    def _edit(
        self,
        shard: int,
        record: ShardRecord,
        fleet: Fleet,
        unfit: set[str],
        owned: Counter[str],
    ) -> WantEdit:
        tried = None if record.move is None else record.move.to

        def rank(node: str) -> tuple[bool, bool, bool, int, str]:
            known = node in record.want
            return (node in fleet.full, node == tried, not known, owned[node], node)

        fit = fleet.up - unfit
        members = [node for node, _ in record.isr if node in fit]
        if members:
            return WantEdit(shard, record.want, min(members, key=rank))
        chosen = min(fit, key=rank)
        want = record.want
        if chosen not in want:
            want = tuple(chosen if node == self._node else node for node in want)
        return WantEdit(shard, want, chosen)


def _holds(node: str | None, record: ShardRecord) -> bool:
    return any(member == node for member, _ in record.isr)
