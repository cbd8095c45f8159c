"""A node's journal beside a plain file that is synced: what durability costs.

The same records, in groups of the same size, on the same disk, in turn.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import anyio
from msgspec import Raw

from hotseat.engine.digest import NO_DIGEST
from hotseat.engine.frozen import enclose
from hotseat.engine.record import Record, RecordKind
from hotseat.nodes.journal.sqlite_journal import SqliteJournal
from hotseat.runtime.journal import Checkpointed, StoreOp
from hotseat.runtime.record_codec import pack_record
from hotseat.runtime.replication.message import Entry
from hotseat.runtime.replication.output import Appended

from .row import Row, pairs

__all__ = ["journal_group"]

ROUNDS = 5
SECONDS = 0.7
GROUP = 64

CHECKPOINT_GROUPS = 128
"""Between two checkpoints of a shard: so the journal is cut while it is measured."""


def journal_group() -> list[Row]:
    """Durable records per second: 64 in a group, and one alone."""
    with tempfile.TemporaryDirectory(prefix="hotseat-bench-", dir=_disk()) as folder:
        return [
            pairs(
                f"journal_group_{size}",
                "records/s",
                lambda size=size: _journal_per_second(Path(folder), size),  # type: ignore[misc]
                lambda size=size: _file_per_second(Path(folder), size),  # type: ignore[misc]
                floor_is=f"file + fdatasync, {size} at a time",
                rounds=ROUNDS,
                better="higher",
                goal=0.4 if size == GROUP else None,
            )
            for size in (GROUP, 1)
        ]


def _journal_per_second(folder: Path, size: int) -> float:
    path = folder / f"journal-{time.monotonic_ns()}.db"
    return anyio.run(_write_groups, path, size)


async def _write_groups(path: Path, size: int) -> float:
    packed = Raw(_packed())
    async with SqliteJournal(path) as journal:
        seq = groups = 0
        began = now = time.perf_counter()
        while now - began < SECONDS:
            entries = tuple(
                [
                    Entry(1, seq + n, "m" * 26, seq + n, packed)
                    for n in range(1, size + 1)
                ]
            )
            seq += size
            groups += 1
            ops: list[StoreOp] = [Appended(1, entries)]
            if groups % CHECKPOINT_GROUPS == 0:
                ops.append(Checkpointed(1, seq - size, 1))
            await journal.write(ops)
            now = time.perf_counter()
        return seq / (now - began)


def _file_per_second(folder: Path, size: int) -> float:
    packed = _packed()
    path = folder / f"file-{time.monotonic_ns()}"
    count = 0
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        began = now = time.perf_counter()
        while now - began < SECONDS:
            os.write(file, b"".join([packed] * size))
            os.fdatasync(file)
            count += size
            now = time.perf_counter()
    finally:
        os.close(file)
        path.unlink()
    return count / (now - began)


def _packed() -> bytes:
    given = enclose(
        {
            "seat": "0",
            "session": 1,
            "action": 12,
            "action_id": "0.1.12",
            "event": "place",
            "payload": {"cell": 4},
        }
    )
    record = Record(5, RecordKind.ACTION, 10**12, 6, given, NO_DIGEST, NO_DIGEST)
    return pack_record(record)


def _disk() -> str | None:
    """A folder on a disk: the temporary folder may be memory."""
    return "." if os.access(".", os.W_OK) else None
