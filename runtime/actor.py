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

from ..engine.limits import G_BYTES_MAX
from ..engine.step import Batch
from . import command
from .actor_context import ActorContext, CreateAgain, Intervened, Message
from .budget import BudgetExceeded, OverrunTally
from .command import Act, Answer, Denied, FireDeadline, NotFired, SeatHeld
from .errors import MatchRunaway
from .fault_log import FaultLog
from .frame import Dispatch, FetchLog, Refused, Sync, TakeBack, TakeSeat
from .holders import SeatHolders
from .ledger import Ledger
from .lifecycle import ActorState, StopReason
from .log_page import fetch_log
from .mailbox import Mailbox
from .match import decide, refusal
from .match_change import Change
from .match_source import SourceLog
from .match_state import MatchState
from .route import Route
from .subscribers import Subscribers
from .translate import answer_frame, created_frame, read_dispatch, refused

__all__ = ["MatchActor"]

# Where an actor still takes messages.
_ALIVE = (ActorState.RUNNING, ActorState.RESIDENT)


class MatchActor:
    """Hosts one match: from the change that created it on, or from a committed state
    whose log is stored elsewhere (`context.source`)."""

    def __init__(self, begin: Change | MatchState, context: ActorContext) -> None:
        state = begin.state if isinstance(begin, Change) else begin
        self.match = state.match
        self.epoch = state.epoch
        self.place = 0
        """The number of the pinned shard that it serves the match in; 0: at home."""
        self.status = ActorState.RUNNING
        self.stop_reason: StopReason | None = None
        self.quarantine_code = ""
        """What a match that is set apart answers."""
        options = context.options
        self.mailbox: Mailbox[Message] = Mailbox(
            options.mailbox_messages_max, options.mailbox_bytes_max
        )
        self.subscribers = Subscribers(
            self.epoch,
            options,
            context.guard,
            self._on_overrun,
            context.history,
            self._retold,
        )
        source = context.source
        self.ledger = Ledger(
            begin,
            committer=context.committer,
            outlet=context.outlet,
            on_commit=self._on_commit,
            on_confirm=self._on_confirm,
            on_abandon=self._on_abandon,
            stored=None
            if source is None
            else SourceLog(
                source, self.match, 0 if begin is not state else state.index + 1
            ),
        )
        self._context = context
        self._faults = FaultLog(self.match)
        self._overruns = OverrunTally(
            options.resolver_timeouts_max, options.resolver_timeouts_s
        )
        self._runs_away = False
        self._is_large = False
        self._holders = SeatHolders()
        self._batch: list[Message] = []  # the next one is last
        self._armed = (-1, 0, 0)  # revision, credit_ms, pinned
        self._working = False
        self._changed = False  # by what was judged last
        self._due = False
        self._sleep: anyio.Event | None = None

    @property
    def faults(self) -> int:
        """Failures of the game's own code in this match."""
        return self._faults.count

    @property
    def over(self) -> bool:
        """Whether the match is over, and its end committed and told."""
        committed = self.ledger.committed
        return committed is not None and committed.ended and self.ledger.settled

    @property
    def droppable(self) -> bool:
        """Whether nothing is lost with the actor: all is committed and told, and nobody
        is sent views."""
        return (
            self.ledger.settled and not len(self.mailbox) and not len(self.subscribers)
        )

    @property
    def held(self) -> bool:
        """The match is leaving the place where this actor serves it: whether it has
        left, or stays, is not known yet. Who asks is told to ask again."""
        return self.ledger.state.pinned != self.place

    def rest(self) -> None:
        """Give up the task; what is asked is still answered."""
        if self.status is ActorState.RUNNING:
            self.status = ActorState.RESIDENT
            self.stir()

    def put_away(self) -> None:
        """End, with nothing waiting and nobody told; the deadline stays armed."""
        assert self.droppable, self.match
        self.status = ActorState.STOPPED
        self.stop_reason = StopReason.IDLE
        self.stir()

    def rouse(self) -> bool:
        """Take actions again after a rest; whether it rested and is not over."""
        if self.status is not ActorState.RESIDENT or self.over:
            return False
        self.status = ActorState.RUNNING
        return True

    async def run(self) -> None:
        """The actor's task: works when woken, until the match is over."""
        while self.status is ActorState.RUNNING:
            if not self._due:
                self._sleep = anyio.Event()
                await self._sleep.wait()
            self._due = False
            self.work()
            if self._context.on_worked is not None:
                self._context.on_worked()

    def wake(self) -> None:
        """Ask for a turn; any number of calls before it comes are one."""
        if self._context.on_wake is not None:
            self._context.on_wake(self)
        else:
            self.stir()

    def stir(self) -> None:
        """Let the task work once."""
        self._due = True
        if self._sleep is not None:
            self._sleep.set()

    def work(self) -> None:
        """Run all that waits, and hand over what it caused.

        Raises:
            MatchRunaway: The game held the loop too often. Whatever was judged before
                is handed over and answered; the match is to be quarantined.
        """
        if self.status not in _ALIVE:
            return
        self._working = True
        # With too much waiting for commits the mailbox is left to fill: `busy`.
        if self.ledger.waiting < self._context.options.uncommitted_max:
            self._batch = self.mailbox.drain()[::-1]
        while self._batch and not self._runs_away:
            self._on_message(self._batch[-1])
            self._batch.pop()
        self.ledger.hand_over()
        self._working = False
        self._settle()
        if self._runs_away:
            raise MatchRunaway("the game held the loop too often")

    def stop(self, reason: StopReason, code: str) -> None:
        """End; answer with `code` what waits to be run.

        What has run is answered `retry`; `not_committed`, if it is certain that nobody
        will ever see it.
        """
        self._stop(reason, code)

    def _stop(self, reason: StopReason, code: str, unsent: int | None = None) -> None:
        if self.status is ActorState.STOPPED:
            return
        self.status = ActorState.STOPPED
        self._end(reason)
        self.ledger.abandon(unsent)
        self._refuse(self.subscribers.remove_all(), "retry")
        self._refuse_messages(code)
        self.wake()

    def quarantine(
        self, reason: StopReason = StopReason.FAILED, code: str = "internal_error"
    ) -> None:
        """The match cannot go on: keep what is committed, answer `code`, do no more."""
        self.status = ActorState.QUARANTINED
        self.quarantine_code = code
        self._working = False
        self._end(reason)
        self.ledger.withdraw(code)
        self._refuse(self.subscribers.remove_all(), code)
        self._refuse_messages(code)

    def _end(self, reason: StopReason) -> None:
        self.stop_reason = reason
        self._context.alarm.disarm(self.match)

    def _refuse_messages(self, code: str) -> None:
        messages = (*reversed(self._batch), *self.mailbox.drain())
        self._batch.clear()
        asked = [message for message in messages if isinstance(message, tuple)]
        self._refuse([(route, frame.request) for route, frame in asked], code)
        for message in messages:
            if isinstance(message, Intervened):
                message.tell(self._denied(code))

    def _refuse(self, requests: Iterable[tuple[Route, int]], code: str) -> None:
        for route, request in requests:
            self._context.outlet.deliver(route, refused(request, code))

    def _on_message(self, message: Message) -> None:
        if isinstance(message, command.Detach | command.Attach):
            if self.place or not getattr(message, "again", False):
                self._judge(message)
            return
        if self.held:
            if isinstance(message, tuple):
                self._refuse([(message[0], message[1].request)], "retry")
            elif isinstance(message, Intervened):
                message.tell(self._denied("retry"))
            return  # a deadline is armed again where the match goes on
        if isinstance(message, FireDeadline):
            self._on_deadline(message)
            return
        if isinstance(message, command.CreditOutage | command.NoteDelivered):
            self._judge(message)
            return
        if isinstance(message, Intervened):
            self._on_intervention(message)
            return
        route, asked = message
        if isinstance(asked, Dispatch):
            self._on_dispatch(route, asked)
        elif isinstance(asked, TakeBack):
            self._on_take_back(route, asked)
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

    def _tell(self, route: Route, request: int, answer: command.Answer) -> None:
        """Answer once it is sure. What was done stays true; anything else tells how
        matters stand, and must not be older than the question."""
        record: int | None = None
        if isinstance(answer, command.Applied):
            record = answer.index
        elif self._changed:
            record = self.ledger.state.index
        frame = answer_frame(request, self.match, answer)
        self.ledger.answer(route, frame, record=record, fresh=record is None)

    def _deny(self, route: Route, request: int, code: str) -> None:
        if code == "resume_seat":  # it tells of this node alone, and is urgent
            self._refuse([(route, request)], code)
            return
        self.ledger.answer(route, refused(request, code), fresh=True)

    def _judge(self, asked: command.Command) -> command.Answer:
        state, now_ms = self.ledger.state, self._context.clock.now_ms()
        self._changed = False
        try:
            decision = self._context.guard.run(
                self.match, decide, state, asked, now_ms, self._context.find_machine
            )
        except BudgetExceeded as stop:
            if isinstance(asked, command.Intervention):
                self._faults.overran(stop)  # the match is not to blame
            else:
                event = asked.event if isinstance(asked, Act) else None
                self._note_overrun(stop, event)
            why = refusal("resolver_timeout")
            if isinstance(asked, FireDeadline):
                return NotFired(why)
            return Denied(why, state.revision)
        if decision.change is not None:
            self._changed = True
            self.ledger.append(decision.change)
            self._watch_size(decision.change.state)
        return decision.answer

    def _note_overrun(
        self, stop: BudgetExceeded, event: str | None = None, seat: str | None = None
    ) -> None:
        self._faults.overran(stop, event=event, seat=seat)
        now_s = self._context.clock.monotonic_s()
        if self._overruns.add(now_s, stop.strikes):
            self._runs_away = True

    def _on_overrun(self, seat: str, stop: BudgetExceeded) -> bool:
        """A view took too long: is that enough?"""
        self._note_overrun(stop, seat=seat)
        if self._runs_away and not self._working:
            self.wake()  # to end: this may be the committer's call
        return self._runs_away

    def _watch_size(self, state: MatchState) -> None:
        """Say once that the state is large, and once more if it was small since."""
        large = state.bytes_known > G_BYTES_MAX
        if large and not self._is_large:
            self._faults.state_large(state.bytes_known, state.revision)
        self._is_large = large

    def _on_dispatch(self, route: Route, asked: Dispatch) -> None:
        state, seat = self.ledger.state, asked.seat
        if code := self._holders.problem(route, state, seat, asked.session):
            self._deny(route, asked.request, code)
            return
        act = read_dispatch(asked, self._context.options.payload_bytes_max)
        if isinstance(act, Refused):
            self.ledger.answer(route, act)
            return
        answer = self._judge(act)
        if isinstance(answer, Denied) and answer.refusal.fault is not None:
            self._faults.add(answer.refusal.code, answer.refusal.fault)
        self._trace(act, route, asked.request, answer)
        self._tell(route, asked.request, answer)

    def _trace(
        self, act: Act | command.TakeBack, route: Route, request: int, told: Answer
    ) -> None:
        traces = self._context.traces
        if traces is not None:
            traces.note_decided(self.match, act, route, request, told, self._changed)

    def _on_take_back(self, route: Route, asked: TakeBack) -> None:
        state, seat = self.ledger.state, asked.seat
        if code := self._holders.problem(route, state, seat, asked.session):
            self._deny(route, asked.request, code)
            return
        act = command.TakeBack(
            seat,
            asked.session,
            asked.action,
            asked.verb,
            asked.revision,
            asked.base_revision,
        )
        answer = self._judge(act)
        self._trace(act, route, asked.request, answer)
        self._tell(route, asked.request, answer)

    def _on_intervention(self, asked: Intervened) -> None:
        """An operator's command: told as a player's is, when it is sure."""
        edits = isinstance(asked.command, command.Edit)
        if edits and not self._context.options.allow_edits:
            asked.tell(self._denied("edits_not_allowed"))
            return
        answer = self._judge(asked.command)
        if isinstance(answer, Denied) and answer.refusal.fault is not None:
            self._faults.add(answer.refusal.code, answer.refusal.fault)
        record: int | None = None
        if isinstance(answer, command.Applied):
            record = answer.index

        def tell(code: str) -> None:
            asked.tell(self._denied(code) if code else answer)

        self.ledger.tell(tell, record=record, fresh=record is None)

    def _denied(self, code: str) -> Denied:
        return Denied(refusal(code), self.ledger.state.revision)

    def _on_take_seat(self, route: Route, asked: TakeSeat) -> None:
        drawn = "" if asked.resume else self._context.draw_token()
        take = command.TakeSeat(
            asked.seat, drawn, asked.resume, asked.fresh, asked.session
        )
        answer = self._judge(take)
        if isinstance(answer, SeatHeld):
            window = self.ledger.state.seats[answer.seat].window
            for lost in self._holders.hold(
                route, answer.seat, answer.session, window, asked.alone
            ):
                owed = self.subscribers.remove_session(answer.seat, lost)
                self._refuse(owed, "not_seated")
        self._tell(route, asked.request, answer)

    def _on_sync(self, route: Route, asked: Sync) -> None:
        state, seat, committed = self.ledger.state, asked.seat, self.ledger.committed
        revision = -1 if committed is None else committed.revision
        if (asked.history, asked.seen) > (self._context.history, revision):
            # Another owner has shown them more: never show less.
            self._refuse([(route, asked.request)], "retry")
            return
        code = ""
        if seat:  # else a spectator
            code = self._holders.problem(route, state, seat, asked.session)
        if not code and not self.subscribers.add(route, asked):
            code = "busy"
        if code:
            self._deny(route, asked.request, code)

    def _on_create_again(self, route: Route, asked: CreateAgain) -> None:
        if asked.creation == self.ledger.state.creation:
            created = created_frame(asked.request, self.ledger.state)
            self.ledger.answer(route, created, record=0)
        else:
            self._deny(route, asked.request, "key_reused")

    def _on_fetch_log(self, route: Route, asked: FetchLog) -> None:
        page_bytes = self._context.options.log_page_bytes
        ledger = self.ledger
        page = fetch_log(asked, ledger.committed, ledger.records, page_bytes)
        ledger.answer(route, page, fresh=isinstance(page, Refused))

    def _on_deadline(self, fire: FireDeadline) -> None:
        armed_ms = self.ledger.state.armed_ms
        if armed_ms is not None and armed_ms > fire.at_ms:
            return  # it was put off; it is armed again when that is committed
        answer = self._judge(fire)
        if isinstance(answer, NotFired) and answer.refusal is not None:
            self._faults.timeout_not_fired(fire.revision, answer.refusal)

    def _on_commit(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.batch is not None:
                self.subscribers.committed(change.batch)
        self._on_confirm()

    def _on_confirm(self) -> None:
        """Something is sure now. Called from outside a turn: nothing may get out."""
        if self._working:
            return
        try:
            self._settle()
        except (Exception, SystemExit) as error:  # a view may call sys.exit()
            if self._context.on_failure is None:
                raise
            self._context.on_failure(self, error)
            return
        if len(self.mailbox):
            self.wake()

    def _retold(self, since: int) -> Sequence[Batch]:
        source = self._context.source
        if source is None:
            return ()
        return source.batches(self.match, since, self._context.options.steps_kept)

    def _on_abandon(self, unsent: int) -> None:
        self._stop(StopReason.DEPOSED, "no_owner", unsent)

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
        armed = (committed.revision, committed.credit_ms, committed.pinned)
        if armed != self._armed:
            self._armed = armed
            self._arm(committed)
        if self.over and self.status is ActorState.RUNNING:
            self.status = ActorState.RESIDENT
            self._end(StopReason.ENDED)
            self.wake()  # for the last time: its task ends

    def _arm(self, committed: MatchState) -> None:
        if committed.armed_ms is None:
            self._context.alarm.disarm(self.match)
        else:
            self._context.alarm.arm(self.match, committed.revision, committed.armed_ms)
        if committed.stuck:
            self._faults.stuck_deadline(committed.revision)
