"""The supervisor: all matches of one node.

It puts what one drain of the inbox brought into mailboxes first, then wakes each
touched actor once. It makes actors when something comes for their matches, lets them
rest when nothing does, and answers at once what needs no actor. An exception out of
one actor costs that match alone: it is quarantined and logged, the others live on.

Where committed matches are kept (`MatchSource`) an actor can be put away, and made
again from its committed state; without that, a match lives in its actor alone.

It knows shards and epochs only by what it is told (`adopt`, `release`), and neither
links nor the coordinator.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from secrets import token_bytes
from types import TracebackType

import anyio
import structlog
from anyio.abc import TaskGroup

from ...runtime.actor import MatchActor
from ...runtime.actor_context import ActorContext, Asked, CreateAgain, MatchRequest
from ...runtime.budget import NO_GUARD, Guard
from ...runtime.clock import Clock, SystemClock
from ...runtime.command import (
    Answer,
    Attach,
    CreditOutage,
    Detach,
    FireDeadline,
    Intervention,
    NoteDelivered,
)
from ...runtime.committer import Committer, LocalCommitter
from ...runtime.control_plane import SHARDS_MAX
from ...runtime.deadline import DueDeadline
from ...runtime.errors import MailboxFull, MatchRunaway
from ...runtime.frame import (
    CreateMatch,
    Dispatch,
    FetchTable,
    Moved,
    Refused,
    Request,
    Sync,
    TakeBack,
    TakeSeat,
)
from ...runtime.games import GameRegistry, machine_finder
from ...runtime.journal import MatchLine
from ...runtime.lifecycle import ActorState, StopReason
from ...runtime.match_change import Change
from ...runtime.match_source import MatchSource
from ...runtime.match_state import MatchState
from ...runtime.options import SupervisorOptions
from ...runtime.pin_table import PinTable
from ...runtime.route import Outlet, Route
from ...runtime.traces import Traces
from ...runtime.translate import refused
from .absent import LOG_GONE, absence_code, creation_answer, is_behind
from .apart import Apart
from .committed_log import CommittedLog, log_of_actor, log_of_line
from .crew import Crew
from .ended_matches import Tombstone
from .incoming import Incoming
from .match_creation import Creation, MatchStarter, read_creation
from .match_timer import MatchTimer
from .outages import Outages
from .own_messages import OwnMessages
from .request_weight import MESSAGE_BYTES, NAMES_BYTES_MAX, weight_of
from .statistics import SupervisorStatistics
from .turns import Turns

__all__ = ["CommittedLog", "Outlet", "Route", "Supervisor", "SupervisorStatistics"]

_log = structlog.get_logger()

# The revision of a deadline that was armed from a match's line, which has none.
_ANY_REVISION = -1

# What could not be proposed is tried again after so long, if nothing else happens.
_AGAIN_MS = 100

_WRITES = (Dispatch, TakeBack, TakeSeat)


class Supervisor:
    """Hosts matches.

    Use it as an async context manager: it owns the actors' tasks, and its own timer.
    Or, without an async library: `handle_batch` works the actors before it returns,
    `tick(now_ms)` does what is due, `next_due_ms()` says when, `work()` lets those work
    that a committer woke, `close()` ends it.

    Invariant: at most `matches_max` matches have an actor.
    """

    def __init__(
        self,
        games: GameRegistry,
        outlet: Outlet,
        options: SupervisorOptions | None = None,
        clock: Clock | None = None,
        random_bytes: Callable[[int], bytes] = token_bytes,
        *,
        shards: int,
        committer: Committer | None = None,
        guard: Guard = NO_GUARD,
        source: MatchSource | None = None,
        pins: PinTable | None = None,
        traces: Traces | None = None,
    ) -> None:
        """`pins` says where pinned matches are; the caller keeps it up to date."""
        self._outlet = outlet
        self._options = options or SupervisorOptions()
        self._clock = clock or SystemClock()
        self._pins = PinTable(shards) if pins is None else pins
        self._source = source
        self._committer = committer or LocalCommitter()
        self._timer = MatchTimer(self._clock, self._fire, self._sweep)
        self._turns = Turns(self._failed, self._worked, self._committer.flush)
        self._closed = False
        self._context = ActorContext(
            outlet=outlet,
            committer=self._committer,
            alarm=self._timer,
            clock=self._clock,
            draw_token=lambda: random_bytes(16).hex(),
            options=self._options.match,
            guard=guard,
            on_wake=self._turns.wake,
            on_worked=self._turns.hand_on_soon,
            on_failure=self._failed,
            find_machine=machine_finder(games),
            source=source,
            histories=self._pins.histories,
            traces=traces,
        )
        self._counts: defaultdict[str, int] = defaultdict(int)
        now_ms = self._clock.now_ms()
        self._crew = Crew(
            self._context, self._turns, self._options, now_ms, self._counts
        )
        self._starter = MatchStarter(
            games, self._options.match, self._clock, random_bytes, guard
        )
        self._own = OwnMessages(
            self._find, self.absence, self._committer.problem, self._use
        )
        self._epochs: dict[int, int] = {}
        self._outages = Outages(games)
        self._apart = Apart(self._crew, source, self._outages, self._rouse)
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Supervisor:
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._turns.open(self._tasks)
        self._tasks.start_soon(self._timer.run, name="match timer")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        assert self._tasks is not None
        tasks, self._tasks = self._tasks, None
        self._turns.close()
        self.close()
        tasks.cancel_scope.cancel()
        return await tasks.__aexit__(kind, error, traceback)

    def close(self) -> None:
        """Stop all actors; what comes now is answered `stopping`."""
        self._closed = True
        for actor in self._crew:
            actor.stop(StopReason.STOPPING, "stopping")

    def tick(self, now_ms: int) -> None:
        """Do what is due by the wall clock; the timer's task calls it otherwise."""
        self._timer.tick(now_ms)
        self._turns.work()

    def next_due_ms(self) -> int | None:
        """When `tick` has something to do at the latest; None: when you like."""
        due_ms = self._timer.next_due_ms()
        if len(self._outages) or self._committer.waiting:
            soon_ms = self._clock.now_ms() + _AGAIN_MS
            return soon_ms if due_ms is None else min(due_ms, soon_ms)
        return due_ms

    def work(self) -> None:
        """Let those actors work that were woken and have no task."""
        self._turns.work()

    def handle_batch(self, requests: Iterable[tuple[Route, Request]]) -> None:
        """Take what one drain brought; never waits, never raises."""
        touched: dict[str, MatchActor] = {}
        for route, request in requests:
            self._counts["messages"] += 1
            try:
                actor = self._take(route, request)
            except Exception:
                _log.exception("request_failed", request=type(request).__name__)
                self._refuse(route, request.request, "internal_error")
                continue
            if actor is not None:
                touched[actor.match] = actor
        for actor in touched.values():
            self._turns.wake(actor)
        self._turns.work()

    def adopt(
        self, shard: int, epoch: int, outage_ms: int = 0, ahead_ms: int = 0
    ) -> None:
        """Serve the shard from now on. Matches that are here already stay, deadlines
        are armed. `outage_ms`: nobody could act in it for so long before; it is
        credited where the game says so. `ahead_ms`: by so much the shard's time is
        ahead of this node's clock."""
        self._epochs[shard] = epoch
        self._crew.times.begin(shard, ahead_ms)
        if self._source is None:
            return
        for line in filter(self._arm_stored, self._source.lines(shard)):
            self._outages.owe(line, outage_ms)
        self._credit_some()

    def _arm_stored(self, line: MatchLine) -> bool:
        """Whether it has a deadline that counts in its shard."""
        at_ms, ahead_ms = line.armed_in(line.shard), self._crew.times.ahead_ms
        if at_ms is not None and self._crew.get(line.match) is None:
            self._timer.arm(line.match, _ANY_REVISION, at_ms - ahead_ms(line.shard))
        return at_ms is not None

    def release(self, shard: int) -> None:
        """Serve the shard no longer: its actors are stopped."""
        self._epochs.pop(shard, None)
        self._crew.release(shard)
        if self._source is not None:
            for line in self._source.lines(shard):
                self._timer.disarm(line.match)
                self._outages.forget(line.match)

    def peer_gone(self, peer: str) -> None:
        """Send nothing more to that process, nor to clients behind it."""
        self._crew.peer_gone(peer)

    def client_gone(self, peer: str, client: str) -> None:
        """Send nothing more to that client, which was reached through `peer`."""
        self._crew.client_gone(peer, client)

    def note_delivered(self, match: str, index: int) -> bool:
        """The result that record `index` brought reached its sinks: log it.

        False: not now, or not here.
        """
        return self._own.put(match, NoteDelivered(index))

    def detach(self, match: str, *, again: bool = False) -> None:
        """Log that the match leaves its home; `again`: that it stays in its shard."""
        self._own.put(match, Detach(SHARDS_MAX, again))

    def attach(self, match: str) -> None:
        """Log that the match stays at home, after all; or goes there from its shard."""
        self._own.put(match, Attach())

    async def command(self, match: str, asked: Intervention) -> Answer:
        """Do what an operator asks: `Applied` or `Denied`, once that is sure.

        The same id again is answered as before; `retry` says that it is not known
        whether it was done. It may wait as long as nothing can be committed.
        """
        return await self._own.command(match, asked)

    def ask(
        self, match: str, asked: Intervention, tell: Callable[[Answer], None]
    ) -> None:
        """As `command`, without an async library: `tell` hears the answer."""
        self._own.ask(match, asked, tell)

    def arrived(self, line: MatchLine) -> None:
        """A match has come home: its deadline is armed, if it is served here."""
        if line.shard in self._epochs:
            self._arm_stored(line)

    def forsake(self, match: str) -> None:
        """The match is in another shard."""
        self._crew.forsake(match)

    def set_apart(self, match: str, code: str) -> None:
        """Quarantine a match, if it is here: with an actor, or only its state."""
        self._apart.set_apart(match, code)

    def bring_back(self, match: str, apart_ms: int = 0) -> str:
        """Let one that is set apart go on: "", or the code that it still has."""
        return self._apart.bring_back(match, apart_ms)

    def take_in(self, begin: Change | MatchState, code: str) -> Incoming | str:
        """A match of a shard that is served here, set apart with `code` while its log
        comes: from its creation on, or from a state that is here. Else why not."""
        match = begin.state.match if isinstance(begin, Change) else begin.match
        shard = self._pins.shard_of(match)
        if shard not in self._epochs or self._closed:
            return "stopping" if self._closed else "moved"
        if not (self._apart.give_up(match) and self._crew.make_room()):
            return "busy"
        actor = self._crew.take_in(begin, shard, code)
        return Incoming(actor, self._source, self._turns.hand_on_soon)

    def actor(self, match: str) -> MatchActor | None:
        """The actor of a match that is here, for whoever inspects it."""
        return self._crew.get(match)

    def absence(self, match: str) -> str:
        """Why no match of that id can be asked here, as a code."""
        epoch = self._epochs.get(self._pins.shard_of(match))
        if epoch is None:
            return "moved"
        known = self._known(match)
        return absence_code(known, epoch if known is None else known.epoch, epoch)

    def committed_log(self, match: str) -> CommittedLog | None:
        """The committed log of a match that is served here; it does not notice."""
        actor = self._crew.get(match)
        if actor is not None:
            return log_of_actor(actor)
        source, known = self._source, self._known(match)
        served = self._pins.shard_of(match) in self._epochs
        if source is None or not served or not isinstance(known, MatchLine):
            return None
        return log_of_line(source, known)

    def marks(
        self, match: str, first: int, last: int, bytes_max: int
    ) -> tuple[tuple[int, bytes], ...]:
        """What the match was after some of these records: shortcuts for readers."""
        if self._source is None:
            return ()
        return self._source.marks(match, first, last, bytes_max)

    def statistics(self) -> SupervisorStatistics:
        """What is here, and what has been."""
        states = [actor.status for actor in self._crew]
        deadlines, counts = self._timer.statistics(), self._counts
        return SupervisorStatistics(
            shards=len(self._epochs),
            running=states.count(ActorState.RUNNING),
            resident=states.count(ActorState.RESIDENT),
            quarantined=states.count(ActorState.QUARANTINED),
            tombstones=self._crew.tombstones,
            deadlines=deadlines.armed,
            watchers=self._crew.watchers,
            outages_owed=len(self._outages),
            created=counts["created"],
            activated=counts["activated"],
            put_away=counts["put_away"],
            ended=counts["ended"],
            failed=counts["failed"],
            dropped=counts["dropped"],
            messages=counts["messages"],
            busy=counts["busy"],
            deadlines_fired=deadlines.fired,
            outages_credited=counts["outages_credited"],
        )

    def _take(self, route: Route, request: Request) -> MatchActor | None:
        """Put a request into its match's mailbox, or answer it."""
        if isinstance(request, CreateMatch):
            return self._on_create(route, request)
        if isinstance(request, FetchTable):
            self._refuse(route, request.request, "malformed_request")
            return None
        size = weight_of(request)
        if size > self._options.match.payload_bytes_max + NAMES_BYTES_MAX:
            # Before the mailbox: there it would be `busy`, for ever.
            self._refuse(route, request.request, "too_large")
            return None
        if self._closed:
            self._refuse(route, request.request, "stopping")
            return None
        try:
            actor = self._find(request.match, request.epoch)
        except MailboxFull as error:
            self._counts["busy"] += 1
            self._refuse(route, request.request, error.code)
            return None
        if actor is None:
            self._answer_absent(route, request)
            return None
        if isinstance(request, Sync):
            self._crew.watch(route.peer, route.client, request.match)
        return self._put(actor, route, request, size)

    def _find(self, match: str, epoch: int | None = None) -> MatchActor | None:
        """The match's actor, made if need be; None if it can have none.

        Raises:
            MailboxFull: There are too many actors.
        """
        shard = self._pins.shard_of(match)
        actor = self._crew.get_at(match, shard)
        if actor is not None:
            return actor if epoch in (None, actor.epoch) else None
        if self._source is None or self._closed or shard not in self._epochs:
            return None
        found = self._source.get(match)
        if not isinstance(found, MatchState) or epoch not in (None, found.epoch):
            return None
        line = self._source.line(match)
        if line is None or line.shard != shard:
            return None  # it is about to come there
        if not self._crew.make_room():
            raise MailboxFull("there are as many actors as there may be")
        actor = self._crew.bring(found, shard)
        self._counts["activated"] += 1
        self._credit(actor)
        return actor

    def _known(self, match: str) -> MatchLine | Tombstone | None:
        """What is known of a match beside its actor."""
        if self._source is not None:
            return self._source.line(match)
        return self._crew.tombstone(match)

    def _put(
        self, actor: MatchActor, route: Route, asked: Asked, size: int
    ) -> MatchActor | None:
        code = ""
        if actor.status is ActorState.QUARANTINED:
            code = actor.quarantine_code
        elif actor.status is ActorState.STOPPED:
            code = "retry"
        elif isinstance(asked, _WRITES):
            code = self._committer.problem(actor.match)
        try:
            if not code:
                actor.mailbox.put_nowait((route, asked), MESSAGE_BYTES + size)
        except MailboxFull as error:
            code = error.code
        if code:
            self._counts["busy"] += code == MailboxFull.code
            self._refuse(route, asked.request, code)
            return None
        self._crew.use(actor, rouse=isinstance(asked, _WRITES))
        return actor

    def _answer_absent(self, route: Route, request: MatchRequest) -> None:
        """Say why no match of that id and epoch is here."""
        shard = self._pins.shard_of(request.match)
        known, epoch = self._known(request.match), self._epochs.get(shard)
        if epoch is None or is_behind(known, request.epoch, epoch):
            # Not ours, or we are the ones who are behind.
            moved = Moved(request.request, shard, epoch or 0, "")
            self._outlet.deliver(route, moved)
            return
        code = absence_code(known, request.epoch, epoch)
        text = LOG_GONE if code == "game_over" else ""
        # Another node may have the shard by now, and the match.
        self._committer.confirm(
            request.match,
            partial(self._outlet.deliver, route, refused(request.request, code, text)),
            partial(self._refuse, route, request.request, "retry"),
        )

    def _on_create(self, route: Route, frame: CreateMatch) -> MatchActor | None:
        creation = read_creation(
            frame, route.principal, self._options.match_input_bytes_max
        )
        if isinstance(creation, Refused):
            self._outlet.deliver(route, creation)
            return None
        shard = self._pins.shard_of(creation.match)
        epoch = self._epochs.get(shard)
        if epoch is None:
            self._outlet.deliver(route, Moved(frame.request, shard, 0, ""))
            return None
        actor = self._crew.get(creation.match)
        if actor is None:
            actor = self._start(route, frame, creation, shard, epoch)
        if actor is None:
            return None
        again = CreateAgain(frame.request, creation.content)
        return self._put(actor, route, again, 0)

    def _start(
        self,
        route: Route,
        frame: CreateMatch,
        creation: Creation,
        shard: int,
        epoch: int,
    ) -> MatchActor | None:
        """Start a match, unless its key was used before or there is no room."""
        known = self._known(creation.match)
        if known is not None:
            self._outlet.deliver(
                route,
                creation_answer(frame.request, creation.match, creation.content, known),
            )
            return None
        problem = (
            "stopping" if self._closed else self._committer.problem(creation.match)
        )
        if problem:
            self._refuse(route, frame.request, problem)
            return None
        if not self._crew.make_room():
            self._refuse(route, frame.request, "node_full")
            return None
        clock = self._crew.times.context(shard).clock
        change = self._starter.start(frame, creation, epoch, clock.now_ms())
        if isinstance(change, Refused):
            self._outlet.deliver(route, change)
            return None
        self._counts["created"] += 1
        return self._crew.start(change, shard)

    def _failed(self, actor: MatchActor, error: BaseException) -> None:
        """Set the match apart: our own code failed, or its game runs away."""
        self._counts["failed"] += 1
        runaway = isinstance(error, MatchRunaway)
        code = MatchRunaway.code if runaway else "internal_error"
        _log.error(
            "match_quarantined", match=actor.match, code=code, exc_info=not runaway
        )
        reason = StopReason.RUNAWAY if runaway else StopReason.FAILED
        try:
            self._crew.set_apart(actor, reason, code)
            if self._source is not None:
                self._source.quarantine(actor.match, code)
        except Exception:
            # Nobody can be told any more; the other matches must not notice.
            _log.exception("quarantine_failed", match=actor.match)

    def _use(self, actor: MatchActor) -> None:
        self._crew.use(actor, rouse=False)
        self._turns.wake(actor)

    def _worked(self, actor: MatchActor) -> None:
        self._crew.worked(actor)

    def _fire(self, due: DueDeadline) -> bool:
        if self._source is not None and self._closed:
            return True
        try:
            actor = self._find(due.match)
            if actor is None or actor.status is ActorState.QUARANTINED:
                return True
            committed, revision = actor.ledger.committed, due.revision
            if revision == _ANY_REVISION and committed is not None:
                revision = committed.revision
            ahead_ms = self._crew.times.ahead_ms(self._pins.shard_of(due.match))
            actor.mailbox.put_own(FireDeadline(revision, due.at_ms + ahead_ms))
        except MailboxFull:
            return False
        self._crew.use(actor, rouse=True)
        self._turns.wake(actor)
        return True

    def _rouse(self, match: str) -> None:
        """Let the match's actor look at its deadline, if it is served here."""
        try:
            actor = self._find(match)
        except MailboxFull:
            return  # whoever asks for the match is told so
        if actor is not None:
            self._turns.wake(actor)

    def _credit_some(self) -> None:
        """Credit outages to matches that nobody has asked for yet, some at a time."""
        for match in self._outages.some():
            try:
                actor = self._find(match)
            except MailboxFull:
                return
            self._outages.forget(match)
            if actor is not None:
                self._turns.wake(actor)

    def _credit(self, actor: MatchActor) -> None:
        """Let the match's clock not run while nobody could act."""
        owed_ms = self._outages.take(actor.match)
        if owed_ms:
            self._counts["outages_credited"] += 1
            actor.mailbox.put_own(CreditOutage(owed_ms))

    def _sweep(self, now_ms: int) -> None:
        self._crew.sweep(now_ms)
        self._credit_some()

    def _refuse(self, route: Route, request: int, code: str) -> None:
        self._outlet.deliver(route, refused(request, code))
