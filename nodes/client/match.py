"""A match, a seat and a spectator's place, as a client holds them."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio

from ...engine.record import Record, record_from_json
from ...runtime import frame as wire
from ...runtime.codec import pack, unpack
from ...runtime.errors import CodecError
from .effect import Watch
from .outcome import (
    Accepted,
    OutcomeUnknown,
    Refusal,
    WatchEnded,
    engine_refusal,
)
from .view import KeptUpdate, View, ViewSlot, view_of

if TYPE_CHECKING:
    from ...engine.takeback import UndoVerb
    from .shell import Client

__all__ = ["RemoteMatch", "Seat", "Spectator", "UpdateStream", "ViewStream"]

UPDATES_KEPT = 32
"""Of a place whose every update is wanted: how far its slowest reader may lag."""


class RemoteMatch:
    """A match somewhere in the cluster: where to sit down, watch, or read the log.

    `epoch` names the life of the match: it goes with every message, so that no
    node takes another match of the same id for this one.
    """

    def __init__(self, client: Client, created: wire.Created) -> None:
        self._client = client
        self.id = created.match
        self.epoch = created.epoch
        self.game = created.game
        self.version = created.version
        self.seats = created.seats

    def __repr__(self) -> str:
        return f"<RemoteMatch {self.id} of {self.game!r} in epoch {self.epoch}>"

    async def take(
        self,
        seat: str,
        resume: str | None = None,
        *,
        fresh: bool = False,
        alone: bool = False,
        session: int = 0,
        timeout_s: float | None = None,
    ) -> Seat | Refusal:
        """Sit down at a seat, or take it back with the token of `Seat.resume`.

        `fresh` begins a new session at a seat that is taken back, `session` resumes
        that one (0: the newest), `alone` ends what others do at the seat. The token is
        drawn here, so that a repeat after a lost answer takes the seat only once.

        Raises:
            OutcomeUnknown: No answer in time. Its `key` is the token to try again.
            ClusterUnreachable: Nothing could be sent in that time.
        """
        token = resume or secrets.token_urlsafe(24)
        frame = wire.TakeSeat(
            0, self.id, self.epoch, seat, token, fresh, session, alone
        )
        answer = await self._client._write(frame, self.id, timeout_s, token)
        if isinstance(answer, Refusal):
            return answer
        assert isinstance(answer, wire.Seated), f"{answer!r} answers a TakeSeat"
        return Seat(self._client, self, answer)

    def watch(self) -> Spectator:
        """Watch as a spectator."""
        return Spectator(self._client, self)

    async def log(self, *, timeout_s: float | None = None) -> list[Record] | Refusal:
        """All records of a match that has ended.

        Raises:
            NoAnswer: No answer in time.
            ClusterUnreachable: Nothing could be sent in that time.
        """
        records: list[Record] = []
        first: int | None = 0
        while first is not None:
            frame = wire.FetchLog(0, self.id, self.epoch, first)
            page = await self._client._read(frame, self.id, timeout_s)
            if isinstance(page, Refusal):
                return page
            assert isinstance(page, wire.LogPage), f"{page!r} answers a FetchLog"
            records += [record_from_json(record) for record in unpack(page.records)]
            first = page.next
        return records


class Spectator:
    """A place from which a match is seen: seat "" sees the public view."""

    def __init__(
        self, client: Client, match: RemoteMatch, seat: str = "", session: int = 0
    ) -> None:
        self._client = client
        self._session = session
        self._watch: Watch | None = None
        self._slot = ViewSlot()
        self._legal = self._whole = False
        self.match = match
        self.seat = seat

    @property
    def view(self) -> View | None:
        """The last view seen; None before the first."""
        return self._slot.view

    def views(self, *, legal: bool = False) -> ViewStream:
        """Each newer view as it comes, beginning with the one now; newest wins.

        `legal` asks for the seat's legal actions too. See `ViewStream`.
        """
        self._drop_refused()
        return ViewStream(self, legal)

    def updates(
        self,
        *,
        legal: bool = False,
        since: int = -1,
        on_news: Callable[[], None] | None = None,
    ) -> UpdateStream:
        """Every update as it comes, with what a page draws; see `UpdateStream`.

        The first is the newest view; with `since`, a revision that was seen elsewhere,
        what came after it, if that is still known.
        """
        self._drop_refused()
        self._whole = True
        return UpdateStream(self, legal, since, on_news)

    async def resync(
        self,
        *,
        legal: bool = False,
        whole: bool = False,
        timeout_s: float | None = None,
    ) -> View | Refusal:
        """Ask for the current view, and wait for it; `whole` asks for what a page draws
        beside it, too.

        Raises:
            NoAnswer: No answer in time.
            ClusterUnreachable: Nothing could be sent in that time.
        """
        self._drop_refused()
        self._whole |= whole
        watch = self._ensure_watch(legal)
        if isinstance(watch, Refusal):
            return watch
        match = self.match
        # No less than others who watch the same want: a node knows the newest `Sync`.
        frame = wire.Sync(
            0,
            match.id,
            match.epoch,
            self.seat,
            self._session,
            watch.legal,
            whole=watch.whole,
        )
        answer = await self._client._read(frame, match.id, timeout_s)
        if isinstance(answer, Refusal):
            return answer
        assert isinstance(answer, wire.ViewUpdate), f"{answer!r} answers a Sync"
        return watch.slot.view or view_of(answer)

    def close(self) -> None:
        """Receive no more views; `view` stays. Idempotent."""
        if self._watch is not None:
            self._client._unwatch(self._watch)
            self._watch = None

    def _drop_refused(self) -> None:
        """Give a watch that was refused another try."""
        if self._watch is not None and self._watch.refusal is not None:
            self.close()

    def _ensure_watch(self, legal: bool, since: int = -1) -> Watch | Refusal:
        """The watch that feeds our slot: the one there is, if it shows enough."""
        watch = self._watch
        if watch is not None:
            enough = legal <= self._legal and self._whole <= watch.whole
            if enough or watch.refusal is not None:
                return watch
        self._legal |= legal
        if self._whole:
            self._slot.keep = UPDATES_KEPT
        match = self.match
        wanted = Watch(
            match.id,
            match.epoch,
            self.seat,
            self._session,
            self._legal,
            self._slot,
            self._whole,
            since,
        )
        found = self._client._watch(wanted)
        if isinstance(found, Watch):
            self.close()
            self._watch, self._slot = found, found.slot
        return found


class ViewStream:
    """An async iterator over the views of one place; it may be left at any time.

    It ends after the view in which the match has ended. Lost links, owners that
    change and nodes that restart are made good underneath, unseen.

    Raises, from the iteration:
        WatchEnded: A node refuses to send more; see its `refusal`.
    """

    def __init__(self, place: Spectator, legal: bool) -> None:
        self._place = place
        self._legal = legal
        self._read = 0  # the edition that this reader had last
        self._ended = False

    def __aiter__(self) -> ViewStream:
        return self

    async def __anext__(self) -> View:
        if self._ended:
            raise StopAsyncIteration
        while True:
            watch = self._place._ensure_watch(self._legal)
            if isinstance(watch, Refusal):
                raise WatchEnded(watch)
            slot = watch.slot
            if slot.edition != self._read:
                self._read = slot.edition
                view = slot.view
                assert view is not None, "an edition is a view"
                self._ended = view.ended
                return view
            if watch.refusal is not None:
                raise WatchEnded(watch.refusal)
            await self._place._client._news(watch)


class UpdateStream:
    """An async iterator over the updates of one place, each of them once.

    A reader that falls more than `UPDATES_KEPT` behind goes on with the newest view.
    It does not end with the match. Lost links, owners that change and nodes that
    restart are made good underneath. Who waits for other things too takes updates with
    `take`, and is told by `on_news` when to look again.

    Raises, from the iteration and from `take`:
        WatchEnded: A node refuses to send more; see its `refusal`.
    """

    def __init__(
        self,
        place: Spectator,
        legal: bool,
        since: int,
        on_news: Callable[[], None] | None = None,
    ) -> None:
        self._place = place
        self._legal = legal
        self._since = since
        self._on_news = on_news
        self._watch: Watch | None = None
        self._read = -1  # the edition that this reader had last; -1: none yet
        self._ready: list[KeptUpdate] = []  # at most UPDATES_KEPT

    def __aiter__(self) -> UpdateStream:
        return self

    async def __anext__(self) -> KeptUpdate:
        while True:
            update = self.take()
            if update is not None:
                return update
            assert self._watch is not None
            await self._place._client._news(self._watch)

    def take(self) -> KeptUpdate | None:
        """The next update; None: it is not there yet, and `on_news` is called once
        there is something new."""
        if not self._ready:
            self._look()
        if self._ready:
            return self._ready.pop(0)
        if self._on_news is not None and self._watch is not None:
            self._place._client._listen(self._watch, self._on_news)
        return None

    def close(self) -> None:
        """Be told of no more news. Idempotent."""
        if self._on_news is not None and self._watch is not None:
            self._place._client._listen_no_more(self._watch, self._on_news)

    def _look(self) -> None:
        """
        Raises:
            WatchEnded: There will be no more.
        """
        watch = self._place._ensure_watch(self._legal, self._since)
        if isinstance(watch, Refusal):
            raise WatchEnded(watch)
        if watch is not self._watch:
            self.close()
            self._watch = watch
        slot = watch.slot
        if self._read < 0 and slot.edition:
            known = self._since >= 0
            self._read = slot.oldest if known else slot.edition - 1
        if slot.edition > max(self._read, 0):
            self._ready.extend(slot.after(self._read))
            self._read = slot.edition
        elif watch.refusal is not None:
            raise WatchEnded(watch.refusal)


class Seat(Spectator):
    """A seat that this client holds.

    `resume` is a secret: with it the seat is taken back later. Actions are numbered
    from 1 per session; the number is the idempotency key.
    """

    def __init__(self, client: Client, match: RemoteMatch, seated: wire.Seated) -> None:
        super().__init__(client, match, seated.seat, seated.session)
        self.session = seated.session
        self.resume = seated.resume
        self._next_action = seated.next_action
        client._hold(match.id, match.epoch, seated.seat, self.session, self.resume)
        self._reached = (0, -1)  # history and revision that an answer named last
        # Invariant: at most options.unknown_max entries, oldest first.
        self._unknown: dict[int, wire.Dispatch | wire.TakeBack] = {}

    def __repr__(self) -> str:
        return f"<Seat {self.seat!r} of {self.match.id}, session {self.session}>"

    @property
    def unknown(self) -> tuple[int, ...]:
        """Actions that may have happened or not: timed out, or cancelled here."""
        return tuple(self._unknown)

    async def dispatch(
        self,
        event: str,
        payload: Any = None,
        *,
        base_revision: int | None = None,
        action: int | None = None,
        timeout_s: float | None = None,
    ) -> Accepted | Refusal:
        """Act. Returns once the action is committed, or refused.

        With `base_revision` it is refused as stale if the match has moved on. `action`
        is its number in the session, where the caller counts: the same one again is
        the same action.

        Raises:
            OutcomeUnknown: No answer in time: `ask_again(error.key)`, or resync.
            ClusterUnreachable: Nothing could be sent in that time.
        """
        try:
            packed = pack(payload)
        except CodecError as error:
            return self._client._refuse_here(error)
        frame = wire.Dispatch(
            0,
            self.match.id,
            self.match.epoch,
            self.seat,
            self.session,
            self._draw_action(action),
            event,
            packed,
            base_revision,
        )
        return await self._act(frame, timeout_s)

    async def ask_undo(
        self,
        to: int | None = None,
        *,
        base_revision: int | None = None,
        action: int | None = None,
        timeout_s: float | None = None,
    ) -> Accepted | Refusal:
        """Ask to go back to the revision `to`; done at once if nobody must agree.

        None is the revision before this seat's newest action, or before the newest of
        all if the game lets anyone ask. It is refused as stale if somebody has acted
        since `base_revision`, by default the newest known here. Who must agree
        finds the request in their views, as `View.undo`. `action` is as for `dispatch`.

        Raises:
            OutcomeUnknown: No answer in time: `ask_again(error.key)`, or resync.
            ClusterUnreachable: Nothing could be sent in that time.
        """
        if base_revision is None:
            _, seen = max(self._reached, (self._slot.history, self._slot.revision))
            base_revision = seen if seen >= 0 else None
        frame = self._take_back("ask", to, base_revision, action)
        return await self._act(frame, timeout_s)

    async def answer_undo(
        self,
        agree: bool,
        *,
        request: int | None = None,
        action: int | None = None,
        timeout_s: float | None = None,
    ) -> Accepted | Refusal:
        """Answer the request to take back that waits; the seat that asked may withdraw
        it with False.

        `request` is its revision, by default that of the last view seen: an answer
        never meets another request than the one that was looked at. `action` is as for
        `dispatch`.

        Raises:
            OutcomeUnknown: No answer in time: `ask_again(error.key)`, or resync.
            ClusterUnreachable: Nothing could be sent in that time.
        """
        if request is None:
            if self.view is None or self.view.undo is None:
                return engine_refusal("no_undo_request")
            request = self.view.undo.revision
        verb: UndoVerb = "agree" if agree else "decline"
        frame = self._take_back(verb, request, None, action)
        return await self._act(frame, timeout_s)

    async def ask_again(
        self, key: int, *, timeout_s: float | None = None
    ) -> Accepted | Refusal:
        """Send an action of unknown outcome again, under the same key.

        Raises:
            KeyError: That key has a known outcome, or is too old to be remembered.
            OutcomeUnknown: No answer in time, again.
            ClusterUnreachable: Nothing could be sent in that time.
        """
        return await self._act(self._unknown[key], timeout_s)

    @property
    def next_action(self) -> int:
        """The number of the next action, if nobody else counts."""
        return self._next_action

    def _draw_action(self, action: int | None = None) -> int:
        if action is None:
            action = self._next_action
        self._next_action = max(self._next_action, action + 1)
        return action

    def _take_back(
        self,
        verb: UndoVerb,
        revision: int | None,
        base_revision: int | None,
        action: int | None,
    ) -> wire.TakeBack:
        match = self.match
        return wire.TakeBack(
            0,
            match.id,
            match.epoch,
            self.seat,
            self.session,
            self._draw_action(action),
            verb,
            revision,
            base_revision,
        )

    async def _act(
        self, frame: wire.Dispatch | wire.TakeBack, timeout_s: float | None
    ) -> Accepted | Refusal:
        try:
            answer = await self._client._write(
                frame, self.match.id, timeout_s, frame.action
            )
        except (OutcomeUnknown, anyio.get_cancelled_exc_class()):
            self._unknown[frame.action] = frame
            while len(self._unknown) > self._client.options.unknown_max:
                del self._unknown[next(iter(self._unknown))]
            raise
        self._unknown.pop(frame.action, None)
        if isinstance(answer, Refusal):
            return answer
        assert isinstance(answer, wire.Accepted), f"{answer!r} answers an action"
        self._reached = max(self._reached, (self._slot.history, answer.revision))
        return Accepted(frame.action, answer.revision, answer.index)
