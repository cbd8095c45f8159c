"""The request for a command, as it comes to a door: read, and held to its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from .door import DoorError
from .operation_id import is_operation_id

__all__ = ["ARGS_BYTES_MAX", "WAIT_S_MAX", "CommandRequest", "read_request"]

ARGS_BYTES_MAX = 4 * 1024
"""As JSON; what is longer is attached."""

WAIT_S_MAX = 20.0
"""Less than a door's server waits for an answer."""

TEXTS: Mapping[str, int] = {"verb": 64, "target": 256, "who": 128, "why": 1_000}
"""Characters, at most."""


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """`wait_s`: how long who asks waits for the end of it."""

    id: str
    who: str
    why: str
    verb: str
    target: str
    args: Mapping[str, Any]
    wait_s: float


def read_request(asked: Mapping[str, Any]) -> CommandRequest:
    """What a door was asked.

    Raises:
        DoorError: malformed_request, too_large.
    """
    id, args = asked.get("id"), asked.get("args", {})
    texts = {name: asked.get(name, "") for name in TEXTS}
    wait_s = asked.get("wait_s", 5.0)
    wrong = [
        name
        for name, text in texts.items()
        if not isinstance(text, str) or len(text) > TEXTS[name]
    ]
    wrong += [name for name in ("verb", "who") if texts[name] == ""]
    if not is_operation_id(id):
        wrong.append("id")
    if not isinstance(args, dict) or not all(isinstance(name, str) for name in args):
        wrong.append("args")
    if type(wait_s) not in (int, float) or not 0 <= wait_s <= WAIT_S_MAX:
        wrong.append("wait_s")
    if wrong:
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(wrong))
        raise DoorError("malformed_request", f"Not understood: {names}.")
    try:
        size = len(msgspec.json.encode(args))
    except (TypeError, ValueError, RecursionError) as error:
        raise DoorError("malformed_request", f"`args`: {error}.") from error
    if size > ARGS_BYTES_MAX:
        raise DoorError("too_large", f"`args` hold {ARGS_BYTES_MAX} bytes at most.")
    assert isinstance(id, str)
    as_json = msgspec.json.decode(msgspec.json.encode(args))
    return CommandRequest(id=id, args=as_json, wait_s=wait_s, **texts)
