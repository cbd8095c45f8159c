"""Changes one of the coordinator's records by compare-and-swap, until it is known that
it landed, or that there is nothing to change."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TypeVar

from msgspec.structs import replace

from ...runtime.control_plane import (
    ControlRecord,
    Keys,
    ShardRecord,
    decode_record,
    encode_record,
)
from ...runtime.coordinator import ABSENT, CasConflict, CasOk, Coordinator, Write
from ...runtime.errors import ControlRecordInvalid, CoordinatorUnavailable
from ...runtime.settle import read_key, settle_write
from .verb import CommandFailed

__all__ = ["delete_key", "edit_shard", "read_shard", "refusal_of", "write_key"]

ATTEMPTS = 20
"""Others may write meanwhile: an owner its in-sync set, the placer."""

R = TypeVar("R", bound=ControlRecord)


def refusal_of(error: CoordinatorUnavailable | ControlRecordInvalid) -> CommandFailed:
    """Why a command that is on record cannot be gone on with."""
    if isinstance(error, ControlRecordInvalid):
        return CommandFailed(error.code, str(error))
    return CommandFailed(
        "coordinator_away",
        f"The coordinator does not answer any more ({error}). What it has taken already"
        " stands: look at the target, then ask again.",
    )


async def read_shard(
    coordinator: Coordinator, keys: Keys, shard: int
) -> tuple[ShardRecord, int]:
    """The shard's record and its revision.

    Raises:
        CommandFailed: no_such_shard, coordinator_away, control_record_invalid.
    """
    key = keys.shard(shard)
    try:
        entry = await read_key(coordinator, key)
        if entry is None:
            raise CommandFailed("no_such_shard", f"There is no shard {shard}.")
        return decode_record(ShardRecord, key, entry.value), entry.revision
    except (CoordinatorUnavailable, ControlRecordInvalid) as error:
        raise refusal_of(error) from error


async def edit_shard(
    coordinator: Coordinator,
    keys: Keys,
    shard: int,
    op: str,
    change: Callable[[ShardRecord], ShardRecord | None],
) -> ShardRecord:
    """Write the shard's record as `change` has it; None: as it is, it is right.

    Returns it as it stands. `change` may raise, and is asked anew if another one has
    written meanwhile. `op` tells this command's writes from others'.

    Raises:
        CommandFailed: no_such_shard, coordinator_away, control_record_invalid,
            contended: it was changed again and again.
    """
    key, numbers = keys.shard(shard), count(1)
    for _ in range(ATTEMPTS):
        record, revision = await read_shard(coordinator, keys, shard)
        changed = change(record)
        if changed is None:
            return record

        def encode(wanted: ShardRecord = changed) -> bytes:
            claim = f"operator-{op}.{next(numbers)}"
            return encode_record(replace(wanted, claim=claim))

        try:
            settled = await settle_write(coordinator, key, revision, encode)
        except CoordinatorUnavailable as error:
            raise refusal_of(error) from error
        if settled.landed:
            return changed
    raise CommandFailed(
        "contended", f"Shard {shard} is changed all the time: ask again."
    )


async def write_key(
    coordinator: Coordinator, key: str, encode: Callable[[], bytes]
) -> None:
    """Let the key hold this, whatever it held; `encode` draws a nonce at each call.

    Raises:
        CommandFailed: coordinator_away, contended.
    """
    try:
        for _ in range(ATTEMPTS):
            entry = await read_key(coordinator, key)
            expected = ABSENT if entry is None else entry.revision
            if (await settle_write(coordinator, key, expected, encode)).landed:
                return
    except CoordinatorUnavailable as error:
        raise refusal_of(error) from error
    raise CommandFailed("contended", f"{key} is changed all the time: ask again.")


async def delete_key(coordinator: Coordinator, key: str) -> bool:
    """Let it hold nothing; whether it held something.

    Raises:
        CommandFailed: coordinator_away, contended.
    """
    try:
        for _ in range(ATTEMPTS):
            entry = await read_key(coordinator, key)
            if entry is None:
                return False
            outcome = await coordinator.cas_many([Write(key, entry.revision, None)])
            if isinstance(outcome, CasOk):
                return True
            if not isinstance(outcome, CasConflict) and (
                await read_key(coordinator, key) is None
            ):
                return True
    except CoordinatorUnavailable as error:
        raise refusal_of(error) from error
    raise CommandFailed("contended", f"{key} is changed all the time: ask again.")
