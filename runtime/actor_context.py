"""What the actors of a node share, and what they are sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from ..engine.versions import FindMachine, no_machines
from .budget import NO_GUARD, Guard
from .clock import Clock
from .command import (
    Answer,
    Attach,
    CreditOutage,
    Detach,
    FireDeadline,
    Intervention,
    NoteDelivered,
)
from .committer import Committer
from .frame import Dispatch, FetchLog, Sync, TakeBack, TakeSeat, Unwatch
from .match_source import MatchSource
from .options import MatchOptions
from .route import Outlet, Route
from .traces import Traces

if TYPE_CHECKING:
    from .actor import MatchActor

__all__ = [
    "ActorContext",
    "Alarm",
    "Asked",
    "CreateAgain",
    "Intervened",
    "MatchRequest",
    "Message",
]


class CreateAgain(msgspec.Struct, frozen=True):
    """Whoever created the match, or asks with its key once more."""

    request: int
    creation: str


class Intervened(msgspec.Struct, frozen=True):
    """An operator's command, and who is told what came of it, once that is sure.

    What is not known to have happened is told as a `Denied` with `retry`.
    """

    command: Intervention
    tell: Callable[[Answer], None]


MatchRequest: TypeAlias = TakeSeat | Dispatch | TakeBack | Sync | Unwatch | FetchLog
Asked: TypeAlias = CreateAgain | MatchRequest
Message: TypeAlias = (
    tuple[Route, Asked]
    | FireDeadline
    | CreditOutage
    | NoteDelivered
    | Detach
    | Attach
    | Intervened
)


class Alarm(Protocol):
    """Wakes a match at its deadline: it puts a `FireDeadline` into the mailbox."""

    def arm(self, match: str, revision: int, at_ms: int) -> None: ...

    def disarm(self, match: str) -> None: ...


@dataclass(frozen=True, slots=True)
class ActorContext:
    """What all actors of a node share."""

    outlet: Outlet
    committer: Committer
    alarm: Alarm
    clock: Clock
    draw_token: Callable[[], str]
    options: MatchOptions
    guard: Guard = NO_GUARD
    on_wake: Callable[[MatchActor], None] | None = None
    """Who lets an actor work that asks for it; None: its own task alone."""
    on_worked: Callable[[], None] | None = None
    """Who hears that an actor has worked in its own task: what it caused waits."""
    on_failure: Callable[[MatchActor, BaseException], None] | None = None
    """Who is told what an actor raised outside a turn of its own."""
    find_machine: FindMachine = no_machines
    """The versions of games that this node has."""
    history: int = 0
    """The epoch in which their shard went on from an old copy: revisions from before
    say nothing now. 0: it never did."""
    histories: Mapping[int, int] = field(default_factory=dict)
    """The same, of all shards where it is not 0."""
    traces: Traces | None = None
    """What is remembered of the newest actions."""
    source: MatchSource | None = None
    """Where committed matches are kept; None: in their actors alone."""
