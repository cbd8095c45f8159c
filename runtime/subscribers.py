"""Who gets views of a match, and what each is still owed.

Pure: it is told what was committed and says which frames go where. One update per
subscriber and flush, at the newest committed revision; a view is drawn once per seat
and revision, however many watch it. Nothing here sees what is not committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

import msgspec

from ..engine.errors import ViewError
from ..engine.jsonvalue import Json
from ..engine.redact import redact_step
from ..engine.refusal import REFUSALS, Fault, fault_from
from ..engine.shown import shown_derived, shown_step
from ..engine.snapshot import Snapshot
from ..engine.step import Batch, Step
from ..engine.takeback import UndoRequest
from .budget import NO_GUARD, BudgetExceeded, Guard
from .codec import pack_trusted
from .errors import CodecError
from .frame import Refused, Sync, ViewUpdate
from .match_state import MatchState
from .options import MatchOptions
from .route import Route

__all__ = ["Delivery", "Subscriber", "Subscribers"]

_NULL = msgspec.Raw(b"\xc0")
_NO_STEPS = msgspec.Raw(b"\x90")

# Requests of one subscriber that wait for the same update: while nothing is committed
# a client may go on asking.
_OWED_MAX = 16

Delivery = tuple[Route, ViewUpdate | Refused]
_Asker = tuple[str, str]


class Subscriber:
    """One seat, or spectator (seat ""), of one client."""

    __slots__ = ("legal", "owed", "revision", "route", "seat", "session", "whole")

    def __init__(self, route: Route, sync: Sync) -> None:
        self.route = route
        self.seat = sync.seat
        self.session = sync.session
        self.legal = sync.legal
        self.whole = sync.whole
        self.revision = None if sync.since < 0 else sync.since
        """Of the last update; None before the first, if the asker has no view yet."""
        self.owed: list[int] = [sync.request]
        """Requests that wait for an update."""


class Subscribers:
    """The subscribers of one match, by client and seat: the newest way to a client
    replaces an older one.

    Invariant: at most `subscribers_max` of them, and `steps_kept` steps.
    """

    def __init__(
        self,
        epoch: int,
        options: MatchOptions,
        guard: Guard = NO_GUARD,
        on_overrun: Callable[[str, BudgetExceeded], bool] = lambda seat, stop: False,
        history: int = 0,
        retold: Callable[[int], Sequence[Batch]] = lambda since: (),
    ) -> None:
        """`on_overrun` is told the seat whose view took too long; it says if that was
        once too often: then no more views are drawn. `retold` gives what was done after
        a revision, from the log, or nothing."""
        self._epoch = epoch
        self._options = options
        self._guard = guard
        self._on_overrun = on_overrun
        self._history = history
        self._by_asker: dict[tuple[_Asker, str], Subscriber] = {}
        self._steps: list[Step] = []
        self._retold = retold
        self._forgotten = -1  # what came next is not to be had from the log, either
        self._flushed: tuple[int, int] | None = None  # revision, credit_ms
        self._owing = False
        self._faults: list[tuple[str, Fault]] = []
        self._failing: set[str] = set()

    def __len__(self) -> int:
        return len(self._by_asker)

    def __iter__(self) -> Iterator[Subscriber]:
        return iter(self._by_asker.values())

    def add(self, route: Route, sync: Sync) -> bool:
        """Owe an update to whoever sent `sync`.

        False: there are too many already, or too many that this one is owed.
        """
        key = (route.asker, sync.seat)
        known = self._by_asker.get(key)
        if known is None:
            if len(self._by_asker) >= self._options.subscribers_max:
                return False
            self._by_asker[key] = Subscriber(route, sync)
        elif len(known.owed) >= _OWED_MAX:
            return False
        else:
            known.route, known.session, known.legal = route, sync.session, sync.legal
            known.whole = sync.whole
            if sync.since >= 0:
                known.revision = sync.since
            known.owed.append(sync.request)
        self._owing = True
        return True

    def remove(self, route: Route, seat: str) -> None:
        """Send no more to that client about that seat."""
        self._by_asker.pop((route.asker, seat), None)

    def remove_session(self, seat: str, session: int) -> list[tuple[Route, int]]:
        """Send no more to whoever watched as that session of the seat.

        Returns the requests that are still owed an answer.
        """
        gone = [s for s in self if s.seat == seat and s.session == session]
        self._remove(gone)
        return _owed(gone)

    def remove_all(self) -> list[tuple[Route, int]]:
        """Send no more to anybody; returns the requests that are owed an answer."""
        gone = list(self)
        self._remove(gone)
        return _owed(gone)

    def remove_route(self, peer: str, client: str | None) -> None:
        """Send no more to the client of `peer`, or to `peer` itself (None)."""
        way = (peer, client)
        self._remove([s for s in self if (s.route.peer, s.route.client) == way])

    def committed(self, batch: Batch) -> None:
        """Keep the steps of a batch that was committed, for the next updates.

        What came before another version of the game took over is not told any more:
        only the older one knows what of it a seat may see.
        """
        if batch.steps[0].kind == "upgrade":
            self._steps.clear()
        self._steps.extend(batch.steps)
        del self._steps[: -self._options.steps_kept]

    def flush(self, state: MatchState) -> list[Delivery]:
        """What is to be sent now that `state` is committed."""
        now = (state.revision, state.credit_ms)
        if self._flushed == now and not self._owing:
            return []
        # A credit alone changes the deadline that everybody sees.
        again = self._flushed is not None and self._flushed[1] != state.credit_ms
        self._flushed = now
        self._owing = False
        if not self._by_asker:
            return []
        self._recall(state.revision)
        drawing = _Drawing(
            state, self._epoch, self._steps, self._options, self._history
        )
        deliveries: list[Delivery] = []
        for subscriber in self._by_asker.values():
            if again or subscriber.owed or subscriber.revision != state.revision:
                deliveries += self._update(subscriber, drawing)
                if drawing.given_up:
                    break
        return deliveries

    def _recall(self, revision: int) -> None:
        """Have the steps from the log that a page has missed, if they are few: who has
        just taken the match over, or loaded it, has kept none."""
        least = max(self._forgotten, revision - self._options.steps_kept - 1)
        missed = (s.revision for s in self if s.whole and s.revision is not None)
        since = min((seen for seen in missed if seen > least), default=revision)
        first = self._steps[0].snapshot.revision if self._steps else revision + 1
        if since >= min(first - 1, revision):
            return
        steps = [
            step
            for batch in self._retold(since)
            for step in batch.steps
            if since < step.snapshot.revision < first
        ]
        told = [step.snapshot.revision for step in steps]
        upgraded = any(step.kind == "upgrade" for step in steps)
        room = self._options.steps_kept - len(self._steps)
        if told == list(range(since + 1, first)) and len(told) <= room and not upgraded:
            self._steps[:0] = steps
        else:
            self._forgotten = since

    def take_faults(self) -> list[tuple[str, Fault]]:
        """(seat, fault) of views that failed since the last time.

        A seat whose view goes on failing is named once.
        """
        faults, self._faults = self._faults, []
        return faults

    def _update(self, subscriber: Subscriber, drawing: _Drawing) -> list[Delivery]:
        seat = subscriber.seat
        requests = subscriber.owed or [0]
        subscriber.owed = []
        frame: ViewUpdate | Refused
        try:
            frame = self._guard.run(
                drawing.match,
                drawing.update,
                seat,
                subscriber.legal,
                subscriber.revision,
                subscriber.whole,
            )
            self._failing.discard(seat)
        except ViewError as error:
            if seat not in self._failing:
                self._failing.add(seat)
                self._faults.append((seat, error.fault))
            frame = Refused(0, error.code, str(error), revision=drawing.revision)
        except BudgetExceeded as stop:
            drawing.overran(seat, stop)
            self._failing.add(seat)
            drawing.given_up = self._on_overrun(seat, stop)
            text = REFUSALS["view_error"]
            frame = Refused(0, "view_error", text, revision=drawing.revision)
        subscriber.revision = drawing.revision
        return [
            (subscriber.route, msgspec.structs.replace(frame, request=request))
            if request
            else (subscriber.route, frame)
            for request in requests
        ]

    def _remove(self, subscribers: list[Subscriber]) -> None:
        for subscriber in subscribers:
            self.remove(subscriber.route, subscriber.seat)


def _owed(subscribers: list[Subscriber]) -> list[tuple[Route, int]]:
    return [(s.route, request) for s in subscribers for request in s.owed]


class _Drawing:
    """Draws the views of one committed state, each at most once."""

    def __init__(
        self,
        state: MatchState,
        epoch: int,
        steps: list[Step],
        options: MatchOptions,
        history: int,
    ) -> None:
        self.match = state.match
        self.revision = state.revision
        self.given_up = False
        self._state = state
        self._epoch = epoch
        self._steps = steps
        self._history = history
        self._limit = options.view_bytes_max
        self._views: dict[str, msgspec.Raw | ViewError] = {}
        self._updates: dict[tuple[str, bool, int | None, bool], ViewUpdate] = {}

    def update(
        self, seat: str, legal: bool, since: int | None, whole: bool
    ) -> ViewUpdate:
        """The update of a seat that has seen the revision `since`.

        Raises:
            ViewError: The game's view failed.
        """
        key = (seat, legal, since, whole)
        update = self._updates.get(key)
        if update is None:
            update = self._updates[key] = self._draw(seat, legal, since, whole)
        return update

    def _draw(
        self, seat: str, legal: bool, since: int | None, whole: bool
    ) -> ViewUpdate:
        snapshot = self._state.snapshot
        ended = snapshot.meta.result is not None
        view = self._view(snapshot, seat)
        result = self._result if ended else _NULL
        room = self._limit - _size(view) - _size(result)
        actions = self._legal(snapshot, seat, room) if legal and seat else _NULL
        room -= _size(actions)
        shown = self._shown(snapshot, room) if whole else _NULL
        room -= _size(shown)
        return ViewUpdate(
            request=0,
            match=self._state.match,
            epoch=self._epoch,
            seat=seat,
            revision=snapshot.revision,
            turn=snapshot.position.turn,
            state=snapshot.position.name,
            active_players=tuple(snapshot.derived.active_players),
            deadline_ms=self._state.deadline_ms,
            ended=ended,
            view=view,
            result=result,
            legal=actions,
            steps=self._steps_since(seat, since, room, whole),
            undo=_undo(self._state.undo.request),
            shown=shown,
            history=self._history,
        )

    def overran(self, seat: str, stop: BudgetExceeded) -> None:
        """Draw no other view of that seat: it took too long."""
        why = str(stop)
        fault = Fault(stop.event, stop.label, type(stop).__name__, why, why)
        self._views[seat] = ViewError(REFUSALS["view_error"], fault)

    @cached_property
    def _result(self) -> msgspec.Raw:
        return _packed(self._state.snapshot.meta.result, self._limit)

    def _view(self, snapshot: Snapshot, seat: str) -> msgspec.Raw:
        view = self._views.get(seat)
        if view is None:
            machine = self._state.machine
            try:
                drawn = (
                    machine.player_view(snapshot, seat)
                    if seat
                    else machine.public_view(snapshot)
                )
                view = _packed(drawn, self._limit)
            except ViewError as error:
                view = error
            self._views[seat] = view
        if isinstance(view, ViewError):
            raise view
        return view

    def _legal(self, snapshot: Snapshot, seat: str, room: int) -> msgspec.Raw:
        machine = self._state.machine
        if machine.game.legal_actions is None:
            return _NULL
        return _packed(machine.legal_actions(snapshot, seat), room)

    def _shown(self, snapshot: Snapshot, room: int) -> msgspec.Raw:
        """What a page draws beside the view; null where there is no room for it."""
        game = self._state.machine.game
        shown = shown_derived(game, snapshot)
        seats = self._state.seats
        shown["match"] = {
            "game": game.name,
            "version": game.version,
            "players": list(seats),
            "undo": game.undo is not None,
        }
        shown["taken"] = [seat for seat, held in seats.items() if held.token_hash]
        try:
            return pack_trusted(shown, room)
        except CodecError:
            return _NULL

    def _steps_since(
        self, seat: str, since: int | None, room: int, whole: bool
    ) -> msgspec.Raw:
        """The redacted steps after `since`.

        None if they are no longer all kept, or too large beside the view: it says
        enough by itself.
        """
        if since is None or since == self.revision or not self._steps:
            return _NO_STEPS
        if self._steps[0].snapshot.revision > since + 1:
            return _NO_STEPS
        game = self._state.machine.game
        tell = self._whole_step if whole else partial(redact_step, game)
        missed = [
            tell(step, seat or None)
            for step in self._steps
            if step.snapshot.revision > since
        ]
        try:
            return pack_trusted(missed, room)
        except CodecError:
            return _NO_STEPS

    def _whole_step(self, step: Step, seat: str | None) -> Json:
        """A step with the view after it, as far as `seat` may see either."""
        machine, snapshot = self._state.machine, step.snapshot
        view = (
            machine.public_view(snapshot)
            if seat is None
            else machine.player_view(snapshot, seat)
        )
        return shown_step(machine.game, step, seat, view)


def _undo(
    request: UndoRequest | None,
) -> tuple[int, str, int, tuple[str, ...]] | None:
    if request is None:
        return None
    return request.revision, request.seat, request.to, request.agreed


def _size(raw: msgspec.Raw) -> int:
    return memoryview(raw).nbytes


def _packed(value: object, limit: int) -> msgspec.Raw:
    try:
        return pack_trusted(value, limit)
    except CodecError as error:
        fault = fault_from(error, event=None, label="packing a view")
        raise ViewError("the view cannot be sent", fault) from error
