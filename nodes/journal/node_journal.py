"""Opens a node's journal, and says what of it counts.

With durability "disk" all that is found counts. With "memory" the disk only follows:
what is found is worth something if the last process has sealed it, when it had ceased
to acknowledge and everything was written. A seal is good for one start.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ...runtime.journal import Journal
from ...runtime.replication.output import IdentityKept
from ...runtime.replication.recovered import Recovered
from .sqlite_journal import SqliteJournal

__all__ = ["node_journal", "seal"]

SEALED = "sealed"
"""In the place of a nonce: data without durability have none."""


@asynccontextmanager
async def node_journal(
    path: Path, *, durable: bool
) -> AsyncIterator[tuple[Journal, Recovered]]:
    """The journal at `path`, and what the replicas of this node begin with.

    Raises:
        JournalError: It cannot be used.
    """
    if not durable and not await _is_sealed(path):
        for end in ("", "-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
    async with SqliteJournal(path) as journal:
        if not durable:
            await journal.write((IdentityKept("", 0, ""),))  # the seal is broken
        yield journal, journal.recovered


def seal(ident: str, boot: int) -> IdentityKept:
    """To be written last of all: these data are whole, and are those of `ident`, as
    they were when its start number `boot` ended."""
    return IdentityKept(ident, boot, SEALED)


async def _is_sealed(path: Path) -> bool:
    async with SqliteJournal(path) as journal:
        return journal.recovered.nonce == SEALED
