"""What a node answers at its command door.

A request is a msgpack map `{"op": NAME, ...}`; the answer is a map with `ok`: true
and the operation's fields, or false with `code` and `message`. Whoever reaches the
door is trusted: it lies in a folder that only its owner may enter.

    digests    of the shard `shard`: how far this node's own copies of its matches are
    identify   who this is, and where a link finds it
    match      of the match `match`: all that this node knows, without its secrets
    matches    those that this node serves, a page of those asked for
    metrics    all statistics, as text in the format of Prometheus
    records    of the match `match`: what is committed from record `first` on, a page
    shards     what this node is to each shard, a page; or to the shard `shard`
    status     what it owns and hosts; statistics of all its parts
    stop       stop as on SIGTERM
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgpack

__all__ = ["Door", "DoorError", "Operation"]

Operation = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Takes the request's fields, gives the answer's; may raise `DoorError`."""


class DoorError(Exception):
    """An operation's no: a stable code, and what to do."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


class Door:
    """Turns request bytes into answer bytes; give `answer` to a `DoorServer`."""

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        self._operations = dict(operations)

    async def answer(self, request: bytes) -> bytes:
        """Answer one request; bytes that are none get a typed no."""
        return _packed(self._answer(request))

    def _answer(self, request: bytes) -> dict[str, Any]:
        try:
            asked = msgpack.unpackb(request)
        except (ValueError, msgpack.UnpackException, RecursionError):
            return _no("malformed_request", "The request is no msgpack map.")
        op = asked.get("op") if isinstance(asked, dict) else None
        if not isinstance(op, str) or op not in self._operations:
            known = ", ".join(sorted(self._operations))
            return _no("unknown_op", f"This node knows: {known}.")
        try:
            return {"ok": True, **self._operations[op](asked)}
        except DoorError as error:
            return _no(error.code, error.message)


def _no(code: str, message: str) -> dict[str, Any]:
    return {"ok": False, "code": code, "message": message}


def _packed(answer: dict[str, Any]) -> bytes:
    packed: bytes = msgpack.packb(answer)
    return packed
