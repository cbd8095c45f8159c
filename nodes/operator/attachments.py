"""Bytes that come before the command that they are for: what is too long for one
message of a door.

They come in pieces, in order, and are kept in memory until their command begins, or is
long overdue.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from .door import DoorError
from .operation_id import is_operation_id

__all__ = ["ATTACHED_BYTES_MAX", "PIECE_BYTES", "Attachments", "attached_mark"]

ATTACHED_BYTES_MAX = 32 * 1024 * 1024
"""Of one command: the log of a very long match."""

ATTACHMENTS_MAX = 2
"""That a node keeps at one time."""

PIECE_BYTES = 512 * 1024
"""Of a piece: half of a door's message."""

KEPT_S = 60.0
"""After the last piece."""

_DIGEST_BYTES = 16


def attached_mark(data: bytes) -> dict[str, Any]:
    """What a command's args say, as `attached`, of the bytes that belong to it."""
    return {
        "bytes": len(data),
        "blake2b": blake2b(data, digest_size=_DIGEST_BYTES).hexdigest(),
    }


@dataclass(slots=True)
class _Attachment:
    data: bytearray = field(default_factory=bytearray)
    touched_s: float = 0.0


class Attachments:
    """What has come to one node. It is forgotten when it is claimed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._by_id: dict[str, _Attachment] = {}

    def take(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """A piece: `data`, for the command `id`, at `offset`. 0 begins anew.

        Answers `bytes`: how many are here now.

        Raises:
            DoorError: malformed_request, too_large, busy.
        """
        id, offset, data = asked.get("id"), asked.get("offset"), asked.get("data")
        if not is_operation_id(id) or type(offset) is not int:
            raise DoorError("malformed_request", "`id` and `offset` say where it goes.")
        assert isinstance(id, str)
        if not isinstance(data, bytes):
            raise DoorError("malformed_request", "`data` is no bytes.")
        self._expire()
        if id not in self._by_id and len(self._by_id) >= ATTACHMENTS_MAX:
            raise DoorError("busy", "Too much is sent to this node: ask again soon.")
        one = self._by_id.setdefault(id, _Attachment())
        if offset == 0:
            one.data.clear()
        if offset != len(one.data):
            raise DoorError("malformed_request", f"Expected offset {len(one.data)}.")
        if offset + len(data) > ATTACHED_BYTES_MAX:
            del self._by_id[id]
            raise DoorError(
                "too_large", f"A command carries {ATTACHED_BYTES_MAX} bytes at most."
            )
        one.data += data
        one.touched_s = self._clock()
        return {"bytes": len(one.data)}

    def claim(self, id: str, mark: object) -> bytes:
        """What came for the command; `mark` is its args' `attached`, if it has any.

        Raises:
            DoorError: attachment_missing: not all of it came here.
        """
        one = self._by_id.pop(id, None)
        if mark is None:
            return b""
        data = b"" if one is None else bytes(one.data)
        if attached_mark(data) != mark:
            raise DoorError("attachment_missing", "Send first what belongs to it.")
        return data

    def _expire(self) -> None:
        now_s = self._clock()
        for id, one in [*self._by_id.items()]:
            if now_s - one.touched_s > KEPT_S:
                del self._by_id[id]
