"""What the tests of actors and supervisors share: an outlet that keeps, a held clock,
a committer that waits to be told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import trio

from hotseat.engine.record import Record
from hotseat.runtime.codec import pack, unpack
from hotseat.runtime.committer import LocalCommitter
from hotseat.runtime.frame import Dispatch, Refused, Response, Seated, ViewUpdate
from hotseat.runtime.match_change import Change
from hotseat.runtime.match_source import LogReader
from hotseat.runtime.route import Route

T = TypeVar("T")

ALICE = Route("alice")
BOB = Route("bob")
WATCHER = Route("watcher")
TOKEN_A = "token-of-alice-0000"
TOKEN_B = "token-of-bob-000000"


class HeldClock:
    """A wall clock that the test sets, or breaks."""

    def __init__(self, now_ms: int = 0) -> None:
        self.ms = now_ms
        self.readings_left: int | None = None

    def now_ms(self) -> int:
        if self.readings_left is not None:
            self.readings_left -= 1
            if self.readings_left < 0:
                raise OSError("the clock is broken")
        return self.ms

    def monotonic_s(self) -> float:
        return self.ms / 1_000


class TrioClock:
    """The wall clock of trio's mock time."""

    def now_ms(self) -> int:
        return round(trio.current_time() * 1_000)

    def monotonic_s(self) -> float:
        return trio.current_time()


class KeptOutlet:
    """Keeps what is delivered, in order."""

    def __init__(self) -> None:
        self.sent: list[tuple[Route, Response]] = []

    def deliver(self, route: Route, frame: Response) -> None:
        self.sent.append((route, frame))

    def take(self) -> list[tuple[Route, Response]]:
        """Everything since the last time."""
        sent, self.sent = self.sent, []
        return sent

    def only(self, kind: type[T]) -> T:
        """The one frame since the last time, which must be of that kind."""
        sent = self.take()
        assert len(sent) == 1, sent
        assert isinstance(sent[0][1], kind), sent
        return sent[0][1]

    def frames(self, kind: type[T], route: Route | None = None) -> list[T]:
        """The frames of a kind among those kept, which stay."""
        return [
            frame
            for where, frame in self.sent
            if isinstance(frame, kind) and route in (None, where)
        ]


class HeldCommitter(LocalCommitter):
    """Commits when the test says so; confirms at once."""

    def __init__(self) -> None:
        self.submitted: list[
            tuple[Sequence[Change], Callable[[int], None], Callable[[int], None]]
        ] = []

    def submit(
        self,
        match: str,
        changes: Sequence[Change],
        *,
        on_commit: Callable[[int], None],
        on_abandon: Callable[[int], None],
    ) -> None:
        self.submitted.append((changes, on_commit, on_abandon))

    def commit(self) -> None:
        """Commit the oldest submission."""
        changes, on_commit, _ = self.submitted.pop(0)
        on_commit(changes[-1].record.index)

    def abandon(self, *, sent: bool = True) -> None:
        """Abandon everything that was submitted; `sent`: others may have seen it."""
        submitted, self.submitted = self.submitted, []
        for changes, _, on_abandon in submitted:
            first = changes[0].record.index
            on_abandon(first + len(changes) if sent else first)


def dispatch(
    request: int,
    match: str,
    seat: str,
    action: int,
    event: str,
    payload: Any = None,
    *,
    session: int = 1,
    epoch: int = 1,
    base: int | None = None,
) -> Dispatch:
    """An action's frame."""
    return Dispatch(
        request, match, epoch, seat, session, action, event, pack(payload), base
    )


def kept(log: LogReader) -> list[Record]:
    """A whole log."""
    records: list[Record] = []
    while len(records) < len(log):
        records += log.read(len(records), 1 << 20)
    return records


def view_of(update: ViewUpdate) -> Any:
    """The view in an update."""
    return unpack(update.view)


def codes(outlet: KeptOutlet) -> list[str]:
    """The codes of the refusals kept."""
    return [frame.code for frame in outlet.frames(Refused)]


def sessions(outlet: KeptOutlet) -> list[int]:
    """The sessions that were given."""
    return [frame.session for frame in outlet.frames(Seated)]
