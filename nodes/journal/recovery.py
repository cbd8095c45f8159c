"""Opening a node's journal: what is on the disk, and whether it is all there.

Three ends:
- All that was ever durable is there: the logs are read group by group, and what an
  unfinished install left is dropped.
- Something is missing or unreadable. The node must not take part as if nothing had
  been: what it acknowledged may be gone. The file is set aside, for an operator to
  look at, and the node begins with an empty one, as a new replica.
- The file is another program's, or of a newer version: it is left as it is.

What was torn when the power failed is not missing: it had been told to nobody.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ...runtime.errors import JournalCorrupt, JournalFailed
from ...runtime.journal_codec import (
    GroupOp,
    unpack_group,
    unpack_node,
    unpack_opaque,
    unpack_summary,
)
from ...runtime.replication.output import IdentityKept, Wiped
from ...runtime.replication.recovered import Recovered
from ...runtime.stored_log import LogOutline, StoredLog
from .file import NODE, JournalFile, close, connect, failed, prepare
from .index import JournalIndex

__all__ = ["Opened", "open_journal"]

_BESIDE = ("-wal", "-shm")
"""What SQLite keeps beside a database file."""

_LOST = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


@dataclass(frozen=True, slots=True)
class Opened:
    """A journal that is ready to be written."""

    file: JournalFile
    recovered: Recovered
    set_aside: Path | None = None
    """Where the former file is now, if it had lost something."""
    reason: str = ""
    """What it had lost."""


def open_journal(path: Path) -> Opened:
    """Open the journal, or begin one.

    Raises:
        JournalForeign: The file is another program's, or a newer version wrote it.
        FormatTooNew: A newer version wrote a part of it.
        JournalFailed: It cannot be opened or written.
    """
    try:
        return _open(path)
    except JournalCorrupt as error:
        reason = str(error)
    try:
        aside = _set_aside(path)
    except OSError as error:
        raise JournalFailed(
            "disk_refused", f"{path} is damaged ({reason}) and cannot be moved: {error}"
        ) from error
    opened = _open(path)
    return Opened(opened.file, opened.recovered, aside, reason)


def _open(path: Path) -> Opened:
    """Raises JournalCorrupt too: something is lost."""
    try:
        held = path.exists() and path.stat().st_size > 0
        unfolded = _size(path.with_name(path.name + "-wal")) > 0
        if unfolded and not held:
            raise JournalCorrupt(f"{path.name} is missing, but not {path.name}-wal")
        # Made here and not by SQLite, so that it is never readable by others.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        if not held:
            _sync_folder(path.parent)
        connection = connect(path)
    except (OSError, sqlite3.Error) as error:
        raise failed(path, error) from error
    try:
        prepare(connection, path)
        if held and not unfolded:
            _check_closed(connection, path)
        identity, logs, index, cut = _read(connection)
        file = JournalFile(path, connection, index, cut)
        file.mark(clean=False)
        _drop_unfinished(file, logs)
    except sqlite3.Error as error:
        close(connection, path)
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _LOST:
            raise JournalCorrupt(f"it is no whole database: {error}") from error
        raise failed(path, error) from error
    except BaseException:
        close(connection, path)
        raise
    shards = {shard: logs[shard].recovered() for shard in sorted(logs)}
    return Opened(
        file, Recovered(identity.ident, identity.boot, identity.nonce, shards)
    )


def _check_closed(connection: sqlite3.Connection, path: Path) -> None:
    """Raises JournalCorrupt: what was written last has been taken away."""
    row = connection.execute("SELECT clean FROM life").fetchone()
    if row != (1,):
        raise JournalCorrupt(
            f"{path.name}-wal is missing, which held what was written last"
        )


def _read(
    connection: sqlite3.Connection,
) -> tuple[IdentityKept, dict[int, StoredLog], JournalIndex, int]:
    """Read the whole journal. Only what no checkpoint covers is kept in memory."""
    identity, cut = IdentityKept("", 0, ""), 0
    summaries: list[tuple[LogOutline, int]] = []
    for shard, body in connection.execute("SELECT shard, body FROM summary"):
        if shard == NODE:
            identity, cut = unpack_node(body)
        elif shard >= 0:
            summaries.append(unpack_summary(body))
    index = JournalIndex(identity, cut)
    logs = _Logs()
    for outline, wiped in summaries:
        logs.begin(outline, wiped)
        index.begin(outline, wiped)
    for number, body in connection.execute("SELECT id, body FROM journal ORDER BY id"):
        if number != index.last + 1:
            raise JournalCorrupt(
                f"group {number} stands behind group {index.last}: some are missing"
            )
        group = unpack_group(body)
        logs.apply(number, group)
        index.note(number, group)
    for match, body in connection.execute("SELECT match, body FROM line"):
        unpack_opaque(body, f"the line of match {match}")
    return index.identity, logs.by_shard, index, cut


class _Logs:
    """The shards' logs while the journal is read.

    Groups from before a shard was wiped may still be there, for another shard's sake,
    though what they stand on is not: they are passed over.
    """

    def __init__(self) -> None:
        self.by_shard: dict[int, StoredLog] = {}
        self._wiped: dict[int, int] = {}

    def begin(self, outline: LogOutline, wiped: int) -> None:
        self.by_shard[outline.shard] = StoredLog(
            outline.shard,
            outline.promised,
            outline.base_seq,
            outline.base_epoch,
            outline.commit,
            installing=outline.installing,
        )
        if wiped:
            self._wiped[outline.shard] = wiped

    def apply(self, number: int, group: Sequence[GroupOp]) -> None:
        """Raises JournalCorrupt: entries do not join on."""
        for op in group:
            if isinstance(op, IdentityKept):
                continue
            wiped = self._wiped.get(op.shard, 0)
            if number < wiped or (number == wiped and not isinstance(op, Wiped)):
                continue
            self._wiped.pop(op.shard, None)
            if op.shard not in self.by_shard:
                self.by_shard[op.shard] = StoredLog(op.shard)
            self.by_shard[op.shard].apply(op)


def _drop_unfinished(file: JournalFile, logs: dict[int, StoredLog]) -> None:
    """Forget the installs that were not completed, but not what was promised."""
    ops: list[Wiped] = []
    for shard, log in logs.items():
        if log.installing:
            ops += [Wiped(shard, 0, 0, complete=done) for done in (False, True)]
            log.apply(ops[-1])
    file.write(ops)


def _set_aside(path: Path) -> Path:
    """Rename the file and what is beside it; say where it is."""
    names: Iterator[Path] = (
        path.with_name(f"{path.name}.corrupt-{number}") for number in count(1)
    )
    aside = next(name for name in names if not name.exists())
    if path.exists():
        path.rename(aside)
    for name in _BESIDE:
        beside = path.with_name(path.name + name)
        if beside.exists():
            beside.rename(aside.with_name(aside.name + name))
    _sync_folder(path.parent)
    return aside


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
