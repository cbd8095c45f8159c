"""Asks a node's command door one thing, and waits for the answer.

A request and its answer are msgpack maps: `{"op": ...}` there, `{"ok": true, ...}`
or `{"ok": false, "code", "message"}` back. Used by the operator's commands only;
players and peers speak over links.
"""

from __future__ import annotations

from typing import Any

import anyio
import msgpack

from .exit_codes import ExitCode
from .operator_error import OperatorError

__all__ = ["DOOR_TIMEOUT_S", "DoorRefused", "DoorUnreachable", "ask_door"]

DOOR_TIMEOUT_S = 2.0
"""A door answers from memory: silence for this long means that the node hangs."""


class DoorUnreachable(OperatorError):
    """Nobody answers at that address."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            "door_unreachable",
            f"no node answers at {address}: {reason}",
            hint="hotseat up starts a cluster; hotseat status --dir DIR shows it",
            exit_code=ExitCode.UNREACHABLE,
        )


class DoorRefused(OperatorError):
    """The node answered, with a no."""


async def ask_door(
    address: str, op: str, *, timeout_s: float = DOOR_TIMEOUT_S, **fields: Any
) -> dict[str, Any]:
    """Send one request; return the answer's fields.

    Raises:
        DoorUnreachable: No answer in time, or what answers is no door.
        DoorRefused: The node says no, with its code.
    """
    from .nng_door import door_request

    request = msgpack.packb({"op": op, **fields})
    try:
        # nng's own timeout ends it: a cancelled request may leak or lose an answer
        with anyio.CancelScope(shield=True):
            reply = await door_request(address, request, timeout_s)
        answer = msgpack.unpackb(reply)
    except OperatorError:
        raise
    except Exception as error:  # of the transport, or of what is no msgpack
        raise DoorUnreachable(address, str(error) or type(error).__name__) from error
    if not isinstance(answer, dict):
        raise DoorUnreachable(address, "what answers there is not a node")
    if not answer.pop("ok", False):
        code, message = answer.get("code", "refused"), answer.get("message", "")
        raise DoorRefused(str(code), f"{address}: {message or code}")
    return answer
