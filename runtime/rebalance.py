"""Which copies, and then which owners, should change places so that nodes share evenly.

Pure; it proposes and explains. Rules:

1. Nothing is moved while a shard has no owner that is up, or lacks a copy in sync that
   it could have: what a fault has left is mended first; nor while a move of the round
   before is on its way. A shard that moves for another reason is left alone, and counts
   for where it goes.
2. Copies come first: from the node that holds most to the one that holds least, one
   change per shard, until all are within one of each other.
3. Then owners: along the shortest chain of nodes from one that owns much to one that
   owns at least two fewer. Each link of the chain is a shard whose next owner is in
   sync already, so nothing is copied. (Without chains, a node whose followers all own
   enough could not get rid of anything.)
4. Nothing goes to a node that leaves, lacks a game of the shard, or is short of memory.
5. A pinned match stays where somebody has put it; it is not counted.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from .control_plane import SHARDS_MAX, Move, ShardRecord
from .fleet import Fleet
from .placement import WantEdit

__all__ = ["REBALANCE", "BalancePlan", "Reason", "Share", "plan_balance"]

REBALANCE = "rebalance"
"""What the `op` of these moves begins with."""

Records = Mapping[int, ShardRecord]
Unfit = Callable[[int], Collection[str]]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is not moved: a stable code, a node or `shard N`, a sentence."""

    code: str
    about: str
    text: str


@dataclass(frozen=True, slots=True)
class Share:
    """What a node has of the cluster's shards, pinned matches aside."""

    owns: int
    holds: int


@dataclass(frozen=True, slots=True)
class BalancePlan:
    """What to propose now, and why not more. `shares`: of the nodes that are up, as
    things are."""

    edits: tuple[WantEdit, ...] = ()
    reasons: tuple[Reason, ...] = ()
    shares: Mapping[str, Share] = field(default_factory=dict)


def plan_balance(
    records: Records, fleet: Fleet, *, unfit: Unfit, copies: int, limit: int
) -> BalancePlan:
    """At most `limit` edits (a chain of owners is not cut, so a few more); `unfit`: the
    nodes that lack a game of the shard; `copies` as the cluster shall have."""
    fixed = {s: records[s] for s in sorted(records) if s < SHARDS_MAX}
    plan = _Plan(fixed, fleet, unfit, limit)
    shares = {n: Share(plan.owned[n], plan.held[n]) for n in sorted(fleet.up)}
    reasons = plan.hindrances(copies)
    plan.leave_alone()
    edits: list[WantEdit] = []
    if not reasons:
        edits = plan.even_copies() or plan.even_owners()
        if not edits:
            reasons = plan.why_no_more()
    reasons += plan.passed_over()
    return BalancePlan(tuple(edits), tuple(reasons), shares)


class _Plan:
    """What is planned changes `owned` and `held`, counts by node that is up."""

    def __init__(self, records: Records, fleet: Fleet, unfit: Unfit, limit: int):
        self._records = records
        self._fleet = fleet
        self._unfit = unfit
        self._limit = limit
        self._used: set[int] = set()
        up = sorted(fleet.up)
        self.owned = Counter(dict.fromkeys(up, 0))
        self.held = Counter(dict.fromkeys(up, 0))
        for record in records.values():
            self.held.update(node for node in record.want if node in self.held)
            if record.owner is not None and record.owner in self.owned:
                self.owned[record.owner] += 1

    def hindrances(self, copies: int) -> list[Reason]:
        """Rule 1."""
        found = []
        for shard, record in self._records.items():
            about = f"shard {shard}"
            if record.owner is None or record.owner not in self._fleet.registered:
                text = f"{record.owner or 'nobody'} owns it: a takeover comes first"
                found.append(Reason("owner_away", about, text))
            elif record.move is not None:
                if record.move.op.startswith(REBALANCE):
                    found.append(_moving(shard, record.move))
            elif missing := self._missing(shard, record, copies):
                text = f"the copy at {missing} is not in sync yet"
                found.append(Reason("copy_missing", about, text))
        return found

    def _missing(self, shard: int, record: ShardRecord, copies: int) -> str:
        up, unfit = self._fleet.up, self._unfit(shard)
        synced = {node for node, _ in record.isr}
        for node in record.want:
            if node in up and node not in synced and node not in unfit:
                return node
        free = [n for n in sorted(up) if n not in record.want and n not in unfit]
        return free[0] if free and len(record.want) < copies else ""

    def leave_alone(self) -> None:
        """Shards that move for another reason."""
        for shard, move in self._moves():
            self._used.add(shard)
            owner = self._records[shard].owner
            if owner and owner in self.owned and move.to in self.owned:
                self.owned[owner] -= 1
                self.owned[move.to] += 1

    def _moves(self) -> Iterator[tuple[int, Move]]:
        for shard, record in self._records.items():
            move = record.move
            if move is not None and not move.op.startswith(REBALANCE):
                yield shard, move

    def even_copies(self) -> list[WantEdit]:
        """Rule 2."""
        edits: list[WantEdit] = []
        while len(edits) < self._limit:
            edit = self._next_copy()
            if edit is None:
                break
            self._used.add(edit.shard)
            edits.append(edit)
        return edits

    def _next_copy(self) -> WantEdit | None:
        most = sorted(self.held, key=lambda n: (-self.held[n], n))
        for giver in most:
            for taker in reversed(most):
                if self.held[giver] - self.held[taker] < 2:
                    break
                shard = self._copy_for(giver, taker)
                if shard is not None:
                    return self._give_copy(shard, giver, taker)
        return None

    def _copy_for(self, giver: str, taker: str) -> int | None:
        """A shard whose copy may go from one to the other; rather not its owner's."""
        fitting = [
            shard
            for shard, record in self._records.items()
            if giver in record.want
            and taker not in record.want
            and shard not in self._used
            and self._takes(taker, shard)
        ]
        owner = {shard: self._records[shard].owner for shard in fitting}
        return min(
            fitting, key=lambda shard: (owner[shard] == giver, shard), default=None
        )

    def _give_copy(self, shard: int, giver: str, taker: str) -> WantEdit:
        record = self._records[shard]
        self.held[giver] -= 1
        self.held[taker] += 1
        want = tuple(taker if node == giver else node for node in record.want)
        if record.owner != giver:
            return WantEdit(shard, want)
        self.owned[giver] -= 1
        self.owned[taker] += 1
        return WantEdit(shard, want, taker)

    def even_owners(self) -> list[WantEdit]:
        """Rule 3."""
        edits: list[WantEdit] = []
        while len(edits) < self._limit:
            chain = self._chain()
            if not chain:
                break
            for shard, giver, taker in chain:
                self._used.add(shard)
                self.owned[giver] -= 1
                self.owned[taker] += 1
                edits.append(WantEdit(shard, self._records[shard].want, taker))
        return edits

    def _chain(self) -> list[tuple[int, str, str]]:
        """The shortest one from whoever owns most, each link (shard, from, to)."""
        links = self._links()
        for source in sorted(self.owned, key=lambda n: (-self.owned[n], n)):
            came: dict[str, tuple[int, str]] = {source: (-1, "")}
            waiting = deque([source])
            while waiting:
                giver = waiting.popleft()
                if self.owned[source] - self.owned[giver] >= 2:
                    return _walked(came, giver)
                takers = links.get(giver, {})
                for taker in sorted(takers, key=lambda n: (self.owned[n], n)):
                    if taker not in came:
                        came[taker] = (takers[taker], giver)
                        waiting.append(taker)
        return []

    def _links(self) -> dict[str, dict[str, int]]:
        """By owner and possible next owner: the shard that is best given. One that is
        at home with the taker is; one at home with its owner comes last."""
        best: dict[tuple[str, str], tuple[int, int]] = {}
        for shard, record in self._records.items():
            giver = record.owner
            if giver is None or giver not in self.owned or shard in self._used:
                continue
            for taker, _ in record.isr:
                if taker == giver or not self._takes(taker, shard):
                    continue
                home = record.want[0] if record.want else ""
                rank = 0 if home == taker else 2 if home == giver else 1
                place = best.get((giver, taker))
                if place is None or (rank, shard) < place:
                    best[giver, taker] = (rank, shard)
        links: dict[str, dict[str, int]] = {}
        for (giver, taker), (_, shard) in best.items():
            links.setdefault(giver, {})[taker] = shard
        return links

    def _takes(self, node: str, shard: int) -> bool:
        """Rule 4."""
        fleet = self._fleet
        may = node in fleet.up and node not in fleet.full
        return may and node not in self._unfit(shard)

    def why_no_more(self) -> list[Reason]:
        """Nothing can be moved: it is even, or there is no way."""
        found = []
        for what, counts in (("holds", self.held), ("owns", self.owned)):
            if not counts:
                continue
            most = max(counts, key=lambda n: (counts[n], n))
            least = min(counts, key=lambda n: (counts[n], n))
            text = f"each node {what} {counts[least]} to {counts[most]} shards"
            if counts[most] - counts[least] <= 1:
                found.append(Reason("even", "cluster", text))
                continue
            text = (
                f"{most} {what} {counts[most]}, {least} {counts[least]}, and there is"
                " no shard that may go the way between them"
            )
            found.append(Reason("no_way", least, text))
        return found

    def passed_over(self) -> list[Reason]:
        """What moves for another reason, and the nodes that are given nothing."""
        fleet = self._fleet
        found = [_moving(shard, move) for shard, move in self._moves()]
        found += [
            Reason("node_full", n, "it is short of memory: it is given nothing")
            for n in sorted(fleet.full & fleet.up)
        ]
        for state, nodes in (
            ("draining", fleet.draining),
            ("restarting", fleet.restarting),
        ):
            text = "it is given nothing"
            found += [
                Reason(f"node_{state}", n, f"it is {state}: {text}")
                for n in sorted(nodes)
            ]
        return found


def _moving(shard: int, move: Move) -> Reason:
    return Reason("moving", f"shard {shard}", f"it is on its way to {move.to}")


def _walked(
    came: Mapping[str, tuple[int, str]], end: str
) -> list[tuple[int, str, str]]:
    """The links that led there, the last one first: its taker has room at once."""
    links = []
    while came[end][0] >= 0:
        shard, giver = came[end]
        links.append((shard, giver, end))
        end = giver
    return links
