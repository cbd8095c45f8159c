"""Who speaks through which pipe: the receiving half of all links of a process.

Pure: it is told that a pipe opened, that bytes came, that it closed, and what time
it is; it says in `Inbox.take` which events happened and which pipes to close. The
endpoint (`endpoint.py`) does so, on nng or in memory.

Rules:
- The first message of a pipe is a valid hello, in time, or the pipe is closed.
- A process has one proven pipe. A newer hello of its takes the place of the older.
- A malformed message costs the pipe that it came through, and nothing else.
- Silence is judged only once everything that came has been read: a busy receiver
  does not mistake its own slowness for a peer's death.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import structlog

from .codec import Message, decode_message
from .errors import CodecError
from .frame import Heartbeat, Hello
from .hello import (
    Credential,
    HelloRefusal,
    HelloRefused,
    address_of,
    identity_of,
    verify_hello,
)
from .link import (
    Arrival,
    Identity,
    LinkDownReason,
    LinkEvent,
    PeerAddress,
    PeerDown,
    PeerUp,
)
from .link_options import LinkOptions

__all__ = [
    "HELLO_REFUSED",
    "LINK_DOWN",
    "LINK_UP",
    "MESSAGE_MALFORMED",
    "PIPE_LOST",
    "Inbox",
]

# Names of log events.
LINK_UP = "link_up"
LINK_DOWN = "link_down"
HELLO_REFUSED = "hello_refused"
MESSAGE_MALFORMED = "message_malformed"
PIPE_LOST = "pipe_lost"

# Closed pipes and departed peers that are remembered: what still comes from the
# first is dropped, a hello that repeats a link of the second is refused.
_MEMORY_MAX = 4096

log = structlog.get_logger()


@dataclass(slots=True)
class _Peer:
    """A process that has proved membership. `heard_s`: when it last spoke."""

    identity: Identity
    address: PeerAddress
    pipe: int
    link: int
    heard_s: float


class Inbox:
    """The pipes that lead to us and the processes behind them."""

    def __init__(
        self, identity: Identity, credential: Credential, options: LinkOptions
    ) -> None:
        self._identity = identity
        self._credential = credential
        self._options = options
        self._unproven: dict[int, float] = {}  # pipe -> opened at; oldest first
        self._proven: dict[int, _Peer] = {}
        self._peers: dict[str, _Peer] = {}
        self._gone_pipes: OrderedDict[int, None] = OrderedDict()
        self._departed: OrderedDict[str, tuple[str, int]] = OrderedDict()
        self._events: list[LinkEvent] = []
        self._closing: list[int] = []
        self.frames_received = 0
        self.messages_received = 0
        self.hellos_refused = 0
        self.malformed_messages = 0
        self.pipes_lost = 0

    def __len__(self) -> int:
        return len(self._peers)

    def take(self) -> tuple[list[LinkEvent], list[int]]:
        """Return what happened since the last call, and the pipes to close."""
        events, closing = self._events, self._closing
        self._events, self._closing = [], []
        return events, closing

    def pipe_of(self, process: str) -> int | None:
        """Return the pipe through which `process` proved membership, if it is up."""
        peer = self._peers.get(process)
        return None if peer is None else peer.pipe

    def opened(self, pipe: int, now_s: float) -> None:
        """Somebody connected. They have `hello_s` to say who they are."""
        if pipe in self._unproven or pipe in self._proven or pipe in self._gone_pipes:
            return  # its first message overtook this notice
        if len(self._unproven) >= self._options.unproven_max:
            oldest = next(iter(self._unproven))
            self._refuse(oldest, HelloRefused(HelloRefusal.LATE, "too many at once"))
        self._unproven[pipe] = now_s

    def closed(self, pipe: int) -> None:
        """The pipe went down by itself: the peer left, or the network did."""
        peer = self._proven.get(pipe)
        if peer is not None:
            self._lose(peer, LinkDownReason.LOST, close=False)
        elif self._unproven.pop(pipe, None) is None:
            return  # we closed it
        self._bury(pipe)
        self.pipes_lost += 1
        process = None if peer is None else peer.identity.process
        log.info(PIPE_LOST, process=process, pipe=pipe)

    def received(self, pipe: int, data: bytes, now_s: float) -> None:
        """Bytes came through a pipe."""
        peer = self._proven.get(pipe)
        if peer is None:
            if pipe not in self._gone_pipes:
                self.opened(pipe, now_s)
                self._introduced(pipe, data, now_s)
            return
        try:
            message = decode_message(data)
        except CodecError as error:
            self._malformed(peer, error.code, str(error))
            return
        if isinstance(message, Hello):
            self._malformed(peer, "malformed_frame", "a second hello on one pipe")
            return
        peer.heard_s = now_s
        if message.link == peer.link:
            self._arrived(peer, message)

    def tick(self, read_s: float) -> None:
        """Look for what did not happen in time.

        `read_s` is when everything that had come was last read: the clock that
        matters here, because what is unread may be what we wait for.
        """
        hello_by = read_s - self._options.hello_s
        late = [
            pipe for pipe, opened_s in self._unproven.items() if opened_s < hello_by
        ]
        for pipe in late:
            self._refuse(pipe, HelloRefused(HelloRefusal.LATE, "no hello in time"))
        heard_by = read_s - self._options.silence_s
        silent = [peer for peer in self._peers.values() if peer.heard_s < heard_by]
        for peer in silent:
            self._lose(peer, LinkDownReason.SILENT)

    def drop(self, process: str) -> None:
        """We want no more of `process`."""
        peer = self._peers.get(process)
        if peer is not None:
            self._lose(peer, LinkDownReason.CLOSED)

    def tear(self, process: str) -> list[LinkEvent]:
        """Our own link to `process` broke and is up again.

        What was under way to it is lost, so whoever listens starts over with it:
        the events say so. Nothing changes here.
        """
        peer = self._peers.get(process)
        if peer is None:
            return []
        down = PeerDown(process, LinkDownReason.LOST)
        return [down, PeerUp(peer.identity, peer.address)]

    def _arrived(self, peer: _Peer, message: Message) -> None:
        self.messages_received += 1
        process = peer.identity.process
        frames = [f for f in message.frames if type(f) is not Heartbeat]
        self.frames_received += len(frames)
        self._events += [Arrival(process, frame) for frame in frames]

    def _introduced(self, pipe: int, data: bytes, now_s: float) -> None:
        """Judge the first message of a pipe."""
        try:
            hello = decode_message(data)
        except CodecError as error:
            self.malformed_messages += 1
            self._refuse(pipe, HelloRefused(HelloRefusal.MALFORMED, str(error)))
            return
        if not isinstance(hello, Hello):
            self._refuse(
                pipe, HelloRefused(HelloRefusal.NOT_HELLO, "frames came first")
            )
            return
        refused = verify_hello(self._credential, self._identity, hello)
        refused = refused or self._check_place(hello)
        if refused is not None:
            self._refuse(pipe, refused, process=hello.process[:64])
            return
        self._accept(pipe, hello, now_s)

    def _check_place(self, hello: Hello) -> HelloRefused | None:
        """Judge a proven hello against those before it."""
        older = self._peers.get(hello.process)
        if older is not None:
            known = (older.identity.incarnation, older.link)
        else:
            known = self._departed.get(hello.process, ("", 0))
        if hello.incarnation == known[0] and hello.link <= known[1]:
            detail = f"link {hello.link} came after link {known[1]}"
            return HelloRefused(HelloRefusal.STALE, detail)
        if older is None and len(self._peers) >= self._options.peers_max:
            detail = f"the limit is {self._options.peers_max}"
            return HelloRefused(HelloRefusal.FULL, detail)
        return None

    def _accept(self, pipe: int, hello: Hello, now_s: float) -> None:
        older = self._peers.get(hello.process)
        if older is not None:
            again = older.identity.incarnation == hello.incarnation
            self._lose(older, LinkDownReason.LOST if again else LinkDownReason.REPLACED)
        del self._unproven[pipe]
        peer = _Peer(identity_of(hello), address_of(hello), pipe, hello.link, now_s)
        self._proven[pipe] = peer
        self._peers[hello.process] = peer
        self._events.append(PeerUp(peer.identity, peer.address))
        log.info(
            LINK_UP,
            process=hello.process,
            kind=hello.kind,
            incarnation=hello.incarnation,
            link=hello.link,
        )

    def _refuse(
        self, pipe: int, refused: HelloRefused, process: str | None = None
    ) -> None:
        self.hellos_refused += 1
        del self._unproven[pipe]
        self._close(pipe)
        log.warning(
            HELLO_REFUSED,
            reason=refused.reason.value,
            detail=refused.detail,
            process=process,
            pipe=pipe,
        )

    def _malformed(self, peer: _Peer, code: str, detail: str) -> None:
        self.malformed_messages += 1
        process = peer.identity.process
        log.warning(MESSAGE_MALFORMED, process=process, code=code, detail=detail)
        self._lose(peer, LinkDownReason.MALFORMED)

    def _lose(self, peer: _Peer, reason: LinkDownReason, *, close: bool = True) -> None:
        process = peer.identity.process
        del self._proven[peer.pipe]
        del self._peers[process]
        self._departed[process] = (peer.identity.incarnation, peer.link)
        self._departed.move_to_end(process)
        if len(self._departed) > _MEMORY_MAX:
            self._departed.popitem(last=False)
        if close:
            self._close(peer.pipe)
        self._events.append(PeerDown(process, reason))
        log.info(LINK_DOWN, process=process, reason=reason.value, link=peer.link)

    def _close(self, pipe: int) -> None:
        self._bury(pipe)
        self._closing.append(pipe)

    def _bury(self, pipe: int) -> None:
        self._gone_pipes[pipe] = None
        if len(self._gone_pipes) > _MEMORY_MAX:
            self._gone_pipes.popitem(last=False)
