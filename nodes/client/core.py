"""The client library's protocol, without I/O: questions, attempts, watches.

A *question* is one frame that wants one answer. It is sent, under a fresh request
number each time, until an answer that settles it comes or its deadline passes; what
makes a repeat safe is the key inside the frame, never the request number.

Rules:
- An answer that something happened (`Created`, `Seated`, `Accepted`, ...) settles a
  question whichever attempt it answers. A refusal settles it only when it answers
  the newest attempt; a code of `RETRIED_CODES` never does.
- A settled question is never sent again.
- At the deadline an attempt without an answer leaves a doubt: the outcome is then
  unknown. Without a doubt the last refusal stands.
- A *watch* is a question without end: it is asked again when the link it hangs on is
  lost, when its match's owner changes, and after a silence.
- A node that a seat has not spoken to is shown the seat's token first; one that does
  not know who holds it (`resume_seat`) is shown it too, and then asked again at once.
- Views wait, though not for long, while a crowd of questions does.
- Every `Sync` says which revision was seen, so that no owner shows an older one.

Time is an argument, in seconds. Every call may add effects; `effects()` hands them
out in the order in which they must be carried out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from msgspec.structs import replace

from ...runtime.frame import (
    Accepted,
    Dispatch,
    FetchTable,
    Frame,
    Moved,
    Refused,
    Request,
    Response,
    Sync,
    TableSnapshot,
    TakeBack,
    TakeSeat,
    Unwatch,
    ViewUpdate,
)
from ...runtime.link import PeerAddress
from ...runtime.refusal import RUNTIME_REFUSALS
from .effect import (
    Effect,
    Expired,
    Locate,
    Reach,
    Send,
    Settled,
    Viewed,
    Watch,
    WatchRefused,
)
from .memory import ClientMemory
from .options import ClientOptions
from .outcome import RETRIED_CODES, Refusal, refusal_of, runtime_refusal
from .question import Peer, Question
from .routing import Routing

__all__ = ["ClientCore", "TooManyQuestions"]

BACKOFF_GROWTH = 1.5
"""From one pause to the next."""

HOPS_MAX = 2
"""`moved` answers followed at once; after that each costs a pause."""

REMEMBERED_REQUESTS = 8
"""Request numbers of one question whose late answers still count."""

_SEATED = (Dispatch, TakeBack, Sync)
"""What a seat's session asks."""

WATCH_PACE_S = 0.001
"""Between two watches that are renewed together. Views are worth less than answers: a
thousand of them must not go before the actions of players who wait."""

WATCH_PAUSE_S = 0.05
"""Before the first of those that came from a node which is gone: by then it is known,
as a rule, who has taken over."""

WATCH_CROWD = 16
"""Questions without an answer beyond which a watch that is renewed waits."""

WATCH_CROWD_PAUSE_S = 0.02
"""Before it is looked at again."""

WATCH_PATIENCE_S = 0.5
"""How long it waits so: views are worth less than answers, and not worthless."""

GONE_PAUSE_S = 0.12
"""Before what a node was asked that is gone is asked elsewhere, jittered, as long as
there is a link to another. That one tells unasked who takes over, as a rule before
that; asked in vain before it knows, it could but pass the question on."""

LOCATE_PAUSE_S = 0.5
"""Between two questions to the doors."""


class TooManyQuestions(Exception):
    """The bound on questions or watches is reached."""


def _is_watch(question: Question) -> bool:
    return question.watch is not None


class ClientCore:
    """All that the client library decides. Not for more than one task at a time."""

    def __init__(self, options: ClientOptions, uniform: Callable[[], float]) -> None:
        """`uniform` draws from [0, 1), for jitter."""
        self._options = options
        self._uniform = uniform
        self.routing = Routing(direct=options.direct)
        self.memory = ClientMemory(options.known_max)
        self._peers: dict[str, Peer] = {}
        self._reached: dict[str, PeerAddress] = {}
        # Invariant: every ticket in _requests and _table_ticket is in _questions.
        self._questions: dict[int, Question] = {}
        self._requests: dict[int, int] = {}
        self._watches: dict[tuple[str, str], Watch] = {}
        self._due: list[tuple[float, int]] = []
        self._effects: list[Effect] = []
        self._asked = 0  # questions that a caller waits for
        self._watches_due = math.inf
        self._changed_at: float | None = None  # when owners changed, not yet looked at
        self._announced = False  # one of these changes was told unasked
        self._last_ticket = 0
        self._last_request = 0
        self._table_ticket = 0
        self._located_at = -math.inf

    # --- what the caller wants

    def ask(
        self, now: float, frame: Request, *, match: str | None, deadline: float
    ) -> int:
        """Start a question; its ticket comes back in `Settled` or `Expired`.

        Raises:
            TooManyQuestions: As many as the options allow wait already.
        """
        if self._asked >= self._options.requests_max:
            raise TooManyQuestions
        self._asked += 1
        return self._start(now, Question(frame, match, deadline)).ticket

    def forget(self, ticket: int) -> None:
        """Nobody waits for this question any more. It is not sent again."""
        self._close(ticket)

    def watch(self, now: float, wanted: Watch) -> Watch:
        """Watch a seat; the watch lives until `unwatch` as often as `watch`.

        Returns `wanted`, or the watch that exists of that seat: then that one goes
        on, under the session (and with the legal actions) that are wanted now.

        Raises:
            TooManyQuestions: As many watches as the options allow exist already.
        """
        key = (wanted.match, wanted.seat)
        watch = self._watches.get(key)
        if watch is None:
            if len(self._watches) >= self._options.watches_max:
                raise TooManyQuestions
            watch = self._watches[key] = wanted
            self._ask_watch(now, watch)
        elif (
            watch.session != wanted.session
            or wanted.legal > watch.legal
            or wanted.whole > watch.whole
        ):
            watch.session, watch.legal = wanted.session, watch.legal or wanted.legal
            watch.whole |= wanted.whole
            self._close(watch.ticket)
            self._ask_watch(now, watch)
        watch.slot.keep = max(watch.slot.keep, wanted.slot.keep)
        watch.readers += 1
        return watch

    def unwatch(self, now: float, watch: Watch) -> None:
        """One reader less; after the last one the node is told to stop."""
        watch.readers -= 1
        key = (watch.match, watch.seat)
        if watch.readers > 0 or self._watches.get(key) is not watch:
            return
        del self._watches[key]
        self._close(watch.ticket)
        if watch.through and self._peer(watch.through).up and not watch.slot.ended:
            frame = Unwatch(self._next_request(), watch.match, watch.epoch, watch.seat)
            self._effects.append(Send(watch.through, frame))

    # --- what the network brings

    def located(self, now: float, addresses: Iterable[PeerAddress]) -> None:
        """Doors told where these nodes are."""
        self.routing.located(addresses)
        self._refresh_table(now)
        for question in tuple(self._questions.values()):
            if not question.waiting and not question.attempts and not question.paced:
                self._attempt(now, question)

    def peer_up(self, now: float, process: str) -> None:
        """`process` is there (again): what it owns and went elsewhere goes to it."""
        peer = self._peer(process)
        peer.up, peer.down = True, False
        peer.ups += 1
        peer.heard, peer.suspect_until = now, -math.inf
        for question in tuple(self._questions.values()):
            strayed = question.match and question.sent_to not in ("", process)
            if strayed and self.routing.owner(question.match or "") == process:
                self._attempt(now, question)

    def peer_down(self, now: float, process: str) -> None:
        """Nothing more comes from `process`: ask elsewhere what it was asked."""
        peer = self._peer(process)
        peer.up, peer.down = False, True
        for question in tuple(self._questions.values()):
            if question.waiting and question.sent_to == process:
                self._pause(now, question, GONE_PAUSE_S if self.reachable else 0.0)
        self._renew_all(now, lambda watch: watch.through == process, WATCH_PAUSE_S)
        self._refresh_table(now)
        self._locate(now)

    def arrived(self, now: float, process: str, frame: Frame) -> None:
        """A frame came from `process`."""
        peer = self._peer(process)
        peer.heard, peer.suspect_until = now, -math.inf
        if isinstance(frame, ViewUpdate):
            self._view(now, process, frame)
        elif isinstance(frame, TableSnapshot):
            self.routing.learn(frame)
            self._reach_anew()
            self._owners_changed(now, announced=True)
        elif isinstance(frame, Moved):
            if self.routing.moved(frame):
                self._owners_changed(now, announced=not frame.request)
            unknown = frame.owner and self.routing.address(frame.owner) is None
            if unknown or not self.routing.knows(frame.shard):
                self._refresh_table(now)
        if isinstance(frame, Response) and frame.request:
            self._answer(now, frame)

    def not_sent(self, now: float, request: int, refusal: Refusal) -> None:
        """A `Send` failed at our own end: nothing left this process."""
        question = self._questions.get(self._requests.pop(request, 0))
        if question is None:
            return
        question.open_requests.remove(request)
        if refusal.code in RETRIED_CODES:
            question.refusal = refusal
            self._pause(now, question)
        else:
            self._settle(question, refusal)

    def tick(self, now: float) -> None:
        """Do what is due."""
        while self._due and self._due[0][0] <= now:
            at, ticket = heappop(self._due)
            question = self._questions.get(ticket)
            if question is not None and question.due == at:
                self._on_due(now, question)
        if self._watches_due <= now:
            self._look_at_watches(now)

    @property
    def next_due(self) -> float:
        """When `tick` wants to be called next; infinity: not at all."""
        first = self._due[0][0] if self._due else math.inf
        return min(first, self._watches_due)

    def effects(self) -> list[Effect]:
        """What to do now, in order. The caller carries out all of it."""
        if self._changed_at is not None:
            self._follow_owners(self._changed_at)
        effects, self._effects = self._effects, []
        return effects

    @property
    def reachable(self) -> bool:
        return any(peer.up for peer in self._peers.values())

    @property
    def waiting(self) -> int:
        """Questions without an answer."""
        return len(self._questions)

    # --- questions

    def _start(self, now: float, question: Question, pause_s: float = 0.0) -> Question:
        self._last_ticket += 1
        question.ticket = self._last_ticket
        self._questions[question.ticket] = question
        if pause_s > 0:
            question.paced = True
            question.patient_until = now + WATCH_PATIENCE_S
            self._schedule(question, now + pause_s)
        else:
            self._attempt(now, question)
        return question

    def _attempt(self, now: float, question: Question, avoid: str = "") -> None:
        process = self.routing.choose(
            question.match, lambda process: self._usable(now, process), avoid
        )
        address = self.routing.address(process) if process is not None else None
        if process is None or address is None:
            self._locate(now)
            self._schedule(question, now + LOCATE_PAUSE_S)
            return
        if self._reached.get(process) != address:
            self._reach(address)
        request = self._next_request()
        question.attempts += 1
        question.request, question.sent_to, question.sent_at = request, process, now
        question.owner = self._owner(question)
        question.waiting = True
        question.open_requests.append(request)
        if len(question.open_requests) > REMEMBERED_REQUESTS:
            self._requests.pop(question.open_requests.pop(0), None)
            question.told_unknown = True
        self._requests[request] = question.ticket
        self._schedule(question, now + self._options.attempt_s)
        frame = question.frame
        if isinstance(frame, _SEATED):
            place = (process, self._peer(process).ups)
            take = self.memory.moves(frame.match, frame.seat, frame.session, place)
            if take is not None:
                self._show(process, take)
        frame = replace(frame, request=request)
        if isinstance(frame, Sync):
            history, seen = self.memory.seen(frame.match)
            watch = question.watch
            since = -1 if watch is None else max(watch.slot.revision, watch.since)
            frame = replace(frame, seen=seen, since=since, history=history)
        self._effects.append(Send(process, frame))

    def _answer(self, now: float, frame: Response) -> None:
        question = self._questions.get(self._requests.pop(frame.request, 0))
        if question is None:
            return
        question.open_requests.remove(frame.request)
        newest = frame.request == question.request
        if isinstance(frame, Moved):
            if newest:
                question.refusal = Refusal("moved", RUNTIME_REFUSALS["moved"])
                self._follow(now, question, frame)
        elif isinstance(frame, Refused):
            question.told_unknown |= frame.code == "retry"
            if newest and frame.code == "resume_seat":
                question.refusal = refusal_of(frame)
                self._resume_seat(now, question)
            elif newest and frame.code in RETRIED_CODES:
                question.refusal = refusal_of(frame)
                self._pause(now, question)
            elif newest:
                self._settle(question, refusal_of(frame))
        else:
            if isinstance(frame, Accepted):
                self.memory.saw(frame.match, frame.revision)
            self._settle(question, frame)

    def _resume_seat(self, now: float, question: Question) -> None:
        """Show the seat's token to the node that asks for it, then ask that again.

        Both go over one link, so that the token is there first. If it did not help the
        last time, there is nothing to do but to wait.
        """
        asked = question.frame
        take = None
        if isinstance(asked, _SEATED):
            take = self.memory.resumption(asked.match, asked.seat, asked.session)
        if take is None:  # it is no longer known
            self._settle(question, runtime_refusal("resume_seat"))
            return
        question.resumed = not question.resumed
        if question.resumed:
            self._show(question.sent_to, take)
            self._attempt(now, question)
        else:
            self._pause(now, question)

    def _show(self, process: str, take: TakeSeat) -> None:
        """Nobody waits for its answer: what follows it on the link has one."""
        request = self._next_request()
        self._effects.append(Send(process, replace(take, request=request)))

    def _follow(self, now: float, question: Question, moved: Moved) -> None:
        """The match is elsewhere: go there at once, if that leads anywhere."""
        known = self.routing.address(moved.owner) is not None
        question.hops += 1
        if known and moved.owner != question.sent_to and question.hops <= HOPS_MAX:
            self._attempt(now, question)
        else:
            self._pause(now, question)

    def _on_due(self, now: float, question: Question) -> None:
        if now >= question.deadline:
            doubt = bool(question.open_requests) or question.told_unknown
            self._close(question.ticket)
            if not question.silent:
                expired = Expired(question.ticket, doubt, question.refusal)
                self._effects.append(expired)
            return
        if now < question.patient_until and self._asked > WATCH_CROWD:
            self._schedule(question, now + WATCH_CROWD_PAUSE_S)
            return
        if not question.waiting:
            gone = self._peer(question.sent_to).down if question.sent_to else False
            self._attempt(now, question, avoid=question.sent_to if gone else "")
            return
        peer = self._peer(question.sent_to)
        if peer.heard < question.sent_at:  # not only this question: all is silent
            peer.suspect_until = now + self._options.suspect_s
            self._refresh_table(now)
            self._locate(now)
        self._attempt(now, question, avoid=question.sent_to)

    def _pause(self, now: float, question: Question, least_s: float = 0.0) -> None:
        """Wait before the next attempt: longer each time, never twice the same."""
        question.waiting = False
        question.hops = 0
        options = self._options
        grown = BACKOFF_GROWTH ** min(max(question.attempts - 1, 0), 64)
        longest = min(options.backoff_s_max, options.backoff_s_min * grown)
        longest = max(longest, least_s)
        self._schedule(question, now + longest * (0.5 + 0.5 * self._uniform()))

    def _schedule(self, question: Question, at: float) -> None:
        question.due = min(at, question.deadline)
        heappush(self._due, (question.due, question.ticket))

    def _settle(self, question: Question, answer: Response | Refusal) -> None:
        self._close(question.ticket)
        watch = question.watch
        if watch is None:
            if not question.silent:
                self._effects.append(Settled(question.ticket, answer))
        elif isinstance(answer, Refusal):
            watch.refusal = answer
            self._watches.pop((watch.match, watch.seat), None)
            self._effects.append(WatchRefused(watch, answer))

    def _close(self, ticket: int) -> None:
        question = self._questions.pop(ticket, None)
        if question is None:
            return
        for request in question.open_requests:
            self._requests.pop(request, None)
        if question.watch is not None:
            question.watch.ticket = 0
        elif not question.silent:
            self._asked -= 1
        if ticket == self._table_ticket:
            self._table_ticket = 0

    # --- watches

    def _ask_watch(self, now: float, watch: Watch, pause_s: float = 0.0) -> None:
        watch.owner, watch.heard = self.routing.owner(watch.match), now
        watch.tenure = self.routing.tenure(watch.match)
        question = Question(watch.frame(), watch.match, math.inf, watch)
        watch.ticket = self._start(now, question, pause_s).ticket
        self._watches_due = min(self._watches_due, now + self._options.watch_idle_s)

    def _renew_all(
        self, now: float, which: Callable[[Watch], bool], first_s: float = 0.0
    ) -> None:
        """Ask for these watches again, one after the other, unless that is under way
        or there is no more."""
        asked = 0
        for watch in self._watches.values():
            if which(watch) and not watch.ticket and not watch.slot.ended:
                self._ask_watch(now, watch, first_s + asked * WATCH_PACE_S)
                asked += 1

    def _view(self, now: float, process: str, update: ViewUpdate) -> None:
        watch = self._watches.get((update.match, update.seat))
        if watch is None:
            return
        place = (update.history, update.revision)
        if place < self.memory.seen(update.match):
            watch.slot.dropped += 1  # from a node that is behind, and may not know it
            return
        watch.through, watch.heard = process, now
        self.memory.saw(update.match, update.revision, update.history)
        if watch.slot.accept(update):
            self._effects.append(Viewed(watch))

    def _look_at_watches(self, now: float) -> None:
        idle_s = self._options.watch_idle_s
        self._watches_due = now + idle_s / 2 if self._watches else math.inf
        self._renew_all(now, lambda watch: now - watch.heard >= idle_s)

    def _owners_changed(self, now: float, *, announced: bool) -> None:
        """Some shards have other owners: looked at once for all that came together."""
        self._changed_at = now
        self._announced |= announced

    def _follow_owners(self, now: float) -> None:
        """Ask anew for every watch whose match has another owner now.

        If that was announced, and not an answer to one question, all that waits is
        asked again there as well: whatever pause there was is over. What a player
        waits for goes first.
        """
        if self._announced and self._options.direct:
            for question in sorted(self._questions.values(), key=_is_watch):
                self._follow_owner(now, question)
        self._renew_all(now, self._has_moved)
        self._changed_at, self._announced = None, False

    def _has_moved(self, watch: Watch) -> bool:
        # An owner that lost the shard and has it again knows nothing of its watchers.
        owner = self.routing.owner(watch.match)
        newer = self.routing.tenure(watch.match) > watch.tenure
        return owner != "" and (newer or owner != watch.owner)

    def _follow_owner(self, now: float, question: Question) -> None:
        owner = self._owner(question)
        if owner in ("", question.owner, question.sent_to) or not question.attempts:
            return
        if question.waiting and question.sent_to != question.owner:
            return  # at a node that passes it on, and knows the new owner too
        if self.routing.address(owner) is not None and self._usable(now, owner):
            question.hops = 0
            self._attempt(now, question)

    def _owner(self, question: Question) -> str:
        return "" if question.match is None else self.routing.owner(question.match)

    # --- peers

    def _peer(self, process: str) -> Peer:
        peer = self._peers.get(process)
        if peer is None:
            peer = self._peers[process] = Peer()
        return peer

    def _usable(self, now: float, process: str) -> bool:
        """Whether it may be asked: not if it is gone from where we reached it."""
        peer = self._peer(process)
        reached = self._reached.get(process)
        elsewhere = reached not in (None, self.routing.address(process))
        return elsewhere or (not peer.down and peer.suspect_until <= now)

    def _reach_anew(self) -> None:
        """Keep up links to the nodes that were used, where they are now: who takes
        over is said by those that we have a link to."""
        for process, reached in tuple(self._reached.items()):
            address = self.routing.address(process)
            if address is not None and address != reached:
                self._reach(address)

    def _reach(self, address: PeerAddress) -> None:
        self._reached[address.process] = address
        self._peer(address.process).down = False
        self._effects.append(Reach(address))

    def _refresh_table(self, now: float) -> None:
        if not self._table_ticket:
            deadline = now + self._options.timeout_s
            question = Question(FetchTable(0), None, deadline, silent=True)
            self._table_ticket = -1  # under way: starting it may come back here
            self._table_ticket = self._start(now, question).ticket

    def _locate(self, now: float) -> None:
        if now - self._located_at >= LOCATE_PAUSE_S:
            self._located_at = now
            self._effects.append(Locate())

    def _next_request(self) -> int:
        self._last_request += 1
        return self._last_request
