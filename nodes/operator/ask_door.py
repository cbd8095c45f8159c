"""Asks a node's command door one thing, and waits for the answer.

A request and its answer are msgpack maps: `{"op": ...}` there, `{"ok": true, ...}`
or `{"ok": false, "code", "message"}` back. For the operator's commands, and for clients
that look for the nodes; all else goes over links.
"""

from __future__ import annotations

from typing import Any

import msgpack

from ...runtime.errors import LinkError
from ..exit_codes import ExitCode
from ..operator_error import OperatorError

__all__ = ["DOOR_TIMEOUT_S", "DoorRefused", "DoorUnreachable", "ask_door"]

DOOR_TIMEOUT_S = 2.0
"""A door answers from memory: silence for this long means that the node hangs."""


class DoorUnreachable(OperatorError):
    """No node answers at that address. Code: door_unreachable or door_timeout."""

    def __init__(self, message: str, *, code: str = "door_unreachable") -> None:
        super().__init__(
            code,
            message,
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
    from ..nng_door import door_request

    request = msgpack.packb({"op": op, **fields})
    try:
        reply = await door_request(address, request, timeout_s)
    except LinkError as error:
        raise DoorUnreachable(str(error), code=error.code) from error
    try:
        answer = msgpack.unpackb(reply)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise DoorUnreachable(f"what answers at {address} is no node") from error
    if not isinstance(answer, dict):
        raise DoorUnreachable(f"what answers at {address} is no node")
    if not answer.pop("ok", False):
        code, message = answer.get("code", "refused"), answer.get("message", "")
        raise DoorRefused(str(code), f"{address}: {message or code}")
    return answer
