"""Commits through the replicas of a shard.

Between the actors and the replication core. What one wake-up caused is proposed
together (`flush`), in the order in which it was submitted. The core says what is
committed, in the shard's order; what an actor waits for goes to the actor, with its
change handed to the states, and all else is for the states alone to apply.

A record that cannot be proposed now (too much waits, too few copies, the shard is on
its way to another node) stays in its place until it can, or until the node is demoted:
a match's records never overtake each other.

Invariant: per shard, records are proposed in the order of submission.
Invariant: each submission is committed, or abandoned, once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import islice
from typing import ClassVar, Protocol

from ..committer import Committer
from ..errors import NotServing, ProposalRefused, ProposalsFull
from ..match_change import Change
from ..pin_table import PinTable
from ..record_codec import pack_record
from ..replication.message import Entry, Raw
from ..replication.output import Confirmed, Demoted

__all__ = [
    "QUEUED_MAX",
    "ReplicatedCommitter",
    "ReplicatedCommitterStatistics",
    "Replicas",
    "TakesChanges",
]

QUEUED_MAX = 8192
"""Records of a shard that wait to be proposed: beyond, the shard's matches are busy.
Each is held by its actor anyway."""

_ROUNDS_MAX = 8
"""Confirmations of a shard under way: while the followers are silent, what is asked
meanwhile goes into one more."""

_PROPOSED_AT_ONCE = 1024
"""Records in one proposal: a queue that was put off goes as far as there is room."""

_ASKED_MAX = 8192
"""Confirmations of a shard that wait; beyond, who asks for one is told it is lost."""


class Replicas(Protocol):
    """What the committer asks of the runner."""

    def batch(self) -> AbstractContextManager[None]: ...

    def propose(
        self, shard: int, items: Sequence[tuple[str, int, Raw]], now_ms: int
    ) -> int: ...

    def confirm(self, shard: int, now_ms: int) -> int: ...


class TakesChanges(Protocol):
    """Where committed changes are kept."""

    def took(self, shard: int, entry: Entry, change: Change) -> None: ...


@dataclass(frozen=True, slots=True)
class ReplicatedCommitterStatistics:
    """`proposed`, `queued` and `asked` are what waits now: for a commit, to be
    proposed, for a confirmation. The others count since the start."""

    GAUGES: ClassVar[frozenset[str]] = frozenset({"proposed", "queued", "asked"})

    proposed: int
    queued: int
    asked: int
    committed: int
    abandoned: int
    confirmed: int
    put_off: int


@dataclass(slots=True)
class _Record:
    match: str
    index: int
    change: Change
    on_commit: Callable[[int], None]
    on_abandon: Callable[[int], None]
    packed: Raw | None = None
    seq: int = 0  # once it is proposed


@dataclass(frozen=True, slots=True)
class _Question:
    on_confirmed: Callable[[], None]
    on_lost: Callable[[], None] | None


@dataclass(slots=True)
class _Shard:
    queued: deque[_Record] = field(default_factory=deque)
    proposed: dict[tuple[str, int], _Record] = field(default_factory=dict)
    asked: list[_Question] = field(default_factory=list)
    rounds: deque[tuple[int, list[_Question]]] = field(default_factory=deque)
    told: dict[str, tuple[int, Callable[[int], None]]] = field(default_factory=dict)
    problem: str = ""

    @property
    def questions(self) -> int:
        return len(self.asked) + sum(len(round_) for _, round_ in self.rounds)


class ReplicatedCommitter:
    """A `Committer` for all shards of a node. Calls back in the caller's thread."""

    def __init__(
        self,
        replicas: Replicas,
        states: TakesChanges,
        now_ms: Callable[[], int],
        *,
        shards: int,
        pins: PinTable | None = None,
    ) -> None:
        """`now_ms` is the clock of the replicas: monotonic, not the wall's. `pins` says
        where pinned matches are; the caller keeps it up to date."""
        self._replicas = replicas
        self._states = states
        self._now_ms = now_ms
        self._pins = PinTable(shards) if pins is None else pins
        self._shards: dict[int, _Shard] = {}
        self._dirty: dict[int, None] = {}
        self._stuck: set[int] = set()  # refused, with nothing committed since
        self._flushing = False
        self._committed = self._abandoned = self._confirmed = self._put_off = 0

    def at_shard(self, shard: int) -> Committer:
        """The same for actors of that shard, wherever their matches are said to be.

        An actor may still live when its match has gone: nothing of it gets elsewhere.
        """
        return _AtShard(self, shard)

    # What actors ask.

    def problem(self, match: str) -> str:
        """`busy` or `degraded`, while the match's shard can take nothing more."""
        if not self._dirty:  # nothing waits anywhere
            return ""
        shard = self._shards.get(self._pins.shard_of(match))
        if shard is None:
            return ""
        if shard.problem:
            return shard.problem
        return ProposalsFull.code if len(shard.queued) >= QUEUED_MAX else ""

    def submit(
        self,
        match: str,
        changes: Sequence[Change],
        *,
        on_commit: Callable[[int], None],
        on_abandon: Callable[[int], None],
        number: int | None = None,
    ) -> None:
        """Take changes, in order of their index; never waits. `number` is the shard
        that the caller serves the match in; None: where the match is."""
        number, shard = self._shard_of(match, number)
        for change in changes:
            index = change.record.index
            shard.queued.append(_Record(match, index, change, on_commit, on_abandon))
        self._dirty[number] = None

    def confirm(
        self,
        match: str,
        on_confirmed: Callable[[], None],
        on_lost: Callable[[], None] | None = None,
        number: int | None = None,
    ) -> None:
        """Ask whether this node still owns the match's shard, or that one."""
        number, shard = self._shard_of(match, number)
        if on_lost is not None and shard.questions >= _ASKED_MAX:
            on_lost()
            return
        shard.asked.append(_Question(on_confirmed, on_lost))
        self._dirty[number] = None

    @property
    def waiting(self) -> bool:
        """Whether `flush` has something to try."""
        return bool(self._dirty)

    def flush(self) -> None:
        """Propose what was submitted, ask what is to be confirmed."""
        if self._flushing or not self._dirty:
            return  # what comes while it settles is taken in the loop below
        self._flushing = True
        self._stuck.clear()
        try:
            while ready := [n for n in self._dirty if n not in self._stuck]:
                with self._replicas.batch():
                    for number in ready:
                        self._flush_shard(number, self._shards[number])
        finally:
            self._flushing = False

    # What the core says.

    def took(self, number: int, entry: Entry) -> bool:
        """An entry is committed. False: no actor knows it."""
        shard = self._shards.get(number)
        if shard is None:
            return False
        record = shard.proposed.pop((entry.match, entry.index), None)
        if record is None:
            return False
        self._committed += 1
        self._stuck.discard(number)
        self._states.took(number, entry, record.change)
        shard.told[entry.match] = (entry.index, record.on_commit)
        return True

    def tell(self, number: int) -> None:
        """Tell the actors what was taken; each once, up to its newest record."""
        shard = self._shards.get(number)
        if shard is None:
            return
        told, shard.told = shard.told, {}
        for index, on_commit in told.values():
            on_commit(index)

    def confirmed(self, confirmed: Confirmed) -> None:
        """The epoch stood after every question up to a token."""
        shard = self._shards.get(confirmed.shard)
        if shard is None:
            return
        while shard.rounds and shard.rounds[0][0] <= confirmed.token:
            _, questions = shard.rounds.popleft()
            for question in questions:
                self._confirmed += 1
                question.on_confirmed()
        if shard.asked:
            self._dirty[confirmed.shard] = None

    def demoted(self, demoted: Demoted) -> None:
        """This node commits nothing more in that epoch: whoever waits is told."""
        shard = self._shards.pop(demoted.shard, None)
        self._dirty.pop(demoted.shard, None)
        if shard is None:
            return
        unsent: dict[str, int] = {}
        abandon: dict[str, Callable[[int], None]] = {}
        for record in (*shard.proposed.values(), *shard.queued):
            self._abandoned += 1
            abandon[record.match] = record.on_abandon
            if not record.seq or record.seq >= demoted.unsent_from:
                unsent.setdefault(record.match, record.index)
        never = 2**63
        for match, on_abandon in abandon.items():
            on_abandon(unsent.get(match, never))
        rounds = [questions for _, questions in shard.rounds]
        for question in (q for round_ in (*rounds, shard.asked) for q in round_):
            if question.on_lost is not None:
                question.on_lost()

    def statistics(self) -> ReplicatedCommitterStatistics:
        """What waits, and what became of the rest."""
        shards = self._shards.values()
        return ReplicatedCommitterStatistics(
            proposed=sum(len(shard.proposed) for shard in shards),
            queued=sum(len(shard.queued) for shard in shards),
            asked=sum(shard.questions for shard in shards),
            committed=self._committed,
            abandoned=self._abandoned,
            confirmed=self._confirmed,
            put_off=self._put_off,
        )

    def _shard_of(self, match: str, number: int | None) -> tuple[int, _Shard]:
        if number is None:
            number = self._pins.shard_of(match)
        shard = self._shards.get(number)
        if shard is None:
            shard = self._shards[number] = _Shard()
        return number, shard

    def _flush_shard(self, number: int, shard: _Shard) -> None:
        shard.problem = ""
        try:
            while shard.queued:
                self._propose(number, shard)
            if shard.asked and len(shard.rounds) < _ROUNDS_MAX:
                token = self._replicas.confirm(number, self._now_ms())
                shard.rounds.append((token, shard.asked))
                shard.asked = []
        except ProposalRefused as error:
            # It stays where it is: the core says so when it may go, or never.
            self._put_off += 1
            self._stuck.add(number)
            if not isinstance(error, NotServing):
                shard.problem = error.code
        else:
            self._dirty.pop(number, None)

    def _propose(self, number: int, shard: _Shard) -> None:
        records = list(islice(shard.queued, _PROPOSED_AT_ONCE))
        items = [(r.match, r.index, _packed(r)) for r in records]
        while True:
            try:
                seq = self._replicas.propose(number, items, self._now_ms())
                break
            except ProposalsFull:
                # Less may fit; and what is more than may ever wait never would.
                if len(items) == 1:
                    raise
                del items[len(items) // 2 :]
        for record in records[: len(items)]:
            shard.queued.popleft()
            record.seq, record.packed, seq = seq, None, seq + 1
            shard.proposed[record.match, record.index] = record


class _AtShard:
    """A `Committer` for the actors of one shard."""

    def __init__(self, committer: ReplicatedCommitter, shard: int) -> None:
        self._shard = shard
        self.problem = committer.problem
        self.flush = committer.flush
        self._committer = committer

    @property
    def waiting(self) -> bool:
        return self._committer.waiting

    def at_shard(self, shard: int) -> Committer:
        return self._committer.at_shard(shard)

    def submit(
        self,
        match: str,
        changes: Sequence[Change],
        *,
        on_commit: Callable[[int], None],
        on_abandon: Callable[[int], None],
    ) -> None:
        self._committer.submit(
            match,
            changes,
            on_commit=on_commit,
            on_abandon=on_abandon,
            number=self._shard,
        )

    def confirm(
        self,
        match: str,
        on_confirmed: Callable[[], None],
        on_lost: Callable[[], None] | None = None,
    ) -> None:
        self._committer.confirm(match, on_confirmed, on_lost, self._shard)


def _packed(record: _Record) -> Raw:
    if record.packed is None:
        record.packed = Raw(pack_record(record.change.record))
    return record.packed
