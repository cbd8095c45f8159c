"""What a node answers at its command door.

A request is a msgpack map `{"op": NAME, ...}`; the answer is a map with `ok`: true
and the operation's fields, or false with `code` and `message`. Whoever reaches the
door is trusted: it lies in a folder that only its owner may enter, or is a
`sealed_door`.

An operation answers at once, or is a coroutine: then others are answered meanwhile. It
runs where the door's server may cancel it, when it takes too long or the node stops;
the server's own waiting for requests lies outside of that, as nng demands.

    attach     bytes for the command `id`, from `offset` on: what is too long for it
    action     of an action of a match: what this node remembers of it
    digests    of the shard `shard`: how far this node's own copies of its matches are
    identify   who this is, and where a link finds it
    match      of the match `match`: all that this node knows, without its secrets
    matches    those that this node serves, a page of those asked for
    locate     of the match `match`: its shard, and who owns that as far as known here
    metrics    all statistics, as text in the format of Prometheus
    nodes      all of the cluster, as far as it knows them
    operate    run the command `verb` on `target`; see `commands`
    operation  what became of the command `id`
    operations the newest commands of the whole cluster
    records    of the match `match`: what is committed from record `first` on, a page
    shards     what this node is to each shard, a page; or to the shard `shard`
    status     what it owns and hosts; statistics of all its parts
    stop       stop as on SIGTERM
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeAlias

import msgpack

__all__ = ["WAITING_MAX", "Door", "DoorError", "Fields", "Operation"]

Fields: TypeAlias = Mapping[str, Any]

Operation = Callable[[Fields], Fields | Coroutine[Any, Any, Fields]]
"""Takes the request's fields, gives the answer's, or a coroutine that returns them;
may raise `DoorError`."""

WAITING_MAX = 6
"""Coroutines that are under way at one time: fewer than the door's server answers
requests, so that quick ones are always answered."""


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
        self._waiting = 0

    async def answer(self, request: bytes) -> bytes:
        """Answer one request; bytes that are none get a typed no."""
        return _packed(await self._answer(request))

    async def _answer(self, request: bytes) -> dict[str, Any]:
        try:
            asked = msgpack.unpackb(request)
        except (ValueError, msgpack.UnpackException, RecursionError):
            return _no("malformed_request", "The request is no msgpack map.")
        op = asked.get("op") if isinstance(asked, dict) else None
        if not isinstance(op, str) or op not in self._operations:
            known = ", ".join(sorted(self._operations))
            return _no("unknown_op", f"This node knows: {known}.")
        try:
            answer = self._operations[op](asked)
            if isinstance(answer, Coroutine):
                answer = await self._wait_for(answer)
            return {"ok": True, **answer}
        except DoorError as error:
            return _no(error.code, error.message)

    async def _wait_for(self, operation: Coroutine[Any, Any, Fields]) -> Fields:
        """
        Raises:
            DoorError: busy; or what the operation says.
        """
        if self._waiting >= WAITING_MAX:
            operation.close()  # it has not begun
            raise DoorError("busy", "Too much is asked of this node: ask again soon.")
        self._waiting += 1
        try:
            return await operation
        finally:
            self._waiting -= 1


def _no(code: str, message: str) -> dict[str, Any]:
    return {"ok": False, "code": code, "message": message}


def _packed(answer: dict[str, Any]) -> bytes:
    packed: bytes = msgpack.packb(answer)
    return packed
