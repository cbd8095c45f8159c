"""What `ClientCore` wants done, and the watches that it keeps."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...runtime.frame import Request, Response, Sync
from ...runtime.link import PeerAddress
from .outcome import Refusal
from .view import ViewSlot

__all__ = [
    "Effect",
    "Expired",
    "Locate",
    "Reach",
    "Send",
    "Settled",
    "Viewed",
    "Watch",
    "WatchRefused",
]


@dataclass(frozen=True, slots=True)
class Reach:
    """Keep a link up to this process (before the first `Send` to it)."""

    address: PeerAddress


@dataclass(frozen=True, slots=True)
class Send:
    """Send `frame`; report a failure to `not_sent` with its request number."""

    process: str
    frame: Request


@dataclass(frozen=True, slots=True)
class Settled:
    """A question has its answer."""

    ticket: int
    answer: Response | Refusal


@dataclass(frozen=True, slots=True)
class Expired:
    """A question's deadline passed. `refusal` is the last one, if any came.

    With `doubt`, what was asked may have happened.
    """

    ticket: int
    doubt: bool
    refusal: Refusal | None


@dataclass(frozen=True, slots=True)
class Viewed:
    """A watch has a newer view."""

    watch: Watch


@dataclass(frozen=True, slots=True)
class WatchRefused:
    """A watch is over: a node refused it for good."""

    watch: Watch
    refusal: Refusal


@dataclass(frozen=True, slots=True)
class Locate:
    """Ask the doors where their nodes are; answer with `located`."""


Effect = Reach | Send | Settled | Expired | Viewed | WatchRefused | Locate


@dataclass(slots=True, eq=False)
class Watch:
    """One seat of one match, watched by this client."""

    match: str
    epoch: int
    seat: str
    session: int
    legal: bool
    slot: ViewSlot = field(default_factory=ViewSlot)
    whole: bool = False  # what a page draws comes too
    since: int = -1  # the revision that its reader has from elsewhere
    refusal: Refusal | None = None
    readers: int = 0
    ticket: int = 0  # of the question now asked for it; 0: none
    through: str = ""  # the process that its views come from
    owner: str = ""  # of its shard when it was last asked for,
    tenure: int = 0  # and the epoch of that
    heard: float = 0.0

    def frame(self) -> Sync:
        """What asks for it."""
        return Sync(
            0,
            self.match,
            self.epoch,
            self.seat,
            self.session,
            self.legal,
            whole=self.whole,
        )
