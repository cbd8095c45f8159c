"""What comes back to a caller of the client library.

A node's no is a returned `Refusal`, never an exception. What is raised:

ClientError
├── ClusterUnreachable   no node answered while connecting
├── OutcomeUnknown       a write had no answer in time: it may have happened
├── NoAnswer             a read had no answer in time
└── WatchEnded           a node refused to go on sending views
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...engine.refusal import REFUSALS
from ...runtime.codec import unpack
from ...runtime.errors import RuntimeFault
from ...runtime.frame import Refused
from ...runtime.refusal import RUNTIME_REFUSALS

__all__ = [
    "RETRIED_CODES",
    "Accepted",
    "ClientError",
    "ClusterUnreachable",
    "NoAnswer",
    "OutcomeUnknown",
    "Refusal",
    "WatchEnded",
    "engine_refusal",
    "refusal_of",
    "runtime_refusal",
]

RETRIED_CODES = frozenset(
    {
        "busy",
        "degraded",
        "moved",
        "no_owner",
        "not_committed",
        "retry",
        "stopping",
    }
)
"""Codes after which the library asks again with the same key by itself."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An action is committed. `revision` is the match's after its batch."""

    action: int
    revision: int
    index: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A typed no. Nothing changed. `revision` is the match's, where it matters."""

    code: str
    message: str
    reason: str | None = None
    details: Any = None
    revision: int | None = None


class ClientError(RuntimeFault):
    """Root of what the client library raises."""

    code = "client_error"


class ClusterUnreachable(ClientError):
    """No node of the cluster answered."""

    code = "cluster_unreachable"


class OutcomeUnknown(ClientError):
    """A write had no answer before its deadline; it may have happened or not.

    `key` is its idempotency key: the action's number, or the creation key. All
    that may be done is to ask again with the same key, or to resync.
    """

    code = "outcome_unknown"

    def __init__(self, message: str, key: int | str) -> None:
        super().__init__(message)
        self.key = key


class NoAnswer(ClientError):
    """A read had no answer before its deadline. Ask again whenever you like."""

    code = "no_answer"


class WatchEnded(ClientError):
    """No more views come: a node refused to send them. See `refusal`."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(f"{refusal.code}: {refusal.message}")
        self.refusal = refusal
        self.code = refusal.code


def refusal_of(frame: Refused) -> Refusal:
    """What a caller gets for a refusal from the wire."""
    return Refusal(
        frame.code,
        frame.message,
        frame.reason,
        unpack(frame.details),
        frame.revision,
    )


def engine_refusal(code: str) -> Refusal:
    """A refusal that the library gives itself, in the engine's words."""
    return Refusal(code, REFUSALS[code])


def runtime_refusal(code: str, message: str | None = None) -> Refusal:
    """A refusal that the library gives itself, with the table's sentence."""
    return Refusal(code, message or RUNTIME_REFUSALS[code])
