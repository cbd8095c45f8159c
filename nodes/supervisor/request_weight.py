"""How much a request takes of a mailbox."""

from __future__ import annotations

from typing import Final

from ...runtime.actor_context import MatchRequest
from ...runtime.frame import Dispatch, FetchLog, TakeSeat

__all__ = ["MESSAGE_BYTES", "NAMES_BYTES_MAX", "weight_of"]

MESSAGE_BYTES: Final = 128
"""What a message counts for beside what it carries: its frame and its place."""

NAMES_BYTES_MAX: Final = 1024
"""Characters of the names in a request (seat, event, token): more than real ones."""


def weight_of(request: MatchRequest) -> int:
    """What a request carries: its payload's bytes, its names' characters."""
    if isinstance(request, Dispatch):
        payload = memoryview(request.payload).nbytes
        return payload + len(request.event) + len(request.seat)
    if isinstance(request, TakeSeat):
        return len(request.resume) + len(request.seat)
    return 0 if isinstance(request, FetchLog) else len(request.seat)
