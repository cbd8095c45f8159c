"""Nodes that host replicated matches, with a shard's log that the test commits.

Everything is the real thing (supervisor, actors, committer, host, states) but the
replication core: `Replicas` appends, and the test says what becomes of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hotseat.engine.definition import Game
from hotseat.engine.machine import Machine
from hotseat.nodes.supervisor.supervisor import Supervisor
from hotseat.runtime.errors import NotServing, ProposalRefused, ProposalsFull
from hotseat.runtime.frame import (
    Created,
    Refused,
    Request,
    Response,
    Sync,
    TakeSeat,
    ViewUpdate,
)
from hotseat.runtime.games import StaticGames, UnknownGame
from hotseat.runtime.hosting.replica_host import ReplicaHost
from hotseat.runtime.hosting.replica_states import ReplicaStates
from hotseat.runtime.hosting.replicated_committer import ReplicatedCommitter
from hotseat.runtime.options import SupervisorOptions
from hotseat.runtime.replication.message import Entry, Raw
from hotseat.runtime.replication.output import (
    Alarm,
    Committed,
    Confirmed,
    Demoted,
    Serving,
)
from hotseat.runtime.route import Route
from hotseat.runtime.testing.memory_journal import MemoryDisk

from ..hosting import ALICE, BOB, TOKEN_A, TOKEN_B, HeldClock, KeptOutlet, dispatch
from ..node_stage import create_frame

SHARD = 0
"""The only one."""


class Replicas:
    """A core that appends and waits to be told; `automatic` commits and confirms at
    the end of each batch."""

    def __init__(self, host_of: ReplicaNode) -> None:
        self.automatic = True
        self.refusing: ProposalRefused | None = None
        self.room = 8192  # records that may wait for a commit
        self.epoch = 0
        self.appended: list[Entry] = []  # and not committed
        self.seq = 0
        self.proposals = 0
        self.token = 0
        self.unconfirmed = 0  # the newest token that nobody confirmed
        self._node = host_of
        self._held = 0

    @contextmanager
    def batch(self) -> Iterator[None]:
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        self.settle()

    def settle(self) -> None:
        if self._held or not self.automatic:
            return
        self._held += 1
        while self.appended or self.unconfirmed:
            self.commit()
            self.confirm_all()
        self._held -= 1

    def propose(
        self, shard: int, items: Sequence[tuple[str, int, Raw]], now_ms: int
    ) -> int:
        self._check(shard)
        if len(self.appended) + len(items) > self.room:
            raise ProposalsFull("full")
        self.proposals += 1
        first = self.seq + 1
        for match, index, record in items:
            self.seq += 1
            self.appended.append(Entry(self.epoch, self.seq, match, index, record))
        return first

    def confirm(self, shard: int, now_ms: int) -> int:
        assert self._held
        self._check(shard)
        self.token += 1
        self.unconfirmed = self.token
        return self.token

    def commit(self, count: int | None = None) -> tuple[Entry, ...]:
        """The oldest entries are committed, and applied at every follower."""
        entries = tuple(self.appended[:count])
        del self.appended[:count]
        if entries:
            self._node.host.committed(Committed(SHARD, entries))
            for follower in self._node.followers:
                follower.host.committed(Committed(SHARD, entries))
        return entries

    def confirm_all(self) -> None:
        token, self.unconfirmed = self.unconfirmed, 0
        if token:
            self._node.host.confirmed(Confirmed(SHARD, token))

    def _check(self, shard: int) -> None:
        assert shard == SHARD
        if not self.epoch:
            raise NotServing("not the owner")
        if self.refusing is not None:
            raise self.refusing


class ReplicaNode:
    """One node, driven inline."""

    def __init__(
        self,
        *games: Game,
        clock: HeldClock | None = None,
        options: SupervisorOptions | None = None,
    ) -> None:
        registry = StaticGames(games)

        def find(name: str, version: str) -> Machine | None:
            try:
                return registry.get(name, version)
            except UnknownGame:
                return None

        self.outlet, self.clock = KeptOutlet(), clock or HeldClock()
        self.followers: list[ReplicaNode] = []
        self.alarms: list[Alarm] = []
        self.disk = MemoryDisk()
        self.disk.recover()
        self.states = ReplicaStates(find, self.disk)
        self.replicas = Replicas(self)
        self.committer = ReplicatedCommitter(
            self.replicas, self.states, self.clock.now_ms, shards=1
        )
        numbers = itertools.count()
        self.supervisor = Supervisor(
            registry,
            self.outlet,
            options,
            self.clock,
            lambda size: next(numbers).to_bytes(size, "big"),
            shards=1,
            committer=self.committer,
            source=self.states,
        )
        self.host = ReplicaHost(
            self.states,
            self.committer,
            self.supervisor,
            self.clock,
            ask_state=lambda shard, match, now_ms: None,
            alarm=self.alarms.append,
            now_ms=self.clock.now_ms,
        )

    def serve(self, epoch: int, *, last_heard_ms: int = 0, seq: int = 0) -> None:
        """Own the shard from now on, behind `seq` entries of earlier owners."""
        self.replicas.epoch = epoch
        self.replicas.seq = max(self.replicas.seq, seq)
        self.host.serving(Serving(SHARD, epoch, last_heard_ms))

    def demote(self, *, unsent_from: int | None = None) -> None:
        """Another owner is there: what is not committed is lost here."""
        unsent = self.replicas.seq + 1 if unsent_from is None else unsent_from
        epoch, self.replicas.epoch = self.replicas.epoch, 0
        self.replicas.appended.clear()
        self.replicas.unconfirmed = 0
        self.host.demoted(Demoted(SHARD, epoch, unsent))

    def tell(self, *requests: tuple[Route, Request]) -> list[Response]:
        self.supervisor.handle_batch(requests)
        return [frame for _, frame in self.outlet.take()]

    def create(self, game: str, key: str = "key") -> str:
        [created] = self.tell((ALICE, create_frame(game, key)))
        assert isinstance(created, Created), created
        return created.match

    def seated(self, game: str, key: str = "key") -> str:
        """A match with Alice at seat 0 and Bob at seat 1; its id."""
        match = self.create(game, key)
        self.take_seats(match)
        return match

    def take_seats(self, match: str) -> None:
        for route, seat, token in ((ALICE, "0", TOKEN_A), (BOB, "1", TOKEN_B)):
            self.tell((route, TakeSeat(1, match, 1, seat, token)))

    def act(
        self, match: str, seat: str, action: int, event: str, payload: Any = None
    ) -> list[Response]:
        route = ALICE if seat == "0" else BOB
        return self.tell((route, dispatch(5, match, seat, action, event, payload)))

    def view(self, match: str, *, seen: int = -1) -> ViewUpdate | Refused:
        """What a spectator is shown now."""
        watcher = Route("spectator")
        [frame] = self.tell((watcher, Sync(9, match, 1, seen=seen)))
        assert isinstance(frame, ViewUpdate | Refused), frame
        self.supervisor.peer_gone("spectator")
        return frame

    def refusal(self, frames: list[Response]) -> str:
        [frame] = frames
        assert isinstance(frame, Refused), frame
        return frame.code


def pair(*games: Game) -> tuple[ReplicaNode, ReplicaNode]:
    """An owner in epoch 1, and its follower."""
    owner, follower = ReplicaNode(*games), ReplicaNode(*games)
    owner.followers.append(follower)
    owner.serve(1)
    return owner, follower


def fail_over(owner: ReplicaNode, follower: ReplicaNode, **serving: Any) -> None:
    """The follower takes over; the former owner does not know it yet."""
    owner.followers.clear()
    follower.serve(owner.replicas.epoch + 1, seq=owner.replicas.seq, **serving)
