"""The match actor: one task, one mailbox, one match.

It wakes once for all that waits, runs it synchronously through the state machine and
hands the records over. It answers no one itself: answers and views leave when the
state they speak of is committed.

Thin: what a command does is `match.py`, what waits for a commit `ledger.py`, who sees
what `subscribers.py`. It knows no other match, and neither links nor shards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import anyio

from . import command
from .actor_context import ActorContext, CreateAgain, Message
from .command import Denied, FireDeadline, NotFired, SeatHeld
from .fault_log import FaultLog
from .frame import Dispatch, FetchLog, Refused, Response, Sync, TakeSeat
from .holders import SeatHolders
from .ledger import Ledger
from .lifecycle import ActorState, StopReason
from .log_page import fetch_log
from .mailbox import Mailbox
from .match import decide
from .match_change import Change
from .match_state import MatchState
from .route import Route
from .subscribers import Subscribers
from .translate import answer_frame, created_frame, read_dispatch, refused

__all__ = ["MatchActor"]

# Where an actor still takes messages.
_ALIVE = (ActorState.RUNNING, ActorState.RESIDENT)


class MatchActor:
    """Hosts one match. Made from the change that created it."""

    def __init__(self, created: Change, context: ActorContext) -> None:
        self.match = created.state.match
        self.epoch = created.state.epoch
        self.status = ActorState.RUNNING
        self.stop_reason: StopReason | None = None
        self.mailbox: Mailbox[Message] = Mailbox(
            context.options.mailbox_messages_max, context.options.mailbox_bytes_max
        )
        self.subscribers = Subscribers(self.epoch, context.options)
        self.ledger = Ledger(
            created,
            committer=context.committer,
            outlet=context.outlet,
            on_commit=self._on_commit,
            on_abandon=self._on_abandon,
        )
        self._context = context
        self._faults = FaultLog(self.match)
        self._holders = SeatHolders()
        self._batch: list[Message] = []  # the next one is last
        self._armed_revision = -1
        self._working = False
        self._due = False
        self._sleep: anyio.Event | None = None

    @property
    def faults(self) -> int:
        """Failures of the game's own code in this match."""
        return self._faults.count

    async def run(self) -> None:
        """The actor's task: works when woken, until the match is over."""
        while self.status is ActorState.RUNNING:
            if not self._due:
                self._sleep = anyio.Event()
                await self._sleep.wait()
            self._due = False
            self.work()

    def wake(self) -> None:
        """Let the task work once; any number of calls before it runs are one."""
        self._due = True
        if self._sleep is not None:
            self._sleep.set()

    def work(self) -> None:
        """Run all that waits, and hand over what it caused."""
        if self.status not in _ALIVE:
            return
        self._working = True
        # With too much waiting for commits the mailbox is left to fill: `busy`.
        if self.ledger.waiting < self._context.options.uncommitted_max:
            self._batch = self.mailbox.drain()[::-1]
        while self._batch:
            self._on_message(self._batch[-1])
            self._batch.pop()
        self.ledger.hand_over()
        self._working = False
        self._settle()

    def stop(self, reason: StopReason, code: str) -> None:
        """End; answer with `code` what waits to be run, with `retry` what has run."""
        if self.status is ActorState.STOPPED:
            return
        self.status = ActorState.STOPPED
        self._end(reason)
        self.ledger.abandon("retry")
        self._refuse(self.subscribers.remove_all(), "retry")
        self._refuse_messages(code)
        self.wake()

    def quarantine(self) -> None:
        """The actor's own code failed: keep what is committed, do no more."""
        self.status = ActorState.QUARANTINED
        self._working = False
        self._end(StopReason.FAILED)
        self.ledger.withdraw("internal_error")
        self._refuse(self.subscribers.remove_all(), "internal_error")
        self._refuse_messages("internal_error")

    def _end(self, reason: StopReason) -> None:
        self.stop_reason = reason
        self._context.alarm.disarm(self.match)

    def _refuse_messages(self, code: str) -> None:
        messages = (*reversed(self._batch), *self.mailbox.drain())
        self._batch.clear()
        asked = [message for message in messages if isinstance(message, tuple)]
        self._refuse([(route, frame.request) for route, frame in asked], code)

    def _refuse(self, requests: Iterable[tuple[Route, int]], code: str) -> None:
        for route, request in requests:
            self._context.outlet.deliver(route, refused(request, code))

    def _on_message(self, message: Message) -> None:
        if isinstance(message, FireDeadline):
            self._on_deadline(message)
            return
        route, asked = message
        if isinstance(asked, Dispatch):
            self._on_dispatch(route, asked)
        elif isinstance(asked, Sync):
            self._on_sync(route, asked)
        elif isinstance(asked, TakeSeat):
            self._on_take_seat(route, asked)
        elif isinstance(asked, CreateAgain):
            self._on_create_again(route, asked)
        elif isinstance(asked, FetchLog):
            self._on_fetch_log(route, asked)
        else:
            self.subscribers.remove(route, asked.seat)

    def _judge(self, asked: command.Command) -> command.Answer:
        decision = decide(self.ledger.state, asked, self._context.clock.now_ms())
        if decision.change is not None:
            self.ledger.append(decision.change)
        return decision.answer

    def _on_dispatch(self, route: Route, asked: Dispatch) -> None:
        state, seat = self.ledger.state, asked.seat
        if code := self._holders.problem(route, state, seat, asked.session):
            self.ledger.answer(route, refused(asked.request, code))
            return
        act = read_dispatch(asked, self._context.options.payload_bytes_max)
        if isinstance(act, Refused):
            self.ledger.answer(route, act)
            return
        answer = self._judge(act)
        if isinstance(answer, Denied) and answer.refusal.fault is not None:
            self._faults.add(answer.refusal.code, answer.refusal.fault)
        self.ledger.answer(route, answer_frame(asked.request, self.match, answer))

    def _on_take_seat(self, route: Route, asked: TakeSeat) -> None:
        drawn = "" if asked.resume else self._context.draw_token()
        take = command.TakeSeat(asked.seat, drawn, asked.resume, asked.fresh)
        answer = self._judge(take)
        if isinstance(answer, SeatHeld):
            window = self.ledger.state.seats[answer.seat].window
            for lost in self._holders.hold(route, answer.seat, answer.session, window):
                owed = self.subscribers.remove_session(answer.seat, lost)
                self._refuse(owed, "not_seated")
        self.ledger.answer(route, answer_frame(asked.request, self.match, answer))

    def _on_sync(self, route: Route, asked: Sync) -> None:
        state, seat = self.ledger.state, asked.seat
        code = ""
        if seat:  # else a spectator
            code = self._holders.problem(route, state, seat, asked.session)
        if not code and not self.subscribers.add(route, asked):
            code = "busy"
        if code:
            self.ledger.answer(route, refused(asked.request, code))

    def _on_create_again(self, route: Route, asked: CreateAgain) -> None:
        frame: Response = created_frame(asked.request, self.ledger.state)
        if asked.creation != self.ledger.state.creation:
            frame = refused(asked.request, "key_reused")
        self.ledger.answer(route, frame)

    def _on_fetch_log(self, route: Route, asked: FetchLog) -> None:
        page_bytes = self._context.options.log_page_bytes
        ledger = self.ledger
        page = fetch_log(asked, ledger.committed, ledger.records, page_bytes)
        ledger.answer(route, page)

    def _on_deadline(self, fire: FireDeadline) -> None:
        answer = self._judge(fire)
        if isinstance(answer, NotFired) and answer.refusal is not None:
            self._faults.timeout_not_fired(fire.revision, answer.refusal)

    def _on_commit(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.batch is not None:
                self.subscribers.committed(change.batch)
        if not self._working:
            self._settle()
            if len(self.mailbox):
                self.wake()

    def _on_abandon(self) -> None:
        self.stop(StopReason.DEPOSED, "retry")

    def _settle(self) -> None:
        """Let go what the commits so far allow."""
        self.ledger.release()
        committed = self.ledger.committed
        if committed is None or self.status not in _ALIVE:
            return
        for route, frame in self.subscribers.flush(committed):
            self._context.outlet.deliver(route, frame)
        for seat, fault in self.subscribers.take_faults():
            self._faults.add("view_error", fault, seat=seat)
        if committed.revision != self._armed_revision:
            self._armed_revision = committed.revision
            self._arm(committed)
        over = committed.ended and self.ledger.settled
        if over and self.status is ActorState.RUNNING:
            self.status = ActorState.RESIDENT
            self._end(StopReason.ENDED)

    def _arm(self, committed: MatchState) -> None:
        if committed.armed_ms is None:
            self._context.alarm.disarm(self.match)
        else:
            self._context.alarm.arm(self.match, committed.revision, committed.armed_ms)
        if committed.stuck:
            self._faults.stuck_deadline(committed.revision)
