"""Operators' commands that write the coordinator's records, when it does not answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from hotseat.nodes.operator.edit_key import delete_key, edit_shard, write_key
from hotseat.nodes.operator.verb import CommandFailed
from hotseat.runtime.control_plane import DrainRecord, Keys, encode_record
from hotseat.runtime.testing.memory_coordinator import MemoryCoordinator
from hotseat.runtime.testing.memory_store import MemoryStore

KEYS = Keys("c")
KEY = KEYS.drain("n1")


def drained() -> bytes:
    return encode_record(DrainRecord(node="n1", boot="", op="o", nonce="x"))


@pytest.mark.parametrize(
    "change",
    [
        lambda at: edit_shard(at, KEYS, 0, "o", lambda record: record),
        lambda at: write_key(at, KEY, drained),
        lambda at: delete_key(at, KEY),
    ],
)
async def test_a_coordinator_that_goes_away_in_between_is_told(
    change: Callable[[MemoryCoordinator], Awaitable[object]], autojump_clock: object
) -> None:
    """By the code that is documented, with what to do."""
    coordinator = MemoryCoordinator(MemoryStore())
    coordinator.down = True
    with pytest.raises(CommandFailed) as caught:
        await change(coordinator)
    assert caught.value.code == "coordinator_away"
    assert "ask again" in caught.value.message


async def test_a_key_holds_what_was_written_last_until_it_is_deleted() -> None:
    """Whether there was something to delete is told."""
    coordinator = MemoryCoordinator(MemoryStore())
    for _ in range(2):
        await write_key(coordinator, KEY, drained)
    assert await delete_key(coordinator, KEY)
    assert not await delete_key(coordinator, KEY)
