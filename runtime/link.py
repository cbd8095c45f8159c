"""Links between the processes of a cluster: the interface.

Each process has one `Endpoint`: an inbox that everybody may write to once they
have proved membership, and one outgoing link to each process it talks to. A link
keeps order while it is up and promises nothing across a reconnect: sequence,
acknowledgement and retry belong to the protocols above.

Implementations: `hotseat.nodes.nng` (real), `hotseat.runtime.testing.memory_link`
(in one process, with faults). Both pass `hotseat.runtime.testing.check_link`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import ClassVar, Protocol

from .frame import Frame

__all__ = [
    "Arrival",
    "Endpoint",
    "EndpointStatistics",
    "Identity",
    "LinkDownReason",
    "LinkEvent",
    "PeerAddress",
    "PeerDown",
    "PeerUp",
]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a process is, as it says in its hello.

    `process` is unique in the cluster ("n1", "client-3f2a…"); `incarnation` is
    drawn anew at each start; `principal` is on whose behalf it acts (matches are
    named after it).
    """

    cluster: str
    process: str
    kind: str
    incarnation: str
    principal: str = "local"
    games: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PeerAddress:
    """Where a process can be reached: what a hello to it needs."""

    process: str
    inbox: str
    incarnation: str


class LinkDownReason(StrEnum):
    """Why a link ended."""

    CLOSED = "closed"  # we closed it
    LOST = "lost"  # the pipe went down
    SILENT = "silent"  # no heartbeat in time
    REPLACED = "replaced"  # the process came back with another incarnation
    MALFORMED = "malformed"  # it sent what cannot be decoded


@dataclass(frozen=True, slots=True)
class PeerUp:
    """A process has proved membership; frames may be sent to it."""

    peer: Identity
    address: PeerAddress


@dataclass(frozen=True, slots=True)
class PeerDown:
    """Nothing more comes from this process until another `PeerUp`."""

    process: str
    reason: LinkDownReason


@dataclass(frozen=True, slots=True)
class Arrival:
    """One frame, validated, from a process that has proved membership."""

    process: str
    frame: Frame


LinkEvent = Arrival | PeerUp | PeerDown


@dataclass(frozen=True, slots=True)
class EndpointStatistics:
    """Counters since the start; the gauges `peers` and `queued_frames` are now."""

    GAUGES: ClassVar[frozenset[str]] = frozenset({"peers", "queued_frames"})

    peers: int
    queued_frames: int
    frames_sent: int
    frames_received: int
    messages_sent: int
    messages_received: int
    hellos_refused: int
    malformed_messages: int
    pipes_lost: int


class Endpoint(Protocol):
    """A process's place on the network. Use it as an async context manager."""

    @property
    def identity(self) -> Identity: ...

    @property
    def address(self) -> PeerAddress:
        """Where others reach this process (known once entered)."""

    def connect(self, peer: PeerAddress) -> None:
        """Keep a link to `peer` up, with back-off, until `disconnect`.

        Idempotent. Another incarnation of the same process replaces the link.
        A process that proves itself to us is connected back by the endpoint.

        Raises:
            LinkUnavailable: The endpoint is closed.
            ValueError: `peer` is this process itself.
        """

    def disconnect(self, process: str) -> None:
        """Drop the link to `process` and what it had queued."""

    def send(self, process: str, frame: Frame) -> None:
        """Queue one frame; all frames of one wake-up to a peer go as one message.

        Raises:
            FrameTooLarge: The encoded frame is above the limit.
            LinkUnavailable: No link to that process is up or being dialled.
            LinkFull: The link's queue has no room: the peer does not keep up.
        """

    async def receive(self) -> list[LinkEvent]:
        """Wait for something; return all that one drain of the inbox brought.

        One task may wait at a time.

        Raises:
            LinkUnavailable: The endpoint is closed.
        """

    def statistics(self) -> EndpointStatistics: ...

    async def __aenter__(self) -> Endpoint: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
