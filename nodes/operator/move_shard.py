"""`shard.move`: another node owns a shard, by a planned change of its owner.

Its present owner carries it out: the record's `move` is written, the owner has that
node join the in-sync set and hands the shard over (`runtime/replication/move.py`). The
node comes first among those that shall hold it, so that nothing moves it away again
soon. If it does not come off in time, the move is withdrawn and the shard stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio
from msgspec.structs import replace

from ...runtime.control_plane import Move, ShardRecord
from ...runtime.replication.node import NodeReplicas
from .edit_key import edit_shard, read_shard
from .verb import CommandElsewhere, CommandFailed, OperatorCommand, Verb
from .verb_parts import VerbParts

__all__ = ["HEARD_S", "MOVE_S", "ShardMove", "core_of", "move_shard", "seconds_of"]

MOVE_S = 20.0
"""How long a move may take if nothing else was said: a copy may have to be made."""

MOVE_S_MAX = 3600.0

LOOK_S = 0.01
"""Between two looks whether it is done."""

WITHDRAW_S = 0.5
"""Between two tries to withdraw a move."""

HEARD_S = 2.0
"""How long the first word of the new owner is waited for, behind its record."""


def move_shard(parts: VerbParts) -> Verb:
    """`shard.move`: `to` is the node, `timeout_s` how long it may take."""
    return Verb("shard.move", partial(_move_shard, parts))


def core_of(parts: VerbParts) -> NodeReplicas:
    """The node's replicas.

    Raises:
        CommandElsewhere: It is still starting.
    """
    runner = parts.hosting.replicator.runner
    if runner is None:
        raise CommandElsewhere("")
    return runner.core


def seconds_of(args: Mapping[str, Any], name: str, default: float) -> float:
    """A duration of the arguments.

    Raises:
        CommandFailed: malformed_request.
    """
    value = args.get(name, default)
    valid = isinstance(value, int | float) and not isinstance(value, bool)
    if not valid or not 0 < value <= MOVE_S_MAX:
        raise CommandFailed(
            "malformed_request", f"`{name}` is no number of seconds up to 3,600."
        )
    return float(value)


async def _move_shard(parts: VerbParts, command: OperatorCommand) -> dict[str, Any]:
    to = command.args.get("to")
    if not isinstance(to, str) or not command.target.isdecimal():
        raise CommandFailed(
            "malformed_request", "The target is a shard's number, `to` a node's id."
        )
    move = ShardMove(parts, command, int(command.target), to)
    return await move.run(seconds_of(command.args, "timeout_s", MOVE_S))


class ShardMove:
    """One move, at the shard's owner."""

    def __init__(
        self, parts: VerbParts, command: OperatorCommand, shard: int, to: str
    ) -> None:
        self._parts = parts
        self._command = command
        self._shard = shard
        self._to = to
        self._core = core_of(parts)

    async def run(self, timeout_s: float) -> dict[str, Any]:
        """Ask for it, wait, and if need be withdraw it.

        Raises:
            CommandElsewhere: Another node owns the shard.
            CommandFailed: Why it is not moved.
        """
        began_s = anyio.current_time()
        handovers = self._core.handovers
        number, matches = handovers.count, self._matches()
        try:
            before = await self._edit(self._asked)
        except CommandFailed as error:
            if error.code == "coordinator_away":
                await self._withdraw()  # it may stand there
            raise
        moved: ShardRecord | None = None
        with anyio.move_on_after(timeout_s):
            moved = await self._until_moved(before.epoch)
        if moved is None:
            moved = await self._withdraw()
        if moved.owner != self._to:
            raise CommandFailed("move_timed_out", self._why(timeout_s))
        pauses: list[int] = []
        with anyio.move_on_after(HEARD_S):
            while not pauses:
                told = handovers.since(number)
                pauses = [h.pause_ms for h in told if h.shard == self._shard]
                await anyio.sleep(LOOK_S)
        return {
            "shard": self._shard,
            "from": self._parts.node,
            "to": self._to,
            "epoch": moved.epoch,
            "matches": matches,
            "pause_ms": pauses[-1] if pauses else None,
            "took_ms": round((anyio.current_time() - began_s) * 1000),
        }

    async def _withdraw(self) -> ShardRecord:
        """Until that is written: a move that is left behind comes off one day, though
        who asked was told no, and nothing is spread evenly as long as it stands."""
        while True:
            try:
                return await self._edit(self._withdrawn)
            except CommandFailed as error:
                if error.code not in ("coordinator_away", "contended"):
                    raise
            self._command.tell(0, 1, "the coordinator is away: not withdrawn yet")
            await anyio.sleep(WITHDRAW_S)

    async def _edit(
        self, change: Callable[[ShardRecord], ShardRecord | None]
    ) -> ShardRecord:
        coordinator, keys = self._parts.coordinator, self._parts.keys
        return await edit_shard(
            coordinator, keys, self._shard, self._command.id, change
        )

    def _asked(self, record: ShardRecord) -> ShardRecord:
        """The record with the move in it.

        Raises:
            CommandElsewhere, CommandFailed: It is not to be moved so, or not from here.
        """
        to = self._to
        if record.owner == to:
            raise CommandFailed(
                "already_there", f"{to} owns shard {self._shard} already."
            )
        if record.owner != self._parts.node:
            raise CommandElsewhere(record.owner or "")
        self._check_node()
        want = (to, *(node for node in record.want if node != to))
        return replace(
            record,
            want=want[: max(1, len(record.want))],
            move=Move(to, self._command.id),
        )

    def _check_node(self) -> None:
        """
        Raises:
            CommandFailed: no_such_node, node_draining, lacks_games.
        """
        fleet, to = self._core.placing.fleet, self._to
        if to not in fleet.registered:
            known = ", ".join(sorted(fleet.registered))
            raise CommandFailed(
                "no_such_node",
                f"No node {to!r} runs; there are: {known}.",
            )
        if fleet.leaves(to):
            raise CommandFailed(
                "node_draining",
                f"{to} drains, and is given nothing; `hotseat node undrain` ends that.",
            )
        if to in self._core.placing.unfit_for(self._shard):
            raise CommandFailed(
                "lacks_games",
                f"{to} lacks a game version that matches of shard {self._shard} go on"
                " in; `hotseat shard show` tells where they are held.",
            )

    def _withdrawn(self, record: ShardRecord) -> ShardRecord | None:
        mine = record.move is not None and record.move.op == self._command.id
        return replace(record, move=None) if mine else None

    async def _until_moved(self, epoch: int) -> ShardRecord:
        """
        Raises:
            CommandFailed: owner_changed, move_replaced.
        """
        while True:
            record = self._core.record(self._shard)
            if record is not None and record.epoch > epoch:
                if record.owner == self._to:
                    return record
                raise CommandFailed(
                    "owner_changed",
                    f"{record.owner} has taken shard {self._shard} over meanwhile.",
                )
            op = None if record is None or record.move is None else record.move.op
            if op is not None and op != self._command.id:
                await self._check_replaced()
            await anyio.sleep(LOOK_S)

    async def _check_replaced(self) -> None:
        """What is known here may be older than what this command wrote."""
        coordinator, keys = self._parts.coordinator, self._parts.keys
        record, _ = await read_shard(coordinator, keys, self._shard)
        if record.move is not None and record.move.op != self._command.id:
            raise CommandFailed(
                "move_replaced",
                f"Shard {self._shard} is on its way to {record.move.to} now: somebody"
                " else asked for that.",
            )

    def _matches(self) -> int:
        states = self._parts.hosting.states
        going_on, _ = states.counts([self._shard])
        return going_on

    def _why(self, timeout_s: float) -> str:
        """Why it has not come off: what can be seen from here."""
        record, to = self._core.record(self._shard), self._to
        if to not in self._core.placing.fleet.registered:
            cause = f"{to} has gone"
        elif record is not None and to not in {node for node, _ in record.isr}:
            lag = self._core.shard_statistics(self._shard).lag.get(to)
            behind = "" if lag is None else f", {lag} records behind"
            cause = f"{to} does not hold a copy in sync yet{behind}"
        else:
            waiting = self._core.uncommitted(self._shard)
            cause = f"the shard has not come to rest: {waiting} records wait for copies"
        return (
            f"Not moved within {timeout_s:g} s: {cause}. It stays at"
            f" {self._parts.node}, and goes on."
        )
