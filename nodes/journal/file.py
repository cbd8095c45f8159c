"""A node's journal as an SQLite file: schema, groups, cutting. Synchronous.

One object is the one connection that writes. Tables:

    journal   one row for each group commit, numbered without a gap
    summary   what the rows that were cut off said: of each shard, and (-1) of the node
    line      one row for each match: a line of its shard's manifest
    state     its packed state
    history   runs of its packed records, by the number of the first
    mark      what it was after some of them, packed: shortcuts for readers
    life      whether the file was closed in order

Rules:
- A group is one transaction: it is there as a whole or not at all. SQLite's
  write-ahead file with synchronous=FULL makes it durable before COMMIT returns, and
  leaves out what was torn.
- Every blob is sealed (`journal_codec.py`).
- Rows are cut off behind the oldest entry that no checkpoint covers, a bounded number
  at a time, in the transaction of a later group.

Version history of `SCHEMA_VERSION` (kept in `user_version`):
1: the first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from ...runtime.errors import JournalFailed, JournalForeign
from ...runtime.journal import (
    Buried,
    Forgotten,
    SavedHistory,
    SavedMark,
    SavedState,
    StoreOp,
)
from ...runtime.journal_codec import (
    GroupOp,
    pack_group,
    pack_history,
    pack_line,
    pack_node,
    pack_opaque,
    pack_summary,
)
from ...runtime.replication.output import Commit, Wiped
from .index import JournalIndex

__all__ = [
    "APPLICATION_ID",
    "NODE",
    "SCHEMA_VERSION",
    "JournalFile",
    "close",
    "connect",
    "failed",
    "forget_shard",
    "prepare",
]

SCHEMA_VERSION = 1
APPLICATION_ID = 0x4853544A  # "HSTJ"

NODE, PROBE = -1, -2
"""Rows of `summary` that are no shard's: the node's, and one that comes and goes."""

PROBE_BYTES = 256 * 1024
"""Written to see whether a disk has room again: more than a busy moment's groups."""

CUT_ROWS_MIN = 64
"""Rows that can go before any are cut off: summaries are not written for less."""

CUT_ROWS_MAX = 256
"""Rows cut off in one transaction: no group waits long for it."""

RUN_BYTES_MAX = 64 * 1024
"""Bytes of one row of history: a page of records reads little that it does not need."""

WAL_PAGES = 4096
"""Pages (of 4 KiB) in the write-ahead file before it is folded into the file."""

BUSY_S = 5.0
"""How long to wait for a lock. Nobody else writes: only somebody who looks with a tool
of theirs holds one."""

_OF_ONE_MATCH = ("state", "history", "mark")

SCHEMA = (
    "CREATE TABLE journal (id INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    "CREATE TABLE summary (shard INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    "CREATE TABLE line (match TEXT PRIMARY KEY, shard INTEGER NOT NULL,"
    " body BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX line_shard ON line (shard, match)",
    "CREATE TABLE state (match TEXT PRIMARY KEY, body BLOB NOT NULL)",
    "CREATE TABLE history (match TEXT, first INTEGER, count INTEGER NOT NULL,"
    " body BLOB NOT NULL, PRIMARY KEY (match, first))",
    "CREATE TABLE mark (match TEXT, number INTEGER, body BLOB NOT NULL,"
    " PRIMARY KEY (match, number))",
    "CREATE TABLE life (one INTEGER PRIMARY KEY CHECK (one = 1), clean INTEGER)",
    "INSERT INTO life VALUES (1, 1)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a connection to an existing file; transactions are begun by hand.

    Raises:
        sqlite3.Error: It cannot be opened.
    """
    mode = "ro" if read_only else "rw"
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=BUSY_S,
        isolation_level=None,
        check_same_thread=False,
    )


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables in an empty file; refuse what is not ours.

    Raises:
        JournalForeign: It is another program's, or a newer version wrote it.
        sqlite3.Error: It cannot be read, or takes no writes.
    """
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not objects:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute("COMMIT")
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise JournalForeign(
            f"{path} is an SQLite database of another program: name another file"
        )
    if version > SCHEMA_VERSION:
        raise JournalForeign(
            f"{path} was written by a newer version (schema {version}, known up to"
            f" {SCHEMA_VERSION}): upgrade this node"
        )
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")


class JournalFile:
    """The connection that writes."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, index: JournalIndex, cut: int
    ) -> None:
        self._path = path
        self._connection = connection
        self._index = index
        self._cut = cut
        self._hints: dict[int, int] = {}
        self.rows_written = 0
        self.bytes_written = 0
        self.rows_cut = 0

    @property
    def rows(self) -> int:
        """Rows in the journal now."""
        return self._index.last - self._cut

    def limit(self, bytes_max: int | None) -> None:
        """Refuse to grow beyond so many bytes; None: beyond what the disk holds."""
        (page,) = self._connection.execute("PRAGMA page_size").fetchone()
        pages = 0x7FFFFFFE if bytes_max is None else max(1, bytes_max // page)
        self._connection.execute(f"PRAGMA max_page_count = {pages}")

    def write(self, ops: Sequence[StoreOp]) -> None:
        """Make a group durable.

        Raises:
            JournalFailed: Nothing of it is there.
        """
        group = self._group(ops)
        number = self._index.last + bool(group)
        stored = [op for op in ops if not isinstance(op, Commit)]
        if not stored:
            return
        body = pack_group(group) if group else b""
        cut = self._next_cut()
        self._transact(lambda: self._put(number, body, stored, cut))
        self._hints.clear()
        if cut is not None:
            self._index.stored()
            self.rows_cut += cut - self._cut
            self._cut = cut
        if group:
            self.rows_written += 1
            self.bytes_written += len(body)
            self._index.note(number, group)

    def reopen(self, bytes_max: int | None = None) -> None:
        """Open the file anew, and see whether it takes writes. `bytes_max`: see
        `limit`.

        What a failed group may have left behind is dropped, so that it never comes up.

        Raises:
            JournalFailed: It takes none.
        """
        fresh = None
        try:
            fresh = connect(self._path)
            prepare(fresh, self._path)
        except (sqlite3.Error, JournalForeign) as error:
            if fresh is not None:
                fresh.close()
            raise failed(self._path, error) from error
        # The other connection was open until now: nothing was rolled forward.
        old, self._connection = self._connection, fresh
        old.close()
        self.limit(bytes_max)

        def probe() -> None:
            fresh.execute("DELETE FROM journal WHERE id > ?", (self._index.last,))
            fresh.execute("UPDATE life SET clean = 0")
            fresh.execute(
                "INSERT OR REPLACE INTO summary VALUES (?, zeroblob(?))",
                (PROBE, PROBE_BYTES),
            )

        self._transact(probe)
        self._transact(self._forget_probe)

    def mark(self, *, clean: bool) -> None:
        """Say whether the file was closed in order.

        Raises:
            JournalFailed: It cannot be said.
        """

        def put() -> None:
            self._connection.execute("UPDATE life SET clean = ?", (int(clean),))

        self._transact(put)
        if not clean:  # into the file itself, which a copy without the WAL has too
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def close(self) -> None:
        """Close the connection."""
        close(self._connection, self._path)

    def _group(self, ops: Sequence[StoreOp]) -> list[GroupOp]:
        """What goes into the journal. Of the hints, each shard's newest."""
        group: list[GroupOp] = []
        for op in ops:
            if isinstance(op, Commit):
                self._hints[op.shard] = op.seq
            elif not isinstance(
                op, SavedState | SavedHistory | SavedMark | Buried | Forgotten
            ):
                group.append(op)
                if isinstance(op, Wiped):
                    self._hints.pop(op.shard, None)
        if group:
            group += [Commit(shard, seq) for shard, seq in self._hints.items()]
        return group

    def _next_cut(self) -> int | None:
        spare = self._index.spare
        if spare - self._cut < CUT_ROWS_MIN:
            return None
        return min(spare, self._cut + CUT_ROWS_MAX)

    def _put(
        self, number: int, body: bytes, ops: Sequence[StoreOp], cut: int | None
    ) -> None:
        execute = self._connection.execute
        if cut is not None:
            self._write_summaries(cut)
            execute("DELETE FROM journal WHERE id <= ?", (cut,))
        if body:
            execute("INSERT INTO journal VALUES (?, ?)", (number, body))
        for op in ops:
            match op:
                case SavedState(line, state):
                    self._put_line(line.match, line.shard, pack_line(line))
                    execute(
                        "INSERT OR REPLACE INTO state VALUES (?, ?)",
                        (line.match, pack_opaque(state)),
                    )
                case SavedHistory(match, first, records):
                    self._put_history(match, first, records)
                case SavedMark(match, index, state):
                    execute(
                        "INSERT OR REPLACE INTO mark VALUES (?, ?, ?)",
                        (match, index, pack_opaque(state)),
                    )
                case Buried(line):
                    self._forget(line.match)
                    self._put_line(line.match, line.shard, pack_line(line))
                case Forgotten(match):
                    self._forget(match)
                    execute("DELETE FROM line WHERE match = ?", (match,))
                case Wiped(shard, complete=False):
                    forget_shard(self._connection, shard)

    def _put_line(self, match: str, shard: int, body: bytes) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO line VALUES (?, ?, ?)", (match, shard, body)
        )

    def _put_history(self, match: str, first: int, records: tuple[bytes, ...]) -> None:
        """Store the records that are not there, in runs of bounded size."""
        after = first + len(records)
        held = self._connection.execute(
            "SELECT first, first + count FROM history WHERE match = ?1 AND first < ?2"
            " AND first + count > ?3 ORDER BY first",
            (match, after, first),
        ).fetchall()
        begin = first
        for start, end in [*held, (after, after)]:
            self._put_runs(match, begin, records[begin - first : max(0, start - first)])
            begin = end

    def _put_runs(self, match: str, first: int, records: tuple[bytes, ...]) -> None:
        run: list[bytes] = []
        size = 0
        for record in records:
            if run and size + len(record) > RUN_BYTES_MAX:
                self._put_run(match, first, run)
                first, run, size = first + len(run), [], 0
            run.append(record)
            size += len(record)
        if run:
            self._put_run(match, first, run)

    def _put_run(self, match: str, first: int, run: list[bytes]) -> None:
        self._connection.execute(
            "INSERT INTO history VALUES (?, ?, ?, ?)",
            (match, first, len(run), pack_history(run)),
        )

    def _forget(self, match: str) -> None:
        for table in _OF_ONE_MATCH:
            self._connection.execute(f"DELETE FROM {table} WHERE match = ?", (match,))

    def _forget_probe(self) -> None:
        self._connection.execute("DELETE FROM summary WHERE shard = ?", (PROBE,))

    def _write_summaries(self, cut: int) -> None:
        self._connection.executemany(
            "INSERT OR REPLACE INTO summary VALUES (?, ?)",
            [
                (NODE, pack_node(self._index.identity, cut)),
                *[
                    (log.shard, pack_summary(log, wiped))
                    for log, wiped in self._index.changed()
                ],
            ],
        )

    def _transact(self, step: Callable[[], None]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            step()
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise failed(self._path, error) from error
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            # SQLite may have rolled it back by itself, or the disk is gone.
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")


def close(connection: sqlite3.Connection, path: Path) -> None:
    """Close a connection that writes; the write-ahead file is folded in if all is well.

    SQLite would fold it in and remove it in any case. But then a file that was not
    closed in order could not be told from one whose write-ahead file was lost. So one
    that only reads, which cannot fold, is there until the other one is gone.
    """
    with suppress(sqlite3.Error):
        rows = connection.execute("SELECT clean FROM life").fetchall()
        if rows == [(1,)]:
            connection.close()
            return
    with suppress(sqlite3.Error):
        last = connect(path, read_only=True)
        last.execute("SELECT clean FROM life").fetchall()
        connection.close()
        last.close()
    connection.close()


def forget_shard(connection: sqlite3.Connection, shard: int) -> None:
    """Drop a shard's matches, within a transaction."""
    ours = "(SELECT match FROM line WHERE shard = ?)"
    for table in _OF_ONE_MATCH:
        connection.execute(f"DELETE FROM {table} WHERE match IN {ours}", (shard,))
    connection.execute("DELETE FROM line WHERE shard = ?", (shard,))


def failed(path: Path, error: Exception) -> JournalFailed:
    """What a failure of SQLite's means."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
        return JournalFailed(
            "disk_full",
            f"the journal {path} cannot grow: make room on its disk, or raise the"
            f" limit; the node tries again by itself ({error})",
        )
    return JournalFailed(
        "disk_refused",
        f"the journal {path} takes no writes: look at its disk and its permissions;"
        f" the node tries again by itself ({error})",
    )
