"""`node.drain`, `node.undrain`: a node hands over all that it owns, or may own again.

A key in the coordinator says that it drains, so that a restart changes nothing. The
node itself proposes the moves (`runtime/replication/drainer.py`); then its copies go to
other nodes, where there are enough of them. With `until_restart` the key is about this
process alone: the node is to be started anew soon, and its copies stay; so do shards
of which there is but one copy anyway.

When the time is up, the node drains on, and serves what is left: who asked is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import count
from typing import Any

import anyio

from ...runtime.control_plane import DrainRecord, encode_record
from ...runtime.replication.node import NodeReplicas
from .edit_key import delete_key, write_key
from .move_shard import HEARD_S, core_of, seconds_of
from .pauses import pauses_told
from .verb import CommandElsewhere, CommandFailed, OperatorCommand, Verb
from .verb_parts import VerbParts

__all__ = ["DRAIN_S", "drain_node", "undrain_node"]

DRAIN_S = 120.0
"""How long it may take if nothing else was said."""

LOOK_S = 0.02
LEFT_TOLD_MAX = 20
"""Shards that are named when the time is up."""


def drain_node(parts: VerbParts) -> Verb:
    """`node.drain`: at the node itself. `timeout_s`; `until_restart`."""
    return Verb("node.drain", partial(_drain, parts))


def undrain_node(parts: VerbParts) -> Verb:
    """`node.undrain`: at any node."""
    return Verb("node.undrain", partial(_undrain, parts))


async def _drain(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    if command.target != parts.node:
        raise CommandElsewhere(command.target)
    timeout_s = seconds_of(command.args, "timeout_s", DRAIN_S)
    return await _Drain(parts, command).run(timeout_s)


async def _undrain(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    core_of(parts)
    key = parts.keys.drain(command.target)
    return {"drained": await delete_key(parts.coordinator, key)}


class _Drain:
    """One asking."""

    def __init__(self, parts: VerbParts, command: OperatorCommand) -> None:
        self._parts = parts
        self._command = command
        self._core: NodeReplicas = core_of(parts)
        self._for_restart = bool(command.args.get("until_restart", False))
        self._matches: dict[int, int] = {}  # that go on, by shard that was owned
        self._number = 0

    async def run(self, timeout_s: float) -> dict[str, Any]:
        """
        Raises:
            CommandFailed: last_node, drain_timed_out, undrained.
        """
        placing, node = self._core.placing, self._parts.node
        if not placing.fleet.up - {node}:
            raise CommandFailed(
                "last_node",
                f"No other node is up that could take over what {node} has.",
            )
        began_s = anyio.current_time()
        self._number = self._core.handovers.count
        states = self._parts.hosting.states
        self._matches = {s: states.counts([s])[0] for s in placing.owned()}
        await self._say()
        with anyio.move_on_after(timeout_s) as scope:
            await self._until_drained()
        took_s = anyio.current_time() - began_s
        with anyio.move_on_after(HEARD_S):
            await self._until_heard()
        owns, follows = placing.holding()
        done = placing.is_done() if self._for_restart else not owns
        if scope.cancelled_caught and (not done or self._copies_to_go()):
            raise CommandFailed("drain_timed_out", self._left(timeout_s))
        return {
            "node": node,
            "until_restart": self._for_restart,
            "shards": len(self._matches),
            "matches": sum(self._matches.values()),
            "shards_kept": owns,
            "copies_kept": follows,
            "took_ms": round(took_s * 1000),
            "pauses": pauses_told(self._pauses()),
        }

    async def _say(self) -> None:
        """Write the key."""
        boot = self._core.placing.boot if self._for_restart else ""
        numbers = count(1)

        def encode() -> bytes:
            nonce = f"{self._command.id}.{next(numbers)}"
            return encode_record(
                DrainRecord(
                    node=self._parts.node, boot=boot, op=self._command.id, nonce=nonce
                )
            )

        key = self._parts.keys.drain(self._parts.node)
        await write_key(self._parts.coordinator, key, encode)

    async def _until_drained(self) -> None:
        """
        Raises:
            CommandFailed: undrained: an operator has changed his mind.
        """
        placing, node = self._core.placing, self._parts.node
        total, seen = sum(self._matches.values()), False
        while True:
            leaves = placing.fleet.leaves(node)
            if seen and not leaves:
                raise CommandFailed("undrained", f"{node} is to drain no more.")
            seen |= leaves
            owned = placing.owned()
            there = sum(self._matches.get(shard, 0) for shard in owned)
            copies = self._copies_to_go()
            text = f"{len(self._matches) - len(owned)} of {len(self._matches)} shards"
            if not owned and copies:
                text = f"{copies} copies are to go"
            self._command.tell(max(0, total - there), total, text)
            gone = not owned or (self._for_restart and placing.is_done())
            if seen and gone and not copies:
                return
            await anyio.sleep(LOOK_S)

    async def _until_heard(self) -> None:
        """Until the new owners of all that went have said something."""
        owned = self._core.placing.owned
        while len(self._pauses()) < len(self._matches) - len(owned()):  # noqa: ASYNC110
            await anyio.sleep(LOOK_S)  # it is known of each by itself

    def _copies_to_go(self) -> int:
        return 0 if self._for_restart else self._core.placing.copies_to_go()

    def _pauses(self) -> list[tuple[int, int]]:
        return [
            (handover.pause_ms, self._matches.get(handover.shard, 0))
            for handover in self._core.handovers.since(self._number)
        ]

    def _left(self, timeout_s: float) -> str:
        """What has not gone, each by its name."""
        node, left = self._parts.node, self._core.placing.leftovers()
        named = [f"shard {s}: {left[s]}" for s in sorted(left)[:LEFT_TOLD_MAX]]
        if len(left) > LEFT_TOLD_MAX:
            named.append(f"and {len(left) - LEFT_TOLD_MAX} more")
        copies = self._copies_to_go()
        if copies:
            named.append(f"{copies} copies have no other place yet")
        return (
            f"Not drained within {timeout_s:g} s. {node} drains on, and serves what is"
            f" left ({'; '.join(named)}). `hotseat node undrain {node}` calls it off."
        )
