"""Why a gateway closes a player's WebSocket: the code, and what a client should do.

The codes from 4400 on are ours; their last two digits are those of the HTTP status that
means the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

__all__ = ["CLOSE_MEANINGS", "CloseCode", "close_code_of"]


class CloseCode(IntEnum):
    """What a close frame says. Its reason is a code as text, such as `replaced`."""

    DONE = 1000
    RESTART = 1012
    AGAIN = 1013
    MALFORMED = 4400
    UNAUTHORIZED = 4401
    FORBIDDEN = 4403
    UNKNOWN_MATCH = 4404
    SILENT = 4408
    REPLACED = 4409
    FLOOD = 4429
    FAILED = 4500


CLOSE_MEANINGS: Mapping[CloseCode, str] = MappingProxyType(
    {
        CloseCode.DONE: "The lobby is shut. There is nothing to come back to.",
        CloseCode.RESTART: "The gateway stops. Connect again, to any.",
        CloseCode.AGAIN: "It has no room, or reaches no node. Connect again later.",
        CloseCode.MALFORMED: "A message was none of the protocol. Mend the client.",
        CloseCode.UNAUTHORIZED: "The token is not accepted. Get another one.",
        CloseCode.FORBIDDEN: "The token does not allow that, or is for another seat.",
        CloseCode.UNKNOWN_MATCH: "There is no such match, or it is lost.",
        CloseCode.SILENT: "Nothing was read, or no sign of life came. Connect again.",
        CloseCode.REPLACED: "A newer connection has the seat. Do not come back by "
        "yourself: ask the player.",
        CloseCode.FLOOD: "Far too many messages, or wrong tokens. Wait a minute.",
        CloseCode.FAILED: "The match or the gateway failed. Tell an operator.",
    }
)

_BY_REFUSAL: Mapping[str, CloseCode] = {
    "unknown_match": CloseCode.UNKNOWN_MATCH,
    "match_lost": CloseCode.UNKNOWN_MATCH,
    "unknown_seat": CloseCode.FORBIDDEN,
    "seat_taken": CloseCode.FORBIDDEN,
    "not_seated": CloseCode.REPLACED,
    "resume_seat": CloseCode.REPLACED,
    "expired_key": CloseCode.REPLACED,
    "view_error": CloseCode.FAILED,
    "quarantined": CloseCode.FAILED,
    "internal_error": CloseCode.FAILED,
}


def close_code_of(refusal: str) -> CloseCode:
    """The close code for a node's refusal to let somebody sit or watch."""
    return _BY_REFUSAL.get(refusal, CloseCode.AGAIN)
