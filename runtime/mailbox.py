"""A match's mailbox: what waits for its actor, bounded by count and by bytes.

Filled and drained in the same thread; it never waits. The actor's own messages (a
deadline that has come) have a place that players cannot take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from .errors import MailboxFull

__all__ = ["OWN_MESSAGES_MAX", "Mailbox", "MailboxStatistics"]

T = TypeVar("T")

# Messages beyond the limit for the node itself. A match has one deadline at a time;
# the second place is for one that was voided while it waited, the third for the outage
# that is credited when another node takes the match over.
OWN_MESSAGES_MAX = 3


@dataclass(frozen=True, slots=True)
class MailboxStatistics:
    """Counters since the start; `waiting` and `waiting_bytes` are now."""

    GAUGES: ClassVar[frozenset[str]] = frozenset({"waiting", "waiting_bytes"})

    waiting: int
    waiting_bytes: int
    accepted: int
    refused: int


class Mailbox(Generic[T]):
    """A queue with two bounds.

    Invariant: waiting <= messages_max + OWN_MESSAGES_MAX.
    Invariant: waiting_bytes <= bytes_max.
    """

    __slots__ = (
        "_accepted",
        "_bytes",
        "_bytes_max",
        "_messages",
        "_messages_max",
        "_refused",
    )

    def __init__(self, messages_max: int, bytes_max: int) -> None:
        self._messages: list[T] = []
        self._messages_max = messages_max
        self._bytes = 0
        self._bytes_max = bytes_max
        self._accepted = 0
        self._refused = 0

    def __len__(self) -> int:
        return len(self._messages)

    def put_nowait(self, message: T, size_bytes: int) -> None:
        """Add a player's message.

        Raises:
            MailboxFull: There are too many, or they are too large together.
        """
        if len(self._messages) >= self._messages_max:
            self._refused += 1
            raise MailboxFull(f"{len(self._messages)} messages are waiting")
        if self._bytes + size_bytes > self._bytes_max:
            self._refused += 1
            raise MailboxFull(f"{self._bytes:,} bytes are waiting")
        self._messages.append(message)
        self._bytes += size_bytes
        self._accepted += 1

    def put_own(self, message: T) -> None:
        """Add a message of the node itself; it takes no room from players.

        Raises:
            MailboxFull: The places beyond the limit are taken too.
        """
        if len(self._messages) >= self._messages_max + OWN_MESSAGES_MAX:
            self._refused += 1
            raise MailboxFull("the places for the node's own messages are taken")
        self._messages.append(message)
        self._accepted += 1

    def drain(self) -> list[T]:
        """Take everything, in order."""
        messages, self._messages = self._messages, []
        self._bytes = 0
        return messages

    def statistics(self) -> MailboxStatistics:
        """What came, what was refused, what waits."""
        return MailboxStatistics(
            len(self._messages), self._bytes, self._accepted, self._refused
        )
