"""The placer: proposes who shall hold a shard, where a node is gone for good.

Every node has one; it works at the alphabetically first registered node that is up, so
that usually one works. Two at a time do no harm: a proposal is a compare-and-swap of
`want`, and only a shard's owner acts on it.

Whether a node is *unfit* for a shard, that is, lacks a game version which its matches
need, is known for certain only where the shard is. So its owner proposes who takes an
unfit node's place, wherever the placer works; elsewhere a node that lacks a game which
the owner has is taken for unfit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from msgspec import structs

from ..control_plane import ShardRecord
from ..fitness import Games
from ..placement import WantEdit, repair
from .effects import RecordWrite
from .options import ReplicationOptions
from .readings import Readings

__all__ = ["Placer"]

TURN_MS = 1000
"""Between two looks."""

MINUTE_MS = 60_000


class Placer:
    """Watches who is registered; says, once a turn, what should be changed."""

    def __init__(
        self, node: str, nonce_prefix: str, copies: int, options: ReplicationOptions
    ) -> None:
        self._node = node
        self._nonce_prefix = nonce_prefix
        self._nonces = 0
        self._copies = copies
        self._options = options
        self._registered: frozenset[str] = frozenset()
        self._up: frozenset[str] = frozenset()
        self._games: Mapping[str, Games] = {}
        self._absent_since_ms: dict[str, int] = {}
        self._unfit_since_ms: dict[tuple[int, str], int] = {}
        self.unfit: Mapping[int, Collection[str]] = {}
        """By shard, of those that are here: the nodes that are unfit for it."""
        self._turn_at_ms = 0
        self._budget = options.placer_edits_per_minute * MINUTE_MS  # 60,000 an edit
        self._budget_at_ms = 0

    @property
    def acting(self) -> bool:
        """Whether it is for this node to propose."""
        return bool(self._up) and min(self._up) == self._node

    def registered(
        self,
        nodes: frozenset[str],
        draining: frozenset[str],
        games: Mapping[str, Games],
    ) -> None:
        """The nodes that are registered now; who drains gets nothing more."""
        self._registered = nodes
        self._games = games
        self._up = nodes - draining
        for node in nodes:
            self._absent_since_ms.pop(node, None)

    def due_ms(self) -> int | None:
        """When `edits` may have something."""
        return self._turn_at_ms if self._up else None

    def writes(
        self,
        readings: Readings,
        skipped: Collection[int],
        mine: Mapping[int, Collection[str]],
        now_ms: int,
    ) -> list[RecordWrite]:
        """`edits` of the records as read, ready to be sent. `mine` are the shards that
        are owned here and for which nodes are unfit, with who is in sync."""
        records = {s: record for s, record in readings.known() if s not in skipped}
        writes = []
        for edit in self.edits(records, now_ms, mine):
            self._nonces += 1
            nonce = f"{self._nonce_prefix}.want-{self._nonces}"
            record = structs.replace(records[edit.shard], want=edit.want, claim=nonce)
            revision = readings.revisions[edit.shard]
            writes.append(RecordWrite(edit.shard, revision, record))
        return writes

    def edits(
        self,
        records: Mapping[int, ShardRecord],
        now_ms: int,
        mine: Mapping[int, Collection[str]] = MappingProxyType({}),
    ) -> tuple[WantEdit, ...]:
        """What to propose now; nothing before the next turn."""
        if now_ms < self._turn_at_ms:
            return ()
        self._turn_at_ms = now_ms + TURN_MS
        for record in records.values():
            for node in record.want:
                if node not in self._registered:
                    self._absent_since_ms.setdefault(node, now_ms)
        outgrown = self._outgrown(records, mine, now_ms)
        if not self.acting and not outgrown:
            return ()
        found = repair(
            records,
            shards=records if self.acting else outgrown,
            up=self._up,
            unfit=lambda shard: self._unfit_for(shard, records[shard]),
            outgrown=outgrown,
            absent_since_ms=self._absent_since_ms,
            now_ms=now_ms,
            copies=self._copies,
            grace_ms=self._options.placer_grace_ms,
            limit=self._allowance(now_ms),
        )
        self._budget -= len(found) * MINUTE_MS
        return found

    def _unfit_for(self, shard: int, record: ShardRecord) -> frozenset[str]:
        """The nodes that lack a game of the shard, or one that its owner has."""
        needed = self._games.get(record.owner or "", frozenset())
        lacking = {node for node, games in self._games.items() if not needed <= games}
        return frozenset(lacking).union(self.unfit.get(shard, ()))

    def _outgrown(
        self,
        records: Mapping[int, ShardRecord],
        mine: Mapping[int, Collection[str]],
        now_ms: int,
    ) -> dict[int, frozenset[str]]:
        """By shard of `mine`: the nodes that give their place to a fit one.

        Who is not in sync cannot get there, and does so at once; who is may yet be
        given the game, for as long as a lost node may come back.
        """
        since_ms = self._unfit_since_ms
        found: dict[int, frozenset[str]] = {}
        seen: dict[tuple[int, str], int] = {}
        for shard, synced in mine.items():
            record = records.get(shard)
            if record is None:
                continue
            leaving = set()
            for node in record.want:
                if node == record.owner or node not in self.unfit.get(shard, ()):
                    continue
                began_ms = since_ms.get((shard, node), now_ms)
                seen[shard, node] = began_ms
                patient = node in synced
                if not patient or now_ms - began_ms >= self._options.placer_grace_ms:
                    leaving.add(node)
            if leaving:
                found[shard] = frozenset(leaving)
        self._unfit_since_ms = seen
        return found

    def _allowance(self, now_ms: int) -> int:
        """Edits that the minute has left."""
        per_minute = self._options.placer_edits_per_minute
        passed_ms = now_ms - self._budget_at_ms
        self._budget_at_ms = now_ms
        self._budget = min(
            self._budget + per_minute * passed_ms, per_minute * MINUTE_MS
        )
        return self._budget // MINUTE_MS
