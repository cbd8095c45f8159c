"""`node.remove`: a node that is gone for good, or has drained and was stopped, holds
nothing any more.

It is taken out of what shall hold each shard, so that others take its place. The record
of its data names an identity that nobody has: should it ever come back, its data count
for nothing. (Without a record it would take the coordinator for a restored one, and
wait to be vouched for.) One that runs would go on under an identity that is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import count
from typing import Any

import anyio
from msgspec.structs import replace

from ...runtime.control_plane import (
    ReplicaRecord,
    ShardRecord,
    decode_record,
    encode_record,
)
from ...runtime.errors import ControlRecordInvalid, CoordinatorUnavailable
from ...runtime.settle import read_key, settle_write
from .edit_key import delete_key, edit_shard, refusal_of
from .move_shard import core_of, seconds_of
from .verb import CommandElsewhere, CommandFailed, OperatorCommand, Verb
from .verb_parts import VerbParts

__all__ = ["remove_node"]

REMOVE_S = 20.0
"""In which the others must have let it out of their in-sync sets."""

LOOK_S = 0.1
NAMED_MAX = 10

Records = Mapping[int, ShardRecord]


def remove_node(parts: VerbParts) -> Verb:
    """`node.remove`: at any node but that one. `timeout_s`."""
    return Verb("node.remove", partial(_remove, parts))


async def _remove(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    node = command.target
    if node == parts.node:
        others = sorted(core_of(parts).placing.fleet.registered - {node})
        if not others:
            raise CommandFailed("last_node", f"There is no other node than {node}.")
        raise CommandElsewhere(others[0])
    timeout_s = seconds_of(command.args, "timeout_s", REMOVE_S)
    records, known = await _records(parts, node)
    _check(parts, node, records, known)
    wanted = [shard for shard, record in records.items() if node in record.want]
    for done, shard in enumerate(wanted, 1):
        await edit_shard(
            parts.coordinator,
            parts.keys,
            shard,
            command.id,
            lambda record: _without(node, record),
        )
        command.tell(done, len(wanted), "shards")
    with anyio.move_on_after(timeout_s):
        await _until_out(parts, node)
        await _forget(parts, command)
        await delete_key(parts.coordinator, parts.keys.drain(node))
        return {"node": node, "shards": len(wanted)}
    held, _ = await _records(parts, node)
    raise CommandFailed(
        "still_in_sync",
        f"{node} is still in sync in {_named(_holding(node, held))} after"
        f" {timeout_s:g} s: other copies must be in sync before it can go.",
    )


def _check(parts: VerbParts, node: str, records: Records, known: bool) -> None:
    """
    Raises:
        CommandFailed: no_such_node, node_in_use, last_copy.
    """
    fleet = core_of(parts).placing.fleet
    holding = list(_holding(node, records))
    if not known and not holding and node not in fleet.registered:
        raise CommandFailed("no_such_node", f"Nothing is known of a node {node!r}.")
    owned = [shard for shard, record in records.items() if record.owner == node]
    if node in fleet.registered:
        drained = node in fleet.draining and not owned
        first = "" if drained else f"`hotseat node drain {node}`, then "
        raise CommandFailed(
            "node_in_use",
            f"{node} runs, and owns {len(owned)} shards: {first}stop it first.",
        )
    last = [
        shard
        for shard, record in records.items()
        if node in {n for n, _ in record.isr}
        and not ({n for n, _ in record.isr} - {node}) & fleet.registered
    ]
    if last:
        raise CommandFailed(
            "last_copy",
            f"{node} holds the only copy of {_named(last)} that is in sync, or those"
            " that have others do not run: start it again, and drain it; or `hotseat"
            " shard recover` gives up what only it has.",
        )
    if owned:
        raise CommandFailed(
            "node_in_use",
            f"{node} still owns {_named(owned)}: nobody has taken them over yet.",
        )


async def _records(parts: VerbParts, node: str) -> tuple[dict[int, ShardRecord], bool]:
    """All shards' records; and whether the node has ever served.

    Raises:
        CommandFailed: coordinator_away, control_record_invalid.
    """
    keys = parts.keys
    try:
        listing = await parts.coordinator.list(keys.prefix)
        records = {}
        for entry in listing.entries:
            shard = keys.shard_of(entry.key)
            if shard is not None:
                records[shard] = decode_record(ShardRecord, entry.key, entry.value)
    except (CoordinatorUnavailable, ControlRecordInvalid) as error:
        raise refusal_of(error) from error
    known = any(entry.key == keys.replica(node) for entry in listing.entries)
    return records, known


async def _forget(parts: VerbParts, command: OperatorCommand) -> None:
    """Let whatever data come back under the node's name be a stranger's.

    Raises:
        CommandFailed: node_in_use: it was started meanwhile; coordinator_away,
            control_record_invalid.
    """
    node, numbers = command.target, count(1)
    key = parts.keys.replica(node)
    try:
        entry = await read_key(parts.coordinator, key)
        if entry is None:
            return
        record = decode_record(ReplicaRecord, key, entry.value)

        def encode() -> bytes:
            nonce = f"operator-{command.id}.{next(numbers)}"
            ident = f"removed-{command.id}"
            return encode_record(
                replace(record, ident=ident, nonce=nonce, serving=True)
            )

        settled = await settle_write(parts.coordinator, key, entry.revision, encode)
    except (CoordinatorUnavailable, ControlRecordInvalid) as error:
        raise refusal_of(error) from error
    if not settled.landed:
        raise CommandFailed(
            "node_in_use",
            f"{node} was started meanwhile: drain it, and stop it, to remove it.",
        )


async def _until_out(parts: VerbParts, node: str) -> None:
    while True:
        records, _ = await _records(parts, node)
        in_sync = [r for r in records.values() if node in {n for n, _ in r.isr}]
        if not in_sync:
            return
        await anyio.sleep(LOOK_S)


def _holding(node: str, records: Records) -> Iterator[int]:
    for shard, record in records.items():
        if node in record.want or any(member == node for member, _ in record.isr):
            yield shard


def _without(node: str, record: ShardRecord) -> ShardRecord | None:
    if node not in record.want:
        return None
    want = tuple(other for other in record.want if other != node)
    if not want and record.owner is not None:
        want = (record.owner,)
    move = None if record.move is not None and record.move.to == node else record.move
    return replace(record, want=want, move=move)


def _named(shards: Any) -> str:
    numbers = [str(shard) for shard in shards]
    more = f" and {len(numbers) - NAMED_MAX} more" if len(numbers) > NAMED_MAX else ""
    return f"shard {', '.join(numbers[:NAMED_MAX])}{more}"
