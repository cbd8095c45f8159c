"""The supervisor: all matches of one node.

It puts what one drain of the inbox brought into mailboxes first, then wakes each
touched actor once. It starts actors, watches them, keeps what ended for a while, and
answers at once what needs no actor. An exception out of one actor costs that match
alone: it is quarantined and logged, the others live on.

It knows shards and epochs only by what it is told (`adopt`, `release`), and neither
links nor the coordinator.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from secrets import token_bytes
from types import TracebackType

import anyio
import structlog
from anyio.abc import TaskGroup

from ..runtime.actor import MatchActor
from ..runtime.actor_context import ActorContext, Asked, CreateAgain, MatchRequest
from ..runtime.budget import NO_GUARD, Guard, OverrunTally
from ..runtime.clock import Clock, SystemClock
from ..runtime.command import FireDeadline
from ..runtime.committer import Committer, LocalCommitter
from ..runtime.deadline import DueDeadline
from ..runtime.errors import MailboxFull, MatchRunaway
from ..runtime.frame import (
    Created,
    CreateMatch,
    Dispatch,
    FetchLog,
    FetchTable,
    Moved,
    Refused,
    Request,
    Sync,
    TakeSeat,
)
from ..runtime.games import GameRegistry
from ..runtime.lifecycle import ActorState, StopReason
from ..runtime.match_id import shard_of
from ..runtime.options import SupervisorOptions
from ..runtime.route import Outlet, Route
from ..runtime.translate import refused
from .ended_matches import EndedMatches, Tombstone
from .match_creation import Creation, read_creation, start_match
from .match_timer import MatchTimer
from .turns import Turns

__all__ = ["Outlet", "Route", "Supervisor", "SupervisorStatistics"]

_log = structlog.get_logger()

# Bytes that a message counts for beside what it carries: its frame and its place.
_MESSAGE_BYTES = 128

# Characters of the names in a request (seat, event, token), more than any real ones.
_NAMES_BYTES_MAX = 1024


@dataclass(frozen=True, slots=True)
class SupervisorStatistics:
    """The first seven are now; the others count since the start."""

    shards: int
    running: int
    resident: int
    quarantined: int
    tombstones: int
    deadlines: int
    watchers: int
    created: int
    ended: int
    failed: int
    dropped: int
    messages: int
    busy: int
    deadlines_fired: int


class Supervisor:
    """Hosts matches.

    Use it as an async context manager: it owns the actors' tasks, and its own timer.
    Or, without an async library: `handle_batch` works the actors before it returns,
    `tick(now_ms)` does what is due, `next_due_ms()` says when, `close()` ends it.

    Invariant: at most `matches_max` matches are in memory.
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
    ) -> None:
        self._games = games
        self._outlet = outlet
        self._options = options or SupervisorOptions()
        self._clock = clock or SystemClock()
        self._random_bytes = random_bytes
        self._shards = shards
        self._timer = MatchTimer(self._clock, self._fire, self._sweep)
        self._turns = Turns(self._failed, self._after_work, lambda: None)
        self._closed = False
        self._context = ActorContext(
            outlet=outlet,
            committer=committer or LocalCommitter(),
            alarm=self._timer,
            clock=self._clock,
            draw_token=lambda: random_bytes(16).hex(),
            options=self._options.match,
            guard=guard,
            on_wake=self._turns.wake,
        )
        self._overruns: dict[str, OverrunTally] = {}  # by game, while matches are made
        self._epochs: dict[int, int] = {}
        self._actors: dict[str, MatchActor] = {}
        self._of_shard: defaultdict[int, set[str]] = defaultdict(set)
        # Who was sent views of what, both ways round: to forget either in one step.
        self._watched: dict[str, dict[str | None, set[str]]] = {}
        self._watchers: dict[str, set[tuple[str, str | None]]] = {}
        self._ended = EndedMatches(
            self._options.ended_kept_max,
            self._options.ended_kept_s * 1_000,
            self._options.tombstones_max,
        )
        self._tasks: TaskGroup | None = None
        self._counts: defaultdict[str, int] = defaultdict(int)

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
        for actor in tuple(self._actors.values()):
            actor.stop(StopReason.STOPPING, "stopping")

    def tick(self, now_ms: int) -> None:
        """Do what is due by the wall clock; the timer's task calls it otherwise."""
        self._timer.tick(now_ms)
        self._turns.work()

    def next_due_ms(self) -> int | None:
        """When `tick` has something to do at the latest; None: when you like."""
        return self._timer.next_due_ms()

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

    def adopt(self, shard: int, epoch: int) -> None:
        """Serve the shard from now on. Matches that are here already stay."""
        self._epochs[shard] = epoch

    def release(self, shard: int) -> None:
        """Serve the shard no longer: its matches are dropped from this node."""
        self._epochs.pop(shard, None)
        for match in self._of_shard.pop(shard, ()):
            self._actors[match].stop(StopReason.RELEASED, "no_owner")
            self._remove(match)

    def peer_gone(self, peer: str) -> None:
        """Send nothing more to that process, nor to clients behind it."""
        for client in list(self._watched.get(peer, ())):
            self._forget_watcher(peer, client)
        self._watched.pop(peer, None)

    def client_gone(self, peer: str, client: str) -> None:
        """Send nothing more to that client, which was reached through `peer`."""
        self._forget_watcher(peer, client)

    def actor(self, match: str) -> MatchActor | None:
        """The actor of a match that is here, for whoever inspects it."""
        return self._actors.get(match)

    def absence(self, match: str) -> str:
        """Why no match of that id is here: moved, game_over or unknown_match."""
        if shard_of(match, self._shards) not in self._epochs:
            return "moved"
        known = self._ended.tombstone(match) is not None
        return "game_over" if known else "unknown_match"

    def statistics(self) -> SupervisorStatistics:
        """What is here, and what has been."""
        states = [actor.status for actor in self._actors.values()]
        deadlines = self._timer.statistics()
        return SupervisorStatistics(
            shards=len(self._epochs),
            running=states.count(ActorState.RUNNING),
            resident=states.count(ActorState.RESIDENT),
            quarantined=states.count(ActorState.QUARANTINED),
            tombstones=self._ended.tombstones,
            deadlines=deadlines.armed,
            watchers=sum(map(len, self._watched.values())),
            created=self._counts["created"],
            ended=self._counts["ended"],
            failed=self._counts["failed"],
            dropped=self._counts["dropped"],
            messages=self._counts["messages"],
            busy=self._counts["busy"],
            deadlines_fired=deadlines.fired,
        )

    def _take(self, route: Route, request: Request) -> MatchActor | None:
        """Put a request into its match's mailbox, or answer it."""
        if isinstance(request, CreateMatch):
            return self._on_create(route, request)
        if isinstance(request, FetchTable):
            self._refuse(route, request.request, "malformed_request")
            return None
        actor = self._actors.get(request.match)
        if actor is None or actor.epoch != request.epoch:
            self._answer_absent(route, request)
            return None
        if isinstance(request, Sync):
            self._note_watcher(route, request.match)
        size = _weight(request)
        if size > self._options.match.payload_bytes_max + _NAMES_BYTES_MAX:
            # Before the mailbox: there it would be `busy`, for ever.
            self._refuse(route, request.request, "too_large")
            return None
        return self._put(actor, route, request, size)

    def _note_watcher(self, route: Route, match: str) -> None:
        clients = self._watched.setdefault(route.peer, {})
        clients.setdefault(route.client, set()).add(match)
        self._watchers.setdefault(match, set()).add((route.peer, route.client))

    def _forget_watcher(self, peer: str, client: str | None) -> None:
        for match in self._watched.get(peer, {}).pop(client, ()):
            self._actors[match].subscribers.remove_route(peer, client)
            self._watchers[match].discard((peer, client))

    def _put(
        self, actor: MatchActor, route: Route, asked: Asked, size: int
    ) -> MatchActor | None:
        if actor.status is ActorState.QUARANTINED:
            self._refuse(route, asked.request, actor.quarantine_code)
            return None
        if actor.status is ActorState.STOPPED:
            self._refuse(route, asked.request, "retry")
            return None
        try:
            actor.mailbox.put_nowait((route, asked), _MESSAGE_BYTES + size)
        except MailboxFull as error:
            self._counts["busy"] += 1
            self._refuse(route, asked.request, error.code)
            return None
        return actor

    def _answer_absent(self, route: Route, request: MatchRequest) -> None:
        """Say why no match of that id and epoch is here."""
        shard = shard_of(request.match, self._shards)
        epoch = self._epochs.get(shard)
        if epoch is None or request.epoch > epoch:
            # Not ours, or we are the ones who are behind.
            moved = Moved(request.request, shard, epoch or 0, "")
            self._outlet.deliver(route, moved)
            return
        tombstone = self._ended.tombstone(request.match)
        if tombstone is not None and tombstone.epoch == request.epoch:
            text = "The match is over, and its log is no longer kept."
            self._outlet.deliver(route, refused(request.request, "game_over", text))
        elif request.epoch < epoch:
            self._refuse(route, request.request, "match_lost")
        else:
            self._refuse(route, request.request, "unknown_match")

    def _on_create(self, route: Route, frame: CreateMatch) -> MatchActor | None:
        creation = read_creation(
            frame, route.principal, self._options.match_input_bytes_max
        )
        if isinstance(creation, Refused):
            self._outlet.deliver(route, creation)
            return None
        shard = shard_of(creation.match, self._shards)
        epoch = self._epochs.get(shard)
        if epoch is None:
            self._outlet.deliver(route, Moved(frame.request, shard, 0, ""))
            return None
        actor = self._actors.get(creation.match)
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
        tombstone = self._ended.tombstone(creation.match)
        if tombstone is not None:
            self._outlet.deliver(
                route,
                _created_once(frame.request, creation.match, tombstone)
                if tombstone.creation == creation.content
                else refused(frame.request, "key_reused"),
            )
            return None
        if self._closed:
            self._refuse(route, frame.request, "stopping")
            return None
        if not self._make_room():
            self._refuse(route, frame.request, "node_full")
            return None
        overruns = self._overruns.get(frame.game)
        if overruns is not None and overruns.is_full(self._clock.monotonic_s()):
            self._refuse(route, frame.request, "resolver_timeout")
            return None
        change = start_match(
            self._games,
            frame,
            creation,
            epoch=epoch,
            seed=self._random_bytes(16).hex(),
            now_ms=self._clock.now_ms(),
            guard=self._context.guard,
        )
        if isinstance(change, Refused):
            if change.code == "resolver_timeout":
                self._note_overrun(frame.game)
            self._outlet.deliver(route, change)
            return None
        actor = MatchActor(change, self._context)
        self._actors[actor.match] = actor
        self._of_shard[shard].add(actor.match)
        self._counts["created"] += 1
        self._turns.begin(actor)
        return actor

    def _note_overrun(self, game: str) -> None:
        """A game's code took too long over a new match; after a few, none is tried."""
        match = self._options.match
        overruns = self._overruns.setdefault(
            game, OverrunTally(match.resolver_timeouts_max, match.resolver_timeouts_s)
        )
        overruns.add(self._clock.monotonic_s())

    def _make_room(self) -> bool:
        """Whether one more match fits, if need be in place of an ended one."""
        if len(self._actors) < self._options.matches_max:
            return True
        oldest = self._ended.oldest()
        if oldest is None:
            return False
        self._drop(oldest)
        return True

    def _failed(self, actor: MatchActor, error: BaseException) -> None:
        """Set the match apart: our own code failed, or its game runs away."""
        self._counts["failed"] += 1
        runaway = isinstance(error, MatchRunaway)
        code = MatchRunaway.code if runaway else "internal_error"
        _log.error(
            "match_quarantined", match=actor.match, code=code, exc_info=not runaway
        )
        self._ended.forget(actor.match)
        try:
            actor.quarantine(StopReason.RUNAWAY if runaway else StopReason.FAILED, code)
        except Exception:
            # Nobody can be told any more; the other matches must not notice.
            _log.exception("quarantine_failed", match=actor.match)

    def _after_work(self, actor: MatchActor) -> None:
        """The actor takes no more actions."""
        if self._actors.get(actor.match) is not actor:
            return
        if actor.status is ActorState.RESIDENT:
            self._counts["ended"] += 1
            self._ended.add(actor.match, self._clock.now_ms())
        elif actor.status is ActorState.STOPPED:
            self._remove(actor.match)

    def _fire(self, due: DueDeadline) -> bool:
        actor = self._actors.get(due.match)
        if actor is None:
            return True
        try:
            actor.mailbox.put_own(FireDeadline(due.revision))
        except MailboxFull:
            return False
        self._turns.wake(actor)
        return True

    def _sweep(self, now_ms: int) -> None:
        for match in self._ended.expired(now_ms):
            self._drop(match)

    def _drop(self, match: str) -> None:
        """Put an ended match away for good; its tombstone stays."""
        actor = self._actors[match]
        actor.stop(StopReason.ENDED, "game_over")
        self._counts["dropped"] += 1
        _log.info("match_dropped", match=match, records=len(actor.ledger.records))
        forgotten = self._ended.bury(actor.ledger.state)
        if forgotten is not None:
            _log.info("tombstone_forgotten", match=forgotten)
        self._remove(match)

    def _remove(self, match: str) -> None:
        del self._actors[match]
        self._ended.forget(match)
        self._of_shard.get(shard_of(match, self._shards), set()).discard(match)
        for peer, client in self._watchers.pop(match, ()):
            self._watched.get(peer, {}).get(client, set()).discard(match)

    def _refuse(self, route: Route, request: int, code: str) -> None:
        self._outlet.deliver(route, refused(request, code))


def _weight(request: MatchRequest) -> int:
    """What a request carries: its payload's bytes, its names' characters."""
    if isinstance(request, Dispatch):
        payload = memoryview(request.payload).nbytes
        return payload + len(request.event) + len(request.seat)
    if isinstance(request, TakeSeat):
        return len(request.resume) + len(request.seat)
    return 0 if isinstance(request, FetchLog) else len(request.seat)


def _created_once(request: int, match: str, tombstone: Tombstone) -> Created:
    """The first answer again, though the match is over and gone."""
    return Created(
        request,
        match,
        tombstone.epoch,
        tombstone.game,
        tombstone.version,
        tombstone.seats,
    )
