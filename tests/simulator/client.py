"""Players: each asks with one key until it has an answer or gives up.

A client knows what it was told and nothing else; it keeps its own account of it
(`account.py`). It goes wherever an answer or its own impatience sends it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from hotseat.runtime.codec import pack
from hotseat.runtime.frame import (
    Accepted,
    Created,
    CreateMatch,
    Dispatch,
    Moved,
    Refused,
    Request,
    Response,
    Seated,
    Sync,
    TakeSeat,
    Unwatch,
    ViewUpdate,
)

from .game import GAME_NAME, GAME_VERSION, match_input
from .scheduler import MS

if TYPE_CHECKING:
    from .world import World

__all__ = ["READS", "RETRIED", "Player"]

RETRIED = frozenset(
    {"busy", "moved", "no_owner", "retry", "stopping", "not_committed", "degraded"}
)
"""Codes after which the same key is sent again."""

READS = frozenset(
    {"inactive_player", "game_over", "invalid_event", "stale_revision", "no_match"}
)
"""Refusals that tell of the state: they must be as fresh as any read."""


class Question:
    """One frame that wants one answer, under a new request number each time."""

    def __init__(
        self, make: Callable[[int], Request], key: tuple[object, ...], began_us: int
    ) -> None:
        self.make = make
        self.key = key
        self.began_us = began_us
        self.newest = 0
        self.attempts = 0
        self.floors: dict[int, int] = {}
        """By request number: the newest revision that had been acknowledged then."""


class Player:
    """Plays one seat of one table; there are others at it, at the same seat even."""

    def __init__(self, world: World, number: int) -> None:
        self.name = f"c{number}"
        self.world = world
        settings = world.settings
        self._settings = settings
        self._scheduler = world.scheduler
        self._draw = random.Random(f"player {settings.seed} {number}")
        self._table = number % settings.matches
        self.seat = str(number // settings.matches % 2)
        self._game = 0
        self.spy = number >= settings.players - settings.spies
        self._node = self._draw.choice(world.nodes)
        self._requests = 0
        self.last_code = ""
        self._question: Question | None = None
        self._pending: Question | None = None
        """To be asked again once it sits."""
        self._synced_at = ""
        self.match = ""
        self.epoch = 0
        self.session = 0
        self._token = ""
        self._action = 0
        self.seen = 0
        """The newest revision that it was shown or answered."""
        self._waited = 0
        self.storm = False
        self.answered_us = 0
        """When it was last given what it had asked for."""
        self._view: ViewUpdate | None = None
        self._scheduler.after(self._draw.randint(1, 400) * MS, self._begin)

    @property
    def table_key(self) -> str:
        """The creation key of the match that it plays, or is about to."""
        return f"t{self._table}.{self._game}"

    def status(self) -> str:
        """For whoever wonders what it is doing."""
        asked = self._question
        waits = "nothing" if asked is None else f"{asked.key} x{asked.attempts}"
        return (
            f"{self.table_key} {self.match} at {self._node}, session {self.session},"
            f" waits for {waits}, last refused {self.last_code}"
        )

    # What it wants.

    def _begin(self) -> None:
        """To the next match of its table."""
        self.match, self.session, self.seen, self._view = "", 0, 0, None
        self._action = 0
        self._synced_at = ""
        self._pending = None
        key = self.table_key
        self._token = f"token-{key}-{self.seat}-of-the-seat"
        given = match_input(self._settings)

        def make(request: int) -> Request:
            return CreateMatch(request, key, GAME_NAME, GAME_VERSION, given)

        self._ask(make, ("create", key))

    def _go_on(self) -> None:
        """The match is over: to the next one."""
        self._question = None
        if self._settings.unwatch and self._synced_at:
            unwatch = Unwatch(0, self.match, self.epoch, self.seat)
            self.world.network.ask(self.name, self._synced_at, unwatch)
        self.match, self.session = "", 0
        self._game += 1
        self._scheduler.after(20 * MS, self._begin)

    def _think(self) -> None:
        pause_ms = 1 if self.storm else self._settings.think_ms
        if self.world.healed:
            pause_ms *= 2
        delay_us = int(pause_ms * MS * (0.5 + self._draw.random()))
        self._scheduler.after(delay_us, self._act, self.match, self.session)

    def _act(self, match: str, session: int) -> None:
        if self._question is not None or (match, session) != (self.match, self.session):
            return
        if self._synced_at != self._node or self._draw.random() < 0.03:
            self._sync()
        if self._draw.random() < 0.02:
            self._renew()
            return
        if self.spy and self._draw.random() < 0.4:
            self._elsewhere()
        elif self._waits_for_others():
            self.answered_us = self._scheduler.now_us  # it could act, and will
            self._think()
            return
        self._action += 1
        action, seat = self._action, self.seat
        event, payload = self._choose()
        base = self.seen if self._draw.random() < 0.3 else None
        packed = pack(payload)

        def make(request: int) -> Request:
            return Dispatch(
                request, match, self.epoch, seat, session, action, event, packed, base
            )

        self._ask(make, ("act", match, seat, session, action))

    def _waits_for_others(self) -> bool:
        """By its last view it is not its turn: it waits, mostly, and not for ever."""
        view = self._view
        if view is None or self.seat in view.active_players:
            return False
        self._waited += 1
        if self._waited > 4 or self._draw.random() < 0.1:
            self._waited = 0
            return False
        return True

    def _choose(self) -> tuple[str, object]:
        """Something to do; not always something that may be done."""
        draw = self._draw.random()
        if self.spy or draw < self._settings.mischief:
            return "add", -1
        draw = self._draw.random()
        view = self._view
        if view is not None and view.state == "duel":
            return ("switch", None) if draw < 0.3 else ("pass", None)
        return ("add", self._draw.randint(1, 2)) if draw > 0.1 else ("switch", None)

    def _renew(self) -> None:
        """A new session of the seat: others may sit there too, in theirs."""
        seat = self.seat

        def make(request: int) -> Request:
            return TakeSeat(request, self.match, self.epoch, seat, self._token, True)

        self._ask(make, ("seat",))

    def _sync(self) -> None:
        """Ask for views here; nobody waits for the answer."""
        if not self.match:
            return
        self._requests += 1
        self._synced_at = self._node
        account = self.world.account
        account.asked_view(self, self._node, self._requests)
        sync = Sync(
            self._requests,
            self.match,
            self.epoch,
            self.seat,
            self.session,
            seen=self.seen,
        )
        self.world.network.ask(self.name, self._node, sync)

    # Asking.

    def _ask(self, make: Callable[[int], Request], key: tuple[object, ...]) -> None:
        self._question = Question(make, key, self._scheduler.now_us)
        self._attempt(self._question)

    def _attempt(self, question: Question) -> None:
        if self._question is not question:
            return
        waited_ms = (self._scheduler.now_us - question.began_us) // MS
        if waited_ms > self._settings.patience_ms and question.key[0] == "act":
            self.world.trace.counts["outcome_unknown"] += 1
            self._question = None
            self._synced_at = ""
            self._think()
            return
        self._requests += 1
        question.newest = self._requests
        question.attempts += 1
        question.floors[self._requests] = self.world.account.finished(self.match)
        if len(question.floors) > 8:
            del question.floors[min(question.floors)]
        self.world.network.ask(self.name, self._node, question.make(self._requests))
        impatience_ms = 5 if self.storm else self._settings.impatience_ms
        jitter = 0.75 + self._draw.random() / 2
        delay_us = int(impatience_ms * MS * jitter)
        self._scheduler.after(delay_us, self._impatient, question, question.attempts)

    def _impatient(self, question: Question, attempts: int) -> None:
        if self._question is question and question.attempts == attempts:
            if self._draw.random() < 0.5:
                self._elsewhere()
            self._attempt(question)

    def _again(self, question: Question, pause_ms: int) -> None:
        attempts = question.attempts
        delay_us = int(pause_ms * MS * (0.5 + self._draw.random()))
        self._scheduler.after(delay_us, self._impatient_now, question, attempts)

    def _impatient_now(self, question: Question, attempts: int) -> None:
        if question.attempts == attempts:
            self._attempt(question)

    def _elsewhere(self) -> None:
        self._node = self._draw.choice(self.world.nodes)

    # What comes.

    def reset(self, node: str) -> None:
        """The connection to a node broke."""
        if node == self._synced_at:
            self._synced_at = ""
        if node == self._node:
            self._elsewhere()
            if self._question is not None:
                self._again(self._question, 10)

    def arrived(self, node: str, frame: Response) -> None:
        if isinstance(frame, ViewUpdate):
            self._on_view(node, frame)
            return
        question = self._question
        if question is None or frame.request not in question.floors:
            if isinstance(frame, Accepted):
                self.world.account.late(self, frame)
            return
        if isinstance(frame, Moved):
            if frame.request == question.newest:
                self._on_moved(question, frame)
        elif isinstance(frame, Refused):
            self._on_refused(node, question, frame)
        else:
            self._question = None
            self._on_done(question, frame)

    def _on_moved(self, question: Question, moved: Moved) -> None:
        if moved.owner and moved.owner != self._node:
            self._node = moved.owner
            self._again(question, 1)
        else:
            self._elsewhere()
            self._again(question, 60)

    def _on_done(self, question: Question, frame: Response) -> None:
        self.answered_us = self._scheduler.now_us
        if isinstance(frame, Created):
            self.match, self.epoch = frame.match, frame.epoch
            self.world.account.created(self, frame)
            self._renew()
        elif isinstance(frame, Seated):
            self._on_seated(frame)
        elif isinstance(frame, Accepted):
            self.world.account.acknowledged(self, question, frame)
            self.seen = max(self.seen, frame.revision)
            self._think()

    def _on_seated(self, seated: Seated) -> None:
        pending, self._pending = self._pending, None
        self._synced_at = ""
        if pending is not None and seated.session == self.session:
            self._question = pending
            self._attempt(pending)
            return
        if seated.session != self.session:
            self.session, self._action = seated.session, 0
        self._action = max(self._action, seated.next_action - 1)
        self._think()

    def _on_refused(self, node: str, question: Question, frame: Refused) -> None:
        code = self.last_code = frame.code
        self.world.trace.counts[f"refused_{code}"] += 1
        if code in READS:
            self.answered_us = self._scheduler.now_us
            self.world.account.read(self, node, question, frame)
        if frame.request != question.newest:
            return
        if code in RETRIED:
            if self._draw.random() < 0.1:
                self._elsewhere()
            self._again(question, 40)
        elif code in ("not_seated", "resume_seat") and question.key[0] == "act":
            self._question = None
            self._sit_again(question)
        elif code == "unknown_game":
            self._elsewhere()
            self._again(question, 500)
        elif code in ("game_over", "match_lost", "unknown_match", "quarantined"):
            self.world.account.ended(self, code)
            self._go_on()
        elif code == "expired_key" and question.key[0] == "act":
            self._question = None
            self.session = 0
            self._renew()
        else:
            self._question = None
            self._synced_at = ""
            self._think()

    def _sit_again(self, asked: Question) -> None:
        """Show the token to the new owner, then ask the same once more."""

        def make(request: int) -> Request:
            return TakeSeat(
                request,
                self.match,
                self.epoch,
                self.seat,
                self._token,
                session=self.session,
            )

        self._pending = asked
        self._ask(make, ("seat",))

    def _on_view(self, node: str, view: ViewUpdate) -> None:
        self.world.account.viewed(self, node, view)
        if view.match != self.match or view.revision < self.seen:
            return
        self.seen = view.revision
        self._view = view
        if view.ended and self._question is None:
            self.world.account.ended(self, "view")
            self._go_on()


def view_key(view: ViewUpdate) -> tuple[str, int, str]:
    """What a view is of."""
    return view.match, view.revision, view.seat


def view_bytes(view: ViewUpdate) -> bytes:
    """What it shows."""
    shown = (view.turn, view.state, view.active_players, view.deadline_ms, view.view)
    return msgspec.msgpack.encode(shown)
