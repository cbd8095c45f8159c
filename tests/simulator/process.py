"""One boot of one node: the production core and runner, and all that is around them.

What comes (messages, answers, durable groups, timers) waits in an inbox, and is given
to the runner in one batch when the process gets to it, as the event loop's turns do.
A paused process gets to nothing; a dead one never again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from hotseat.runtime.command import Answer, Intervention
from hotseat.runtime.control_plane import NodeRecord, encode_record
from hotseat.runtime.coordinator import (
    ABSENT,
    CasOk,
    CasOutcome,
    Change,
    Listing,
    Write,
)
from hotseat.runtime.errors import ProposalRefused
from hotseat.runtime.fitness import Games, unfit_nodes
from hotseat.runtime.frame import Moved, Request, Response, ShardEntry
from hotseat.runtime.journal import MatchLine, StoreOp
from hotseat.runtime.match_id import match_id
from hotseat.runtime.node_directory import NodeDirectory
from hotseat.runtime.replica_runner import Host, Judged, ReplicaRunner
from hotseat.runtime.replication.message import Message
from hotseat.runtime.replication.node import NodeReplicas
from hotseat.runtime.replication.output import (
    Alarm,
    CasRequest,
    Come,
    Committed,
    Confirmed,
    Demoted,
    Install,
    Serving,
    Split,
)
from hotseat.runtime.replication.recovered import Recovered
from hotseat.runtime.route import Route

from .leaving import Leaving
from .scheduler import MS
from .violation import Violation, broken

if TYPE_CHECKING:
    from .world import World

__all__ = ["HostedMatches", "Process", "WallClock"]

REREAD_MS = 1_000
"""Between two listings."""

RELIST_MS = 100
"""Before the coordinator is asked again that did not answer."""

WALL_START_MS = 1_700_000_000_000

PAUSED_INBOX_MAX = 4_000
"""What waits for a paused process; the rest is lost, as in a socket's buffer."""


class HostedMatches(Host, Protocol):
    """The matches of a process, as the simulator drives them."""

    def recover(self, recovered: Recovered) -> None:
        """What the disk held; before anything else."""

    def handle_batch(self, requests: Sequence[tuple[Route, Request]]) -> None: ...

    def peer_gone(self, peer: str) -> None: ...

    def intervene(
        self, match: str, asked: Intervention, tell: Callable[[Answer], None]
    ) -> None: ...

    def tick(self, now_ms: int) -> None: ...

    def next_due_ms(self) -> int | None: ...

    def settled(self) -> None:
        """The runner has settled."""

    def checkpoint(
        self, now_ms: int, *, everything: bool = False
    ) -> tuple[StoreOp, ...]: ...

    def written(self, ops: Sequence[StoreOp]) -> None: ...

    def failed(self, ops: Sequence[StoreOp]) -> None: ...

    def lines(self, shard: int) -> Sequence[MatchLine]: ...

    def games(self) -> Mapping[int, Games]:
        """By shard: (name, version) of the games whose matches go on there."""

    def account(self, match: str) -> list[bytes]:
        """All packed records of a match, from the first on."""


class WallClock:
    """A process's wall clock: it may be wrong, and be set."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def now_ms(self) -> int:
        return self._process.wall_ms()

    def monotonic_s(self) -> float:
        return self._process.now_ms() / 1_000


class Process:
    """Give it a new `boot` for each start of a node."""

    def __init__(self, world: World, node: str, boot: str) -> None:
        self.node = node
        self.boot = boot
        self.alive = True
        self.paused = False
        self.vanished = False
        """Its machine went with it: nothing answers there."""
        self.leaving: Leaving | None = None
        """It has been told to stop, and is about to."""
        self.lag_us = 0
        """How much longer than usual it takes to get to anything."""
        self.session: str | None = None
        self.renewed_us = 0
        self.watched: int | None = None
        """The revision up to which the watch has told; None: it must list first."""
        self.serves: dict[int, int] = {}
        self.table: dict[int, ShardEntry] = {}
        self.world = world
        self._scheduler = world.scheduler
        self._draw = random.Random(f"process {world.settings.seed} {boot}")
        rates = world.settings.clock_rates
        self._rate = self._draw.choice([0.9, 0.97, 1.0, 1.03, 1.1]) if rates else 1.0
        self._started_us = world.scheduler.now_us
        self._offset_ms = self._draw.randint(0, 10_000)
        self._inbox: list[tuple[Callable[..., None], tuple[object, ...]]] = []
        self._requests: list[tuple[Route, Request]] = []
        self._woken = False
        self._tick_at_ms: int | None = None
        self._host_tick_us = 0
        self._host_due = False
        self._listing = False
        self._registering = False
        self.disk = world.disks[node]
        self.disk.mount(self)
        self.found = recovered = self.disk.recovered()
        self.core = NodeReplicas(
            world.keys,
            node,
            boot,
            world.cluster,
            world.settings.options,
            recovered,
            world.layout,
        )
        self.runner = ReplicaRunner(self.core, self, self.wall_ms)
        self.directory = NodeDirectory(world.keys)
        self.host: HostedMatches = world.make_host(self)
        self.runner.host = Tapped(self, self.host)
        self.host.recover(recovered)
        self.list_again()
        self._turn()
        self._checkpoint_later()

    @property
    def lively(self) -> bool:
        """It answers to a hello."""
        return self.alive and not self.paused

    def commit(self, shard: int) -> int:
        """Up to where it knows the shard's log to be committed."""
        replica = self.core._shards.get(shard)
        return 0 if replica is None else replica.commit

    # Clocks.

    def now_ms(self) -> int:
        """Monotonic, from an unknown start, at this machine's own rate."""
        passed_us = self._scheduler.now_us - self._started_us
        return self._offset_ms + int(passed_us * self._rate) // MS

    def wall_ms(self) -> int:
        """What this node takes for the time of day."""
        jump_ms = self.world.clock_jumps_ms.get(self.node, 0)
        return WALL_START_MS + self._scheduler.now_us // MS + jump_ms

    def _at_us(self, own_ms: int) -> int:
        """When its monotonic clock shows that."""
        return self._started_us + int((own_ms - self._offset_ms) * MS / self._rate) + 1

    # Faults.

    def die(self) -> None:
        """Nothing more comes from it."""
        self.alive = False
        self._inbox.clear()
        self._requests.clear()
        self.world.coordinator.expire(self)

    def pause(self) -> None:
        self.paused = True

    def wake(self) -> None:
        """It goes on, with what has come meanwhile."""
        self.paused = False
        if self.alive and (self._inbox or self._requests):
            self._stir()

    # What comes.

    def received(self, source: str, message: Message) -> None:
        self._put(self._take_message, source, message)

    def asked(self, client: str, request: Request) -> None:
        if self.alive and len(self._requests) < PAUSED_INBOX_MAX:
            self._requests.append((Route(client), request))
            self._stir()

    def client_gone(self, client: str) -> None:
        self._put(self.host.peer_gone, client)

    def link_up(self, node: str) -> None:
        self._put(self._take_link, self.core.link_up, node)

    def link_down(self, node: str) -> None:
        self._put(self._take_link, self.core.link_down, node)

    def refused(self, node: str) -> None:
        self._put(self._take_link, self.core.refused, node)

    def fold(self, match: str) -> None:
        """An operator asks for it."""
        self._put(self._take_fold, match)

    def pin(self, match: str) -> None:
        """An operator wants that match alone in a shard."""
        self._put(self._take_pin, match)

    def intervene(
        self, match: str, asked: Intervention, tell: Callable[[Answer], None]
    ) -> None:
        """An operator wants that done to the match."""
        self._put(self.host.intervene, match, asked, tell)

    def stop(self, restart_ms: int) -> None:
        """It is told to end; its node starts again so much later."""
        self._put(self._take_stop, restart_ms)

    def let_go(self) -> None:
        """It is about to be told to end: it asks to be let out of in-sync sets."""
        self._put(self._take_let_go)

    def answered(self, number: int, outcome: CasOutcome) -> None:
        self._put(self._take_answer, number, outcome)

    def changed(self, changes: tuple[Change, ...]) -> None:
        self._put(self._take_changes, changes)

    def listed(self, listing: Listing | None, asked_at: int) -> None:
        self._put(self._take_listing, listing, asked_at)

    def persisted(self, ticket: int, ops: tuple[StoreOp, ...]) -> None:
        self._put(self._take_persisted, ticket, ops)

    def persist_failed(self, ticket: int, ops: tuple[StoreOp, ...]) -> None:
        self._put(self._take_persist_failed, ticket, ops)

    def disk_ok(self) -> None:
        self._put(self._take_disk_ok)

    def _put(self, take: Callable[..., None], *args: object) -> None:
        if self.alive and len(self._inbox) < PAUSED_INBOX_MAX:
            self._inbox.append((take, args))
            self._stir()

    def _stir(self) -> None:
        if not self._woken and not self.paused:
            self._woken = True
            delay_us = 20 + int(self._draw.random() * 200) + self.lag_us
            self._scheduler.after(delay_us, self._work)

    def _work(self) -> None:
        """One turn of the event loop: all that has come, at once."""
        self._woken = False
        if not self.alive or self.paused:
            return
        inbox, self._inbox = self._inbox, []
        requests, self._requests = self._requests, []
        runner = self.runner
        now_ms = self.now_ms()
        try:
            with runner.batch():
                for take, args in inbox:
                    take(*args)
                if self._tick_at_ms is not None and now_ms >= self._tick_at_ms:
                    self._tick_at_ms = None
                    runner.tick(now_ms)
                if requests:
                    self._take_requests(requests)
                if self._host_due:
                    self._host_due = False
                    self.host.tick(self.wall_ms())
            self.host.settled()
        except Violation:
            raise
        except Exception as error:
            raise broken(self.boot, error) from error
        self._wake_host()

    def _take_stop(self, restart_ms: int) -> None:
        if self.leaving is None and self._may_stop():
            self.runner.stand_down(self.now_ms())
            self.leaving = Leaving(self, restart_ms)

    def _take_let_go(self) -> None:
        if self._may_stop():
            self.runner.leave(self.now_ms())

    def _may_stop(self) -> bool:
        """Without durability, not in the middle of a start: its seal would not hold the
        count of the start that is on its way to the record."""
        durable = self.world.settings.durability == "disk"
        return durable or self.core.statistics().open

    def _take_message(self, source: str, message: Message) -> None:
        if self.leaving is None:
            self.runner.received(source, message, self.now_ms())

    def _take_fold(self, match: str) -> None:
        try:
            self.runner.fold(match, self.now_ms())
        except ProposalRefused as error:
            self.world.trace.counts[f"fold_{error.code}"] += 1

    def gone(self, shard: int) -> None:
        """A pinned shard is no more."""
        self.table.pop(shard, None)

    def _take_pin(self, match: str) -> None:
        try:
            self.runner.pin(match, self.now_ms())
        except ProposalRefused as error:
            self.world.trace.counts[f"pin_{error.code}"] += 1

    def _take_link(self, tell: Callable[[str, int], None], node: str) -> None:
        tell(node, self.now_ms())

    def _take_answer(self, number: int, outcome: CasOutcome) -> None:
        self.runner.answered(number, outcome, self.now_ms())

    def _take_changes(self, changes: tuple[Change, ...]) -> None:
        if self.directory.changed(changes):
            self._tell_registered()
        self.runner.changed(changes, self.now_ms())

    def _take_listing(self, listing: Listing | None, asked_at: int) -> None:
        self._listing = False
        if listing is None:
            self._scheduler.after(RELIST_MS * MS, self.list_again)
            return
        if self.directory.listing(listing):
            self._tell_registered()
        self._tell_unfit()
        self.runner.listing(listing, asked_at, self.now_ms())
        if self.watched is None:
            self.watched = listing.revision
            self.world.coordinator.listen(self)

    def _tell_registered(self) -> None:
        self.runner.registered(self.directory.fleet, self.now_ms())
        self._tell_unfit()

    def _tell_unfit(self) -> None:
        """Which nodes lack a game of a shard that is here."""
        records = self.directory.records
        games = {node: frozenset(record.games) for node, record in records.items()}
        self.runner.unfit(unfit_nodes(self.host.games(), games), self.now_ms())

    def _take_persisted(self, ticket: int, ops: tuple[StoreOp, ...]) -> None:
        self.host.written(ops)
        if ticket:
            self.runner.persisted(ticket, self.now_ms())

    def _take_persist_failed(self, ticket: int, ops: tuple[StoreOp, ...]) -> None:
        self.host.failed(ops)
        if ticket:
            self.runner.persist_failed(ticket, self.now_ms())

    def _take_disk_ok(self) -> None:
        for ticket, ops in self.disk.mended():
            self._take_persist_failed(ticket, ops)
        self.runner.disk_ok(self.now_ms())

    def _take_requests(self, requests: list[tuple[Route, Request]]) -> None:
        """As the switchboard: what is for a shard of another owner goes there."""
        kept: list[tuple[Route, Request]] = []
        for route, request in requests:
            shard = self.shard_of(request)
            row = self.table.get(shard)
            if shard in self.serves or (row is not None and row.owner == self.node):
                kept.append((route, request))
            else:
                epoch, owner = (row.epoch, row.owner) if row is not None else (0, "")
                moved = Moved(request.request, shard, epoch, owner)
                self.world.network.answer(self.node, route.peer, moved)
        if kept:
            self.host.handle_batch(kept)

    def shard_of(self, request: Request) -> int:
        """The shard that a request is about."""
        match = getattr(request, "match", "")
        if not isinstance(match, str):
            match = match_id("local", getattr(request, "key", ""))
        return self.core.pins.shard_of(match)

    # What goes (`ReplicaIo` and `Outlet`).

    def persist(self, ticket: int, ops: tuple[StoreOp, ...]) -> None:
        self.disk.write(self, ticket, ops)

    def send(self, node: str, message: Message) -> None:
        self.world.network.send(self.node, node, message)

    def cas(self, request: CasRequest) -> None:
        self.world.coordinator.cas(self, request.id, request.writes)

    def alarm(self, alarm: Alarm) -> None:
        self.world.trace.counts[f"alarm_{alarm.code}"] += 1
        self.world.trace.note(f"{self.boot} ALARM {alarm.code} {alarm.message}")

    def table_changed(self, rows: tuple[ShardEntry, ...]) -> None:
        for row in rows:
            self.table[row.shard] = row

    def list_again(self) -> None:
        if self.alive and not self._listing:
            self._listing = True
            self.world.coordinator.list(self, self.core.revision)

    def wake_at(self, at_ms: int | None) -> None:
        if at_ms is None or self._tick_at_ms == at_ms:
            return
        self._tick_at_ms = at_ms
        self._scheduler.at(self._at_us(at_ms), self._tick_due, at_ms)

    def _tick_due(self, at_ms: int) -> None:
        if self._tick_at_ms == at_ms and self.alive:
            self._stir()

    def _wake_host(self) -> None:
        due_ms = self.host.next_due_ms()
        if due_ms is not None:
            at_us = self._scheduler.now_us + max(due_ms - self.wall_ms(), 1) * MS
            if not self._scheduler.now_us < self._host_tick_us <= at_us:
                self._host_tick_us = at_us
                self._scheduler.at(at_us, self._tick_host, at_us)

    def _tick_host(self, at_us: int) -> None:
        if self.alive and at_us == self._host_tick_us:
            self._host_due = True
            self._stir()

    def deliver(self, route: Route, frame: Response) -> None:
        """An answer or a view leaves."""
        self.world.checks.left(self, route, frame)
        self.world.network.answer(self.node, route.peer, frame)

    # Its own rhythm.

    def _turn(self) -> None:
        """Stay registered, list now and then, and let matches rest."""
        if not self.alive:
            return
        self._host_due = True
        self._stir()
        if not self.paused:
            self.list_again()
            if self.session is None and self.world.coordinator.reaches(self):
                self._register()
        jitter_us = self._draw.randint(0, 200) * MS
        self._scheduler.after(REREAD_MS * MS // 2 + jitter_us, self._turn)

    def _register(self) -> None:
        """Its `node/` key, under a new lease."""
        coordinator = self.world.coordinator
        store, key = coordinator.store, self.world.keys.node(self.node)
        held = [entry for entry in store.list(key).entries if entry.key == key]
        games = self.world.games_of(self.node)
        record = NodeRecord(
            node=self.node, boot=self.boot, inbox=f"sim://{self.node}", games=games
        )
        session = store.open_session()
        expected = held[0].revision if held else ABSENT
        write = Write(key, expected, encode_record(record), session)
        if isinstance(store.apply([write]), CasOk):
            self.session = session
            self.renewed_us = self._scheduler.now_us
            coordinator.renew(self)

    def _checkpoint_later(self) -> None:
        pause_ms = self.world.settings.checkpoint_ms
        delay_us = self._draw.randint(pause_ms // 2, pause_ms) * MS
        self._scheduler.after(delay_us, self._checkpoint)

    def _checkpoint(self) -> None:
        if not self.alive:
            return
        if not self.paused:
            ops = self.host.checkpoint(self.wall_ms())
            if ops:
                self.disk.write(self, 0, ops)
        self._checkpoint_later()


class Tapped:
    """The host, with the checkers' ear at what the core tells it."""

    def __init__(self, process: Process, host: Host) -> None:
        self._process = process
        self._checks = process.world.checks
        self.feed = host.feed
        self.state = host.state
        self.copied = host.copied
        self.pin_asked = host.pin_asked
        self.carry = host.carry
        self.fixed = host.fixed
        self.take_leaving = host.take_leaving
        self._host = host

    def demoted(self, demoted: Demoted) -> None:
        self._process.serves.pop(demoted.shard, None)
        self._process.world.trace.note(
            f"{self._process.boot} demoted: shard {demoted.shard} epoch {demoted.epoch}"
        )
        self._host.demoted(demoted)

    def install(self, install: Install) -> tuple[StoreOp, ...]:
        self._checks.installed(self._process, install.shard)
        self._process.world.trace.counts["install_pages"] += 1
        return self._host.install(install)

    def judge(self, install: Install) -> Judged:
        judged = self._host.judge(install)
        if judged.differing:
            raise broken(self._process.boot, AssertionError(f"sent anew: {judged}"))
        return judged

    def split(self, split: Split) -> tuple[StoreOp, ...]:
        self._process.world.trace.counts["splits"] += 1
        self._process.world.trace.note(f"{self._process.boot} {split}")
        return self._host.split(split)

    def come(self, come: Come) -> None:
        self._process.world.trace.counts["came_home"] += 1
        self._process.world.trace.note(f"{self._process.boot} {come}")
        self._host.come(come)

    def gone(self, shard: int) -> None:
        self._process.world.trace.note(f"{self._process.boot} shard {shard} is gone")
        self._process.gone(shard)
        self._host.gone(shard)

    def committed(self, committed: Committed) -> None:
        self._checks.committed(self._process, committed)
        self._host.committed(committed)

    def serving(self, serving: Serving) -> None:
        self._process.serves[serving.shard] = serving.epoch
        self._checks.serving(self._process, serving)
        self._host.serving(serving)

    def confirmed(self, confirmed: Confirmed) -> None:
        self._host.confirmed(confirmed)
