"""The placer: proposes who shall hold a shard, and who shall own it.

Every node has one; it works at the alphabetically first registered node that is up, so
that usually one works. Two at a time do no harm: a proposal is a compare-and-swap of
`want` or `move`, and only a shard's owner acts on it.

It brings shards back to as many copies as they shall have, where a node is gone for
good, or drains; when nothing is left to mend, it spreads copies and owners evenly
(`balancer.py`). A node that leaves hands over what it owns itself (`drainer.py`).

Whether a node is *unfit* for a shard, that is, lacks a game version which its matches
need, is known for certain only where the shard is. So its owner proposes who takes an
unfit node's place, and who owns the shard instead of itself if it is unfit, wherever
the placer works; elsewhere a node that lacks a game which the owner has is taken for
unfit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from msgspec import structs

from ..control_plane import Move, ShardRecord
from ..fitness import Games
from ..fleet import Fleet
from ..placement import WantEdit, repair
from ..rebalance import REBALANCE, BalancePlan
from .allowance import Allowance
from .balancer import Balancer
from .drainer import Drainer
from .effects import RecordWrite
from .options import ReplicationOptions
from .overdue_moves import DRAIN, FITNESS, OverdueMoves
from .readings import Readings

__all__ = ["Placer"]

TURN_MS = 1000
"""Between two looks."""


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
        self._fleet = Fleet()
        self._balancer = Balancer(copies, options)
        self._drainer = Drainer(node, copies)
        self._overdue = OverdueMoves()
        self._absent_since_ms: dict[str, int] = {}
        self._unfit_since_ms: dict[tuple[int, str], int] = {}
        self.unfit: Mapping[int, Collection[str]] = {}
        """By shard, of those that are here: the nodes that are unfit for it."""
        self._turn_at_ms = 0
        self._asked = False
        self._allowance = Allowance(options.placer_edits_per_minute)

    @property
    def acting(self) -> bool:
        """Whether it is for this node to propose."""
        up = self._fleet.up
        return bool(up) and min(up) == self._node

    @property
    def spreads(self) -> bool:
        """Copies and owners are spread evenly without being asked for."""
        return self._options.rebalance and self._fleet.rebalance

    def registered(self, fleet: Fleet, now_ms: int) -> None:
        """The nodes as they are known now; who leaves is given nothing more."""
        if fleet.registered != self._fleet.registered:
            self._balancer.changed(now_ms)
        if fleet != self._fleet:
            self._drainer.changed(now_ms)
        self._fleet = fleet
        for node in fleet.registered:
            self._absent_since_ms.pop(node, None)

    def record_changed(self, now_ms: int) -> None:
        """Some shard's record is another one now."""
        self._balancer.changed(now_ms)
        self._drainer.changed(now_ms)

    def rebalance(self) -> None:
        """An operator asks for a round, at this node, now."""
        self._asked = True
        self._balancer.ask()

    def plan(self, readings: Readings, skipped: Collection[int]) -> BalancePlan:
        """What a round would do, and why not more."""
        records = {s: record for s, record in readings.known() if s not in skipped}
        return self._balancer.plan(
            records, self._fleet, lambda s: self.unfit_for(s, records[s])
        )

    def has_place(self, shard: int, record: ShardRecord) -> bool:
        """Whether a shard that this node owns could go elsewhere now."""
        unfit = self.unfit_for(shard, record)
        return self._drainer.has_place(record, self._fleet, unfit)

    def due_ms(self, owned: Collection[int]) -> int | None:
        """When `writes` may have something; `owned` are owned here."""
        times = [self._drainer.due_ms(self._fleet, bool(owned))]
        if self._fleet.up:
            times.append(self._turn_at_ms)
        if self.acting or self._asked:
            times.append(self._balancer.due_ms())
        return min((at for at in times if at is not None), default=None)

    def writes(
        self,
        readings: Readings,
        skipped: Collection[int],
        owned: Collection[int],
        mine: Mapping[int, Collection[str]],
        now_ms: int,
    ) -> list[RecordWrite]:
        """What to propose of the records as read, ready to be sent, one per shard.

        `owned` are owned here; `mine` those of them for which nodes are unfit, with who
        is in sync.
        """
        records = {s: record for s, record in readings.known() if s not in skipped}

        def unfit(shard: int) -> frozenset[str]:
            return self.unfit_for(shard, records[shard])

        leaving = self._drainer.edits(records, owned, self._fleet, unfit, now_ms)
        edits = {edit.shard: (edit, DRAIN) for edit in leaving}
        for edit in self.edits(records, now_ms, mine):
            edits.setdefault(edit.shard, (edit, FITNESS))
        if (self.acting or self._asked) and not edits:
            balance = self._balancer.edits(records, self._fleet, unfit, now_ms)
            edits = {edit.shard: (edit, REBALANCE) for edit in balance}
            self._asked = False
        return [
            self._write(readings, records[shard], edit, op)
            for shard, (edit, op) in edits.items()
        ]

    def _write(
        self, readings: Readings, record: ShardRecord, edit: WantEdit, op: str
    ) -> RecordWrite:
        self._nonces += 1
        nonce = f"{self._nonce_prefix}.want-{self._nonces}"
        move = record.move
        if edit.to is not None:
            move = Move(edit.to, f"{op}-{nonce}") if edit.to else None
        written = structs.replace(record, want=edit.want, move=move, claim=nonce)
        return RecordWrite(edit.shard, readings.revisions[edit.shard], written)

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
                if node not in self._fleet.registered:
                    self._absent_since_ms.setdefault(node, now_ms)
        outgrown = self._outgrown(records, mine, now_ms)
        handed = self._handed(records, mine)
        if not self.acting and not outgrown:
            return tuple(handed.values())
        if self.acting:
            overdue = self._overdue.edits(records, self._fleet, now_ms)
            handed.update((edit.shard, edit) for edit in overdue)
        if self.acting and self._fleet.draining:
            # Its copies go when it owns nothing more: who takes its shards over has
            # enough to do with that.
            owners = {record.owner for record in records.values()}
            done = self._fleet.draining - owners
            for shard in records:
                outgrown[shard] = outgrown.get(shard, frozenset()) | done
        found = repair(
            records,
            shards=records if self.acting else outgrown,
            up=self._fleet.up,
            unfit=lambda shard: (
                self.unfit_for(shard, records[shard]) | self._fleet.full
            ),
            outgrown=outgrown,
            absent_since_ms=self._absent_since_ms,
            now_ms=now_ms,
            copies=self._copies,
            grace_ms=self._options.placer_grace_ms,
            limit=self._allowance.left(now_ms),
        )
        self._allowance.spend(len(found))
        return tuple({**handed, **{edit.shard: edit for edit in found}}.values())

    def unfit_for(self, shard: int, record: ShardRecord) -> frozenset[str]:
        """The nodes that lack a game of the shard, or one that its owner has."""
        known: Mapping[str, Games] = self._fleet.games
        needed = known.get(record.owner or "", frozenset())
        lacking = {node for node, games in known.items() if not needed <= games}
        return frozenset(lacking).union(self.unfit.get(shard, ()))

    def _handed(
        self,
        records: Mapping[int, ShardRecord],
        mine: Mapping[int, Collection[str]],
    ) -> dict[int, WantEdit]:
        """By shard of `mine` that this node cannot play: its owner is to be a replica
        in sync that can."""
        handed: dict[int, WantEdit] = {}
        for shard, synced in mine.items():
            record, unfit = records.get(shard), self.unfit.get(shard, ())
            if record is None or record.move is not None or self._node not in unfit:
                continue
            for node in record.want:
                if node in synced and node in self._fleet.up and node not in unfit:
                    handed[shard] = WantEdit(shard, record.want, node)
                    break
        return handed

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
