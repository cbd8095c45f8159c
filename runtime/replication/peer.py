"""What an owner knows of one other replica, in this epoch."""

from __future__ import annotations

from collections import deque

from .install import InstallFeed
from .log import ShardLog

__all__ = ["Peer"]

MARKS_MAX = 64
"""Frames whose answers would confirm a fresh read; beyond, probes do."""


class Peer:
    """One replica (node and identity); another identity of the node is another peer."""

    __slots__ = (
        "_marks",
        "acked_serial",
        "awaiting",
        "behind_since",
        "boot",
        "broken",
        "commit_sent",
        "consent",
        "ident",
        "install",
        "learner",
        "marked",
        "match",
        "nacks_from",
        "next",
        "node",
        "placed",
        "probed",
        "probed_at",
        "progress_at",
        "refused_at",
        "resent",
        "sent_at",
        "serial",
        "valid_from",
        "void",
    )

    def __init__(self, node: str, ident: str, now_ms: int) -> None:
        self.node = node
        self.ident = ident
        """"" until it has told."""
        self.boot: int | None = None
        """The start of its process that answers; None until one has."""
        self.match = 0
        """All up to it is persisted there. It only grows, but for a learner that
        begins anew."""
        self.placed = 0
        """A learner said that it has so much committed."""
        self.next: int | None = None
        """What is sent next; None: where it stands is not known."""
        self.learner = True
        self.void = False
        """Its node has another identity now: this one will never answer again."""
        self.broken = False
        """It lacks what it has acknowledged: it is evicted, and begins anew."""
        self.refused_at: int | None = None
        """When its link broke and a connection was refused."""
        self.serial = 0
        """Of the last frame sent to it."""
        self.valid_from = 1
        """Answers to older frames say nothing any more."""
        self.acked_serial = 0
        self.nacks_from = 0
        """A nack of an older frame was dealt with already."""
        self.resent = 0
        """The frame that began right behind `match` when it was sent."""
        self.awaiting = False
        """A frame is not answered yet."""
        self.sent_at = now_ms
        self.progress_at = now_ms
        self.behind_since: int | None = None
        """Since when its window has been full, and more has waited to be sent."""
        self.commit_sent = -1
        self.install: InstallFeed | None = None
        self.consent = 0
        """It has confirmed the epoch after this fresh read was asked."""
        self.probed = 0
        self.probed_at = 0
        self.marked = 0
        self._marks: deque[tuple[int, int]] = deque()

    def begin_anew(self, serial: int, boot: int | None) -> None:
        """As a learner of which nothing is known; frames up to `serial` are void."""
        self.learner = True
        self.broken = False
        self.boot = boot
        self.match = 0
        self.placed = 0
        self.next = None
        self.valid_from = self.nacks_from = serial + 1
        self.awaiting = False
        self.behind_since = None
        self.install = None

    def resume(self) -> None:
        """Send again from behind what it has."""
        self.next = self.has + 1

    def position(self, commit: int, log: ShardLog) -> bool:
        """A learner stands at `commit`; returns whether the log reaches back so far."""
        if log.base_seq <= commit <= log.last_seq:
            self.placed = commit
            self.next = commit + 1
            return True
        return False

    @property
    def has(self) -> int:
        """Up to here, nothing is sent to it."""
        return max(self.match, self.placed)

    @property
    def heard(self) -> bool:
        """It has answered a frame since it began (anew)."""
        return self.acked_serial >= self.valid_from

    def sent(self, serial: int, now_ms: int) -> None:
        self.serial = serial
        self.sent_at = now_ms
        if not self.awaiting:
            self.awaiting = True
            self.progress_at = now_ms

    def acked(self, serial: int, seq: int, now_ms: int) -> None:
        """It has all up to `seq`, and says so in answer to frame `serial`."""
        if seq > self.match:
            self.match = seq
            self.progress_at = now_ms
        if self.next is None or self.next <= self.match:
            self.next = self.match + 1
        if serial >= self.acked_serial:  # one frame may be acknowledged in portions
            self.acked_serial = serial
            if self.has >= self.next - 1:
                self.progress_at = now_ms
                self.awaiting = serial < self.serial
        marks = self._marks
        while marks and marks[0][0] <= serial:
            self.consent = max(self.consent, marks.popleft()[1])

    def mark(self, serial: int, question: int, now_ms: int) -> None:
        """The answer to frame `serial` confirms the reads up to `question`."""
        if question > self.marked and len(self._marks) < MARKS_MAX:
            self.marked = question
            self.probed_at = now_ms
            self._marks.append((serial, question))
