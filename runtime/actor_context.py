"""What the actors of a node share, and what they are sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from .budget import NO_GUARD, Guard
from .clock import Clock
from .command import Attach, CreditOutage, Detach, FireDeadline, NoteDelivered
from .committer import Committer
from .frame import Dispatch, FetchLog, Sync, TakeBack, TakeSeat, Unwatch
from .match_source import MatchSource
from .options import MatchOptions
from .route import Outlet, Route

if TYPE_CHECKING:
    from .actor import MatchActor

__all__ = ["ActorContext", "Alarm", "Asked", "CreateAgain", "MatchRequest", "Message"]


class CreateAgain(msgspec.Struct, frozen=True):
    """Whoever created the match, or asks with its key once more."""

    request: int
    creation: str


MatchRequest: TypeAlias = TakeSeat | Dispatch | TakeBack | Sync | Unwatch | FetchLog
Asked: TypeAlias = CreateAgain | MatchRequest
Message: TypeAlias = (
    tuple[Route, Asked] | FireDeadline | CreditOutage | NoteDelivered | Detach | Attach
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
    source: MatchSource | None = None
    """Where committed matches are kept; None: in their actors alone."""
