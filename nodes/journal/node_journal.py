"""Opens a node's journal, and says what of it counts.

With durability "disk" all that is found counts. With "memory" the disk only follows:
what is found is worth something if the last process has sealed it, when it had ceased
to acknowledge and everything was written. A seal is good for one start. What has none
is set aside, if it holds anything, the last such file only: it may be all that is left
of some matches. Renamed to `*.salvage` by an operator, it is opened instead, as data of
a new replica: an old copy, which counts for nothing unless a shard is recovered from
it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ...runtime.journal import Journal
from ...runtime.replication.output import IdentityKept
from ...runtime.replication.recovered import Recovered
from ..telemetry import get_logger
from .sqlite_journal import SqliteJournal

__all__ = ["node_journal", "seal"]

SEALED = "sealed"
"""In the place of a nonce: data without durability have none."""


UNSEALED = ".unsealed"
SALVAGE = ".salvage"

BESIDE = ("-wal", "-shm")
"""What SQLite keeps beside a database file."""

log = get_logger()


@asynccontextmanager
async def node_journal(
    path: Path, *, durable: bool
) -> AsyncIterator[tuple[Journal, Recovered]]:
    """The journal at `path`, and what the replicas of this node begin with.

    Raises:
        JournalError: It cannot be used.
    """
    salvaged = False
    if not durable:
        sealed, held = await _look(path)
        salvaged = not sealed and _set_aside(path, held)
    async with SqliteJournal(path) as journal:
        if not durable:
            await journal.write((IdentityKept("", 0, ""),))  # the seal is broken
        found = journal.recovered
        if salvaged:
            log.warning("journal_salvaged", file=str(path), shards=len(found.shards))
            found = Recovered(shards=found.shards)
        yield journal, found


def seal(ident: str, boot: int) -> IdentityKept:
    """To be written last of all: these data are whole, and are those of `ident`, as
    they were when its start number `boot` ended."""
    return IdentityKept(ident, boot, SEALED)


def _set_aside(path: Path, held: bool) -> bool:
    """Put away what has no seal; whether there is something in its place."""
    if held:
        _move(path, path.with_name(path.name + UNSEALED))
    else:
        _drop(path)
    return _move(path.with_name(path.name + SALVAGE), path)


def _move(path: Path, to: Path) -> bool:
    """All files of a closed database, over what is there; whether there is one."""
    if not path.exists():
        return False
    _drop(to)
    for end in BESIDE:
        if path.with_name(path.name + end).exists():
            path.with_name(path.name + end).replace(to.with_name(to.name + end))
    path.replace(to)
    return True


def _drop(path: Path) -> None:
    for end in ("", *BESIDE):
        path.with_name(path.name + end).unlink(missing_ok=True)


async def _look(path: Path) -> tuple[bool, bool]:
    """Whether it is sealed, and whether it holds anything of any shard."""
    async with SqliteJournal(path) as journal:
        found = journal.recovered
    held = any(shard.base_seq or shard.entries for shard in found.shards.values())
    return found.nonce == SEALED, held
