"""What a node remembers of the newest actions: when each came, was judged, committed,
answered. In memory alone, and bounded: for an operator who asks soon after.

It must cost next to nothing where actions pass: a stage is one tuple at the end of a
ring. Nothing is looked up or joined before somebody asks (`explain`); then all is read
through. Names that a client chose are cut, and payloads are never kept, so that an
entry has a largest size. Times are those of a monotonic clock, in seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from ..engine.refusal import Refusal
from .command import Act, Answer, Applied, Denied
from .command import TakeBack as TakeBackCommand
from .frame import Accepted, Dispatch, Refused, Response, TakeBack
from .replication.message import Entry
from .replication.output import Trail
from .route import Route

__all__ = [
    "ActionTrace",
    "Answered",
    "Arrived",
    "Committed",
    "Decided",
    "Forwarded",
    "Key",
    "Traces",
]

Key: TypeAlias = tuple[str, str, int, int]
"""Of an action: match, seat, session, action."""

_NAME_MAX = 64
"""Characters that are kept of a name."""


class Arrived(NamedTuple):
    """It came to the node that owns its match, or seemed to."""

    at_s: float
    match: str
    seat: str
    session: int
    action: int
    event: str
    route: Route
    request: int


class Forwarded(NamedTuple):
    """It came to another node, which sent it on."""

    at_s: float
    match: str
    seat: str
    session: int
    action: int
    event: str
    route: Route
    request: int
    owner: str


class Decided(NamedTuple):
    """The match judged it. `record`: its number in the log; -1: it was refused, as
    `refusal` says."""

    at_s: float
    match: str
    seat: str
    session: int
    action: int
    route: Route
    request: int
    record: int
    revision: int
    again: bool
    """It had been done before: the first answer was given again."""
    refusal: Refusal | None


class Committed(NamedTuple):
    """A record of the match is committed, and in this node's state of it. `trail`: how
    it came to be, at its owner."""

    at_s: float
    match: str
    record: int
    shard: int
    epoch: int
    seq: int
    trail: Trail | None


class Answered(NamedTuple):
    """An answer left for whoever asked. `code` "": it was done."""

    at_s: float
    route: Route
    request: int
    code: str


class ActionTrace(NamedTuple):
    """What a node knows of one action, each oldest first: it may have been asked for
    more than once."""

    arrived: tuple[Arrived, ...]
    forwarded: tuple[Forwarded, ...]
    decided: tuple[Decided, ...]
    answered: tuple[Answered, ...]


class Traces:
    """The rings of one node."""

    def __init__(self, kept: int, now_s: Callable[[], float]) -> None:
        """`kept` entries of each stage."""
        self.kept = kept
        self._now_s = now_s
        # Plain tuples: a named one costs several times as much to make.
        self._arrived: deque[tuple[Any, ...]] = deque(maxlen=kept)
        self._forwarded: deque[tuple[Any, ...]] = deque(maxlen=kept)
        self._decided: deque[tuple[Any, ...]] = deque(maxlen=kept)
        self._committed: deque[tuple[Any, ...]] = deque(maxlen=kept)
        self._answered: deque[tuple[Any, ...]] = deque(maxlen=kept)

    # What passes.

    def note_arrived(self, batch: Iterable[tuple[Route, object]]) -> None:
        """One drain's requests, for matches that are served here."""
        now_s = self._now_s()
        for route, frame in batch:
            if isinstance(frame, Dispatch):
                event = frame.event
            elif isinstance(frame, TakeBack):
                event = frame.verb
            else:
                continue
            self._arrived.append(
                (
                    now_s,
                    frame.match,
                    frame.seat[:_NAME_MAX],
                    frame.session,
                    frame.action,
                    event[:_NAME_MAX],
                    route,
                    frame.request,
                )
            )

    def note_forwarded(self, route: Route, frame: object, owner: str) -> None:
        """It is on its way to its owner."""
        if isinstance(frame, Dispatch | TakeBack):
            event = frame.event if isinstance(frame, Dispatch) else frame.verb
            self._forwarded.append(
                (
                    self._now_s(),
                    frame.match,
                    frame.seat[:_NAME_MAX],
                    frame.session,
                    frame.action,
                    event[:_NAME_MAX],
                    route,
                    frame.request,
                    owner,
                )
            )

    def note_decided(
        self,
        match: str,
        asked: Act | TakeBackCommand,
        route: Route,
        request: int,
        answer: Answer,
        changed: bool,
    ) -> None:
        """The match has judged it; `changed`: the log has it now."""
        index, revision, refusal = -1, -1, None
        if isinstance(answer, Applied):
            index, revision = answer.index, answer.revision
        elif isinstance(answer, Denied):
            revision, refusal = answer.revision, answer.refusal
        self._decided.append(
            (
                self._now_s(),
                match,
                asked.seat,
                asked.session,
                asked.action,
                route,
                request,
                index,
                revision,
                not changed and index >= 0,
                refusal,
            )
        )

    def note_committed(
        self, shard: int, entries: Iterable[Entry], trail: Trail | None
    ) -> None:
        """These entries of a shard are committed, and applied here."""
        now_s = self._now_s()
        for entry in entries:
            self._committed.append(
                (
                    now_s,
                    entry.match,
                    entry.index,
                    shard,
                    entry.epoch,
                    entry.seq,
                    trail,
                )
            )

    def note_answered(self, route: Route, frame: Response) -> None:
        """It leaves."""
        if isinstance(frame, Accepted):
            code = ""
        elif isinstance(frame, Refused):
            code = frame.code
        else:
            return
        self._answered.append((self._now_s(), route, frame.request, code))

    # What is asked.

    @property
    def now_s(self) -> float:
        """By the clock of the entries."""
        return self._now_s()

    def of_action(self, key: Key) -> ActionTrace:
        """All that is known of an action."""
        arrived = [Arrived(*entry) for entry in self._arrived if entry[1:5] == key]
        asked = {(entry.route, entry.request) for entry in arrived}
        return ActionTrace(
            tuple(arrived),
            tuple(Forwarded(*entry) for entry in self._forwarded if entry[1:5] == key),
            tuple(Decided(*entry) for entry in self._decided if entry[1:5] == key),
            tuple(Answered(*e) for e in self._answered if (e[1], e[2]) in asked),
        )

    def key_of(self, match: str, record: int) -> Key | None:
        """The key of the action that led to that record."""
        for entry in reversed(self._decided):
            if entry[1] == match and entry[7] == record:
                return entry[1], entry[2], entry[3], entry[4]
        return None

    def of_record(self, match: str, index: int) -> Committed | None:
        """When this node had a record of a match."""
        place = (match, index)
        for entry in reversed(self._committed):
            if entry[1:3] == place:
                return Committed(*entry)
        return None
