"""The replicator: the shell around the replication core.

It carries out what the runner (`runtime/replica_runner.py`) asks: writes the journal,
sends on links, asks the coordinator, keeps the timer, writes alarms down. And it brings
in what comes: messages, links that come and go, what the disk and the coordinator
answered. It decides nothing. Everything that one drain of the inbox, one wake-up of the
matches, or one group of the journal brings is settled once.

A link that is lost is looked at: where its process refuses a connection, that process
is gone, and its followers need not wait for its silence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import anyio
from anyio.abc import TaskGroup

from ...runtime.clock import Clock, SystemClock
from ...runtime.control_plane import ClusterRecord
from ...runtime.coordinator import CasUnknown, Change, Coordinator, Listing
from ...runtime.errors import CodecError, CoordinatorError, LinkError, NotServing
from ...runtime.fitness import Games, unfit_nodes
from ...runtime.fleet import Fleet
from ...runtime.frame import ShardEntry
from ...runtime.journal import (
    Buried,
    Checkpointed,
    Forgotten,
    Journal,
    SavedHistory,
    SavedState,
    StoreOp,
)
from ...runtime.link import Endpoint, LinkDownReason
from ...runtime.replication.message import Message, Raw
from ...runtime.replication.output import Alarm, CasRequest
from ..journal.node_journal import seal
from ..journal.writer import JournalWriter, JournalWriterStatistics, Put
from ..telemetry import get_logger
from .refused_check import is_refused

if TYPE_CHECKING:
    from ...runtime.replica_runner import ReplicaRunner

__all__ = ["Replicator", "ReplicatorStatistics", "States"]

CHECKPOINT_S = 1.0
"""Between two checkpoints: what is played meanwhile is played again at a start."""

CHECKPOINT_BYTES_MAX = 1024 * 1024
"""Packed states in one checkpoint: bounds how long a group of the journal takes."""

CROWD_S = 0.5
"""After a node has died: players of its matches all ask at once then, and what they do
is not to stand behind a checkpoint."""

LOOK_PAUSES_S = (0.0, 0.005, *(0.01,) * 15, 0.02, 0.04, 0.08, 0.16, 0.16)
"""Before each attempt to connect to a node whose link was lost: a process of some
hundred megabytes takes 20 to 100 ms to die, and players wait for its end. After the
last attempt its silence says as much."""

LINGER_S = 0.05
"""Between the last word and the end: a link that is closed drops what it holds."""

SWEEP_S = 1.0
"""Between two looks for matches to put away."""

STATE_OPS = (SavedState, SavedHistory, Checkpointed, Buried, Forgotten)

log = get_logger()


class States(Protocol):
    """What the shell asks of this node's copies, beside what the runner tells them."""

    def checkpoint(
        self, now_ms: int, bytes_max: int, *, everything: bool = False
    ) -> tuple[StoreOp, ...]: ...

    def written(self, ops: Sequence[StoreOp]) -> None: ...

    def failed(self, ops: Sequence[StoreOp]) -> None: ...

    def sweep(self, now_ms: int) -> None: ...

    def games(self) -> Mapping[int, Games]: ...

    def take_alarms(self) -> Iterable[Alarm]: ...

    def take_wanted(self) -> Iterable[tuple[int, str]]: ...


@dataclass(frozen=True, slots=True)
class ReplicatorStatistics:
    """Since the start. `sends_dropped`: the link was down or full, or refused them."""

    GAUGES: ClassVar[frozenset[str]] = frozenset()

    sends: int
    sends_dropped: int
    refusals_seen: int
    alarms: int
    journal: JournalWriterStatistics


class Replicator:
    """Implements `ReplicaIo`. `run` is its task; `begin` comes before any input."""

    def __init__(
        self,
        coordinator: Coordinator,
        endpoint: Endpoint,
        journal: Journal,
        states: States,
        build: Callable[[ClusterRecord, Replicator], ReplicaRunner],
        clock: Clock | None = None,
        node_gone: Callable[[str], None] = lambda node: None,
    ) -> None:
        """`build` makes the core and its runner once the cluster's record is known;
        `node_gone` hears of each node whose process has ended."""
        self._coordinator = coordinator
        self._endpoint = endpoint
        self._states = states
        self._build = build
        self._clock = clock or SystemClock()
        self._node_gone = node_gone
        self._writer = JournalWriter(
            journal, done=self._durable, failed=self._not_durable, mended=self._mended
        )
        self._runner: ReplicaRunner | None = None
        self._tasks: TaskGroup | None = None
        self._rows_changed: Callable[[Sequence[ShardEntry]], None] = lambda rows: None
        self._list_wanted: Callable[[], None] = lambda: None
        self._inboxes: dict[str, str] = {}  # of the nodes whose links are up
        self._on_disk = True
        self._games: Mapping[str, Games] = {}  # by registered node
        self._unfit: dict[int, frozenset[str]] = {}
        self._leaving = False
        self._crowd_until_s = -math.inf
        self._due_ms = self._asleep_until_ms = math.inf
        self._timer = anyio.Event()
        self._sends = self._sends_dropped = self._refusals = self._alarms = 0

    @property
    def runner(self) -> ReplicaRunner | None:
        """None before `begin`."""
        return self._runner

    def begin(
        self,
        cluster: ClusterRecord,
        *,
        rows_changed: Callable[[Sequence[ShardEntry]], None],
        list_wanted: Callable[[], None],
    ) -> None:
        """The cluster's record is known: from now on inputs may come."""
        self._rows_changed = rows_changed
        self._list_wanted = list_wanted
        self._on_disk = cluster.durability == "disk"
        self._runner = self._build(cluster, self)

    async def run(self) -> None:
        """Write, tick and store until cancelled."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            tasks.start_soon(self._writer.run)
            tasks.start_soon(self._keep_time)
            tasks.start_soon(self._checkpoint)
            tasks.start_soon(self._sweep)

    def outstanding(self) -> int | None:
        """Shards meant for this node that it does not serve, or follow in sync, yet.

        None: it is not known yet.
        """
        return None if self._runner is None else self._runner.core.outstanding()

    def let_go(self) -> None:
        """Ask to be let out of the in-sync sets that others own."""
        if self._runner is not None:
            self._runner.leave(self.now_ms())

    def stand_down(self) -> None:
        """Serve nothing more, for good."""
        self._leaving = True
        if self._runner is not None:
            self._runner.stand_down(self.now_ms())

    async def leave(self) -> None:
        """Serve nothing more; return when all that was promised is on the disk, and
        what was said is on its way."""
        core = None if self._runner is None else self._runner.core
        self.stand_down()
        await self._writer.rest()
        if core is not None and core.ident and not self._on_disk:
            await self._seal(core.ident, core.boot)
        await anyio.sleep(LINGER_S)

    async def _seal(self, ident: str, boot: int) -> None:
        """Without durability: let what the disk holds be whole, and say so."""
        clock_ms = self._clock.now_ms()
        while ops := self._states.checkpoint(
            clock_ms, CHECKPOINT_BYTES_MAX, everything=True
        ):
            if not await self._writer.write(ops):
                return
        await self._writer.write((seal(ident, boot),))

    def statistics(self) -> ReplicatorStatistics:
        return ReplicatorStatistics(
            sends=self._sends,
            sends_dropped=self._sends_dropped,
            refusals_seen=self._refusals,
            alarms=self._alarms,
            journal=self._writer.statistics(),
        )

    # What comes from the coordinator; the keeper brings it.

    @property
    def revision(self) -> int:
        """The coordinator's newest revision that was seen."""
        return 0 if self._runner is None else self._runner.core.revision

    def listing(self, listing: Listing, asked_at: int) -> None:
        """Everything under the cluster's prefix, as read."""
        if self._runner is not None:
            self._runner.listing(listing, asked_at, self.now_ms())

    def changed(self, changes: Sequence[Change]) -> None:
        """One transaction, as a watch told of it."""
        if self._runner is not None:
            self._runner.changed(changes, self.now_ms())

    def registered(self, fleet: Fleet) -> None:
        """The nodes that are registered now, and what is known of them."""
        self._games = fleet.games
        if self._runner is not None:
            with self._runner.batch():
                self._runner.registered(fleet, self.now_ms())
                self._judge_fitness(self._runner)

    def _judge_fitness(self, runner: ReplicaRunner) -> None:
        """Tell which nodes lack a game version that a shard's matches need."""
        mine = frozenset(self._endpoint.identity.games)
        unfit: dict[int, frozenset[str]] = {}
        if not all(mine <= games for games in self._games.values()):
            unfit = unfit_nodes(self._states.games(), self._games)
        if unfit != self._unfit:
            self._unfit = unfit
            runner.unfit(unfit, self.now_ms())

    # What comes from links; the switchboard brings it.

    @contextmanager
    def batch(self) -> Iterator[None]:
        """What comes within is settled once, at the end."""
        if self._runner is None:
            yield
        else:
            with self._runner.batch():
                yield

    def received(self, node: str, message: Message) -> None:
        """A message came from a node."""
        if self._runner is not None and not self._leaving:
            self._runner.received(node, message, self.now_ms())

    def link_up(self, node: str, inbox: str) -> None:
        """A node has proved itself on a link."""
        self._inboxes[node] = inbox
        if self._runner is not None:
            self._runner.link_up(node, self.now_ms())

    def link_down(self, node: str, reason: LinkDownReason) -> None:
        """The link of a node ended."""
        inbox = self._inboxes.pop(node, None)
        if self._runner is None:
            return
        self._runner.link_down(node, self.now_ms())
        lost = reason is LinkDownReason.LOST
        if lost and inbox is not None and self._tasks is not None and not self._leaving:
            self._tasks.start_soon(self._look_at, node, inbox)

    async def _look_at(self, node: str, inbox: str) -> None:
        """A process that dies takes a moment: its inbox may be open a little longer
        than its links. So it is asked again, until a link of it is back."""
        for pause_s in LOOK_PAUSES_S:
            await anyio.sleep(pause_s)
            if node in self._inboxes or self._leaving or self._runner is None:
                return
            if await is_refused(inbox):
                self._refusals += 1
                self._crowd_until_s = self._clock.monotonic_s() + CROWD_S
                log.warning("node_gone", peer=node)
                self._runner.refused(node, self.now_ms())
                self._node_gone(node)
                return

    # What the matches want; see `ReplicaRunner`.

    def propose(
        self, shard: int, items: Sequence[tuple[str, int, Raw]], now_ms: int
    ) -> int:
        """Append records to a shard that is served here.

        Raises:
            ProposalRefused: It cannot be done now.
        """
        if self._runner is None:
            raise NotServing("this node is still starting")
        return self._runner.propose(shard, items, now_ms)

    def confirm(self, shard: int, now_ms: int) -> int:
        """Ask whether this node still owns the shard.

        Raises:
            NotServing: It does not serve it.
        """
        if self._runner is None:
            raise NotServing("this node is still starting")
        return self._runner.confirm(shard, now_ms)

    def now_ms(self) -> int:
        """The runner's clock, rounded up: a timer that has run out is due."""
        return math.ceil(self._clock.monotonic_s() * 1000)

    # What the runner asks: ReplicaIo.

    def persist(self, ticket: int, ops: tuple[StoreOp, ...]) -> None:
        """Write these behind what came before."""
        self._writer.put(ticket, ops)

    def send(self, node: str, message: Message) -> None:
        """Put it on the link, or drop and count it: replication asks again."""
        try:
            self._endpoint.send(node, message)
        except LinkError:
            self._sends_dropped += 1
        except CodecError as error:
            self._sends_dropped += 1
            kind = type(message).__name__
            log.error("replica_unsendable", peer=node, frame=kind, error=str(error))
        else:
            self._sends += 1

    def cas(self, request: CasRequest) -> None:
        """Ask the coordinator once, and tell what became of it."""
        assert self._tasks is not None, "the replicator does not run"
        self._tasks.start_soon(self._ask, request)

    async def _ask(self, request: CasRequest) -> None:
        try:
            outcome = await self._coordinator.cas_many(request.writes)
        except CoordinatorError as error:
            outcome = CasUnknown(str(error))
        assert self._runner is not None
        self._runner.answered(request.id, outcome, self.now_ms())

    def alarm(self, alarm: Alarm) -> None:
        """Write it down, with what is known of the shard."""
        self._alarms += 1
        bound = {} if alarm.shard < 0 else {"shard": alarm.shard}
        log.error("replica_alarm", code=alarm.code, error=alarm.message, **bound)

    def table_changed(self, rows: tuple[ShardEntry, ...]) -> None:
        """Rows of the shard table."""
        self._rows_changed(rows)

    def list_again(self) -> None:
        """A record has moved past what is known."""
        self._list_wanted()

    def wake_at(self, at_ms: int | None) -> None:
        """Tick then. Who sleeps longer is woken; who wakes too early looks again."""
        self._due_ms = math.inf if at_ms is None else at_ms
        if self._due_ms < self._asleep_until_ms:
            self._timer.set()

    async def _keep_time(self) -> None:
        while True:
            self._timer = anyio.Event()
            self._asleep_until_ms = self._due_ms
            with anyio.move_on_after((self._due_ms - self.now_ms()) / 1000):
                await self._timer.wait()
            self._asleep_until_ms = -math.inf
            if self.now_ms() >= self._due_ms and self._runner is not None:
                self._due_ms = math.inf  # unless the runner says otherwise
                self._runner.tick(self.now_ms())

    # What became of the journal's groups.

    def _durable(self, puts: Sequence[Put]) -> None:
        """The states' operations first: an acknowledgement may depend on them."""
        with self.batch():
            self._tell_states(puts, self._states.written)
            for put in puts:
                if put.ticket and self._runner is not None:
                    self._runner.persisted(put.ticket, self.now_ms())

    def _not_durable(self, puts: Sequence[Put]) -> None:
        with self.batch():
            self._tell_states(puts, self._states.failed)
            for put in puts:
                if put.ticket and self._runner is not None:
                    self._runner.persist_failed(put.ticket, self.now_ms())

    def _mended(self) -> None:
        if self._runner is not None:
            self._runner.disk_ok(self.now_ms())

    @staticmethod
    def _tell_states(
        puts: Sequence[Put], tell: Callable[[Sequence[StoreOp]], None]
    ) -> None:
        ops = [op for put in puts for op in put.ops if isinstance(op, STATE_OPS)]
        if ops:
            tell(ops)

    # The states' own times are the wall clock's.

    async def _checkpoint(self) -> None:
        """Store a part of what has changed, again and again: recovery stays short."""
        while True:
            await anyio.sleep(CHECKPOINT_S)
            await self._until_quiet()
            clock_ms = self._clock.now_ms()
            while ops := self._states.checkpoint(clock_ms, CHECKPOINT_BYTES_MAX):
                if not await self._writer.write(ops):
                    break  # they are given out again, after a pause
                await self._until_quiet()

    async def _until_quiet(self) -> None:
        """Let the players of a dead node's matches go first."""
        while True:
            left_s = self._crowd_until_s - self._clock.monotonic_s()
            if left_s <= 0:
                return
            await anyio.sleep(left_s)

    async def _sweep(self) -> None:
        while True:
            await anyio.sleep(SWEEP_S)
            with self.batch():
                self._states.sweep(self._clock.now_ms())
                for alarm in self._states.take_alarms():
                    self.alarm(alarm)
                if self._runner is not None:
                    for shard, match in self._states.take_wanted():
                        self._runner.ask_state(shard, match, self.now_ms())
                    self._judge_fitness(self._runner)
