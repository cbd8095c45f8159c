"""The coordinator's SQLite file: schema, transactions, sessions. Synchronous.

One object is one connection; every call is one transaction. It maps nothing: a
`sqlite3.Error` after `open` is the caller's to judge. Time is an argument.

Rules: the store's revision grows by one with each transaction that changes keys;
`change` keeps the newest transactions, deletes included, for watches, and `compacted`
is the newest revision that is no longer there; an expired session never comes back.

Version history of `SCHEMA_VERSION` (kept in `user_version`):
1: the first.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path

from ...runtime.coordinator import (
    ABSENT,
    CasConflict,
    CasOk,
    Change,
    Entry,
    Listing,
    Write,
)
from ...runtime.errors import (
    CoordinatorFileInvalid,
    CoordinatorUnavailable,
    WatchCompacted,
)

__all__ = ["APPLICATION_ID", "KEPT_REVISIONS", "SCHEMA_VERSION", "CoordinatorFile"]

SCHEMA_VERSION = 1
APPLICATION_ID = 0x48534354  # "HSCT"

KEPT_REVISIONS = 1024
"""Transactions a watch may lag behind. Watches read every 50 ms; a cluster that
starts writes some dozens."""

BUSY_RETRY_S = 0.001
"""Between two attempts to write while another process does: about as long as a
transaction takes. SQLite's own pauses grow to 25 ms in three times that."""

OPEN_S = 5.0
OPEN_RETRY_S = 0.01
"""How long and how often to try while other processes are opening the file."""

SCHEMA = (
    "CREATE TABLE position (revision INTEGER NOT NULL, compacted INTEGER NOT NULL)",
    "INSERT INTO position VALUES (0, 0)",
    "CREATE TABLE entry (key TEXT PRIMARY KEY, value BLOB NOT NULL,"
    " revision INTEGER NOT NULL, session TEXT) WITHOUT ROWID",
    "CREATE INDEX entry_session ON entry (session) WHERE session IS NOT NULL",
    "CREATE TABLE change (revision INTEGER, key TEXT, value BLOB,"
    " PRIMARY KEY (revision, key)) WITHOUT ROWID",
    "CREATE TABLE session (id TEXT PRIMARY KEY, ttl_ms INTEGER NOT NULL,"
    " expires_ms INTEGER NOT NULL) WITHOUT ROWID",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)


class CoordinatorFile:
    """One connection to the file. Make it with `open`."""

    def __init__(self, connection: sqlite3.Connection, busy_s: float) -> None:
        self._connection = connection
        self._busy_s = busy_s

    @classmethod
    def open(cls, path: Path, *, busy_s: float, create: bool = True) -> CoordinatorFile:
        """Open the file; with `create`, make it if it is not there or empty.

        `busy_s` is how long a call may wait for another process's transaction.

        Raises:
            CoordinatorFileInvalid: It is not ours, too new, or cannot be opened.
            CoordinatorUnavailable: Other processes keep it locked.
        """
        try:
            if create:
                _make(path)
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=rw",
                uri=True,
                timeout=busy_s,
                isolation_level=None,
                check_same_thread=False,
            )
        except (OSError, sqlite3.Error) as error:
            raise CoordinatorFileInvalid(
                f"cannot open the coordinator file {path}: {error}"
            ) from error
        try:
            _patiently(lambda: _prepare(connection, path, create))
        except sqlite3.Error as error:
            connection.close()
            if _is_locked(error):
                raise CoordinatorUnavailable(
                    f"other processes keep the coordinator file {path} locked"
                ) from error
            raise CoordinatorFileInvalid(
                f"{path} is not a usable coordinator file: {error}"
            ) from error
        except BaseException:
            connection.close()
            raise
        return cls(connection, busy_s)

    def close(self) -> None:
        self._connection.close()

    def data_version(self) -> int:
        """Changes whenever another connection has committed."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    def list(self, prefix: str) -> Listing:
        """All entries under `prefix`, and the revision, from one snapshot."""
        with self._transaction("DEFERRED"):
            revision, _ = self._position()
            rows = self._connection.execute(
                "SELECT key, value, revision FROM entry"
                " WHERE key >= ?1 AND substr(key, 1, length(?1)) = ?1 ORDER BY key",
                (prefix,),
            )
            return Listing(tuple(Entry(*row) for row in rows), revision)

    def changes_after(
        self, prefix: str, revision: int
    ) -> tuple[tuple[tuple[Change, ...], ...], int]:
        """Transactions after `revision` that touched `prefix`, oldest first.

        Also the revision up to which that is all.

        Raises:
            WatchCompacted: Some of them are no longer kept.
        """
        with self._transaction("DEFERRED"):
            newest, compacted = self._position()
            if revision < compacted:
                raise WatchCompacted(
                    f"changes after {revision} are gone, the oldest kept is"
                    f" {compacted + 1}: list again"
                )
            rows = self._connection.execute(
                "SELECT key, value, revision FROM change WHERE revision > ?2"
                " AND substr(key, 1, length(?1)) = ?1 ORDER BY revision, key",
                (prefix, revision),
            )
            changes = [Change(*row) for row in rows]
        grouped = groupby(changes, key=lambda change: change.revision)
        return tuple(tuple(group) for _, group in grouped), newest

    def apply(self, writes: Sequence[Write], now_ms: int) -> CasOk | CasConflict:
        """Apply all writes or none; expired sessions end first."""
        with self._transaction("IMMEDIATE"):
            self._sweep(now_ms)
            moved = tuple(write.key for write in writes if not self._may_land(write))
            if moved:
                return CasConflict(moved)
            return CasOk(self._change([(w.key, w.value, w.session) for w in writes]))

    def open_session(self, session: str, ttl_ms: int, now_ms: int) -> None:
        with self._transaction("IMMEDIATE"):
            self._sweep(now_ms)
            self._connection.execute(
                "INSERT INTO session VALUES (?, ?, ?)",
                (session, ttl_ms, now_ms + ttl_ms),
            )

    def renew_session(self, session: str, now_ms: int) -> bool:
        """False if it is gone: ended, or expired a moment ago."""
        with self._transaction("IMMEDIATE"):
            done = self._connection.execute(
                "UPDATE session SET expires_ms = ?2 + ttl_ms"
                " WHERE id = ?1 AND expires_ms > ?2",
                (session, now_ms),
            )
            self._sweep(now_ms)
            return done.rowcount == 1

    def end_session(self, session: str) -> None:
        with self._transaction("IMMEDIATE"):
            self._end([session])

    def has_expired(self, now_ms: int) -> bool:
        """Whether `sweep` has something to do."""
        row = self._connection.execute(
            "SELECT 1 FROM session WHERE expires_ms <= ? LIMIT 1", (now_ms,)
        ).fetchone()
        return row is not None

    def sweep(self, now_ms: int) -> None:
        """End the sessions that have expired."""
        with self._transaction("IMMEDIATE"):
            self._sweep(now_ms)

    def compact(self, kept: int = 0) -> None:
        """Forget all but the newest `kept` revisions."""
        with self._transaction("IMMEDIATE"):
            self._compact(kept)

    @contextmanager
    def _transaction(self, mode: str) -> Iterator[None]:
        if mode == "IMMEDIATE":
            self._begin_to_write()
        else:
            self._connection.execute(f"BEGIN {mode}")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _begin_to_write(self) -> None:
        """Begin when no other process writes: soon after it has ended.

        Raises:
            sqlite3.OperationalError: It was locked for `busy_s`.
        """
        deadline_s = time.monotonic() + self._busy_s
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            while True:
                try:
                    self._connection.execute("BEGIN IMMEDIATE")
                    return
                except sqlite3.OperationalError as error:
                    if not _is_locked(error) or time.monotonic() > deadline_s:
                        raise
                time.sleep(BUSY_RETRY_S)
        finally:
            self._connection.execute(
                f"PRAGMA busy_timeout = {round(self._busy_s * 1000)}"
            )

    def _position(self) -> tuple[int, int]:
        row = self._connection.execute("SELECT revision, compacted FROM position")
        revision, compacted = row.fetchone()
        return revision, compacted

    def _may_land(self, write: Write) -> bool:
        if write.session is not None:
            held = self._connection.execute(
                "SELECT 1 FROM session WHERE id = ?", (write.session,)
            )
            if held.fetchone() is None:
                return False
        row = self._connection.execute(
            "SELECT revision FROM entry WHERE key = ?", (write.key,)
        ).fetchone()
        return write.expected == (ABSENT if row is None else row[0])

    def _change(self, writes: Sequence[tuple[str, bytes | None, str | None]]) -> int:
        revision = self._position()[0] + 1
        self._connection.execute("UPDATE position SET revision = ?", (revision,))
        for key, value, session in writes:
            if value is None:
                self._connection.execute("DELETE FROM entry WHERE key = ?", (key,))
            else:
                self._connection.execute(
                    "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?)",
                    (key, value, revision, session),
                )
        self._connection.executemany(
            "INSERT INTO change VALUES (?, ?, ?)",
            [(revision, key, value) for key, value, _ in writes],
        )
        self._compact(KEPT_REVISIONS)
        return revision

    def _compact(self, kept: int) -> None:
        revision, compacted = self._position()
        if revision - kept > compacted:
            self._connection.execute(
                "UPDATE position SET compacted = ?", (revision - kept,)
            )
            self._connection.execute(
                "DELETE FROM change WHERE revision <= ?", (revision - kept,)
            )

    def _sweep(self, now_ms: int) -> None:
        rows = self._connection.execute(
            "SELECT id FROM session WHERE expires_ms <= ? ORDER BY id", (now_ms,)
        )
        self._end([session for (session,) in rows.fetchall()])

    def _end(self, sessions: Sequence[str]) -> None:
        for session in sessions:
            rows = self._connection.execute(
                "SELECT key FROM entry WHERE session = ? ORDER BY key", (session,)
            ).fetchall()
            if rows:
                self._change([(key, None, None) for (key,) in rows])
            self._connection.execute("DELETE FROM session WHERE id = ?", (session,))


def _make(path: Path) -> None:
    """Made here and not by SQLite, so that it is never readable by others.

    A file that is there is not touched: a process that closes any handle of a file
    loses all its locks on it, those of other connections too. Another process that ends
    would then take itself for the last one, and take the WAL from those that go on.
    """
    with suppress(FileExistsError):
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL
        os.close(os.open(path, flags, 0o600))


def _prepare(connection: sqlite3.Connection, path: Path, create: bool) -> None:
    """Refuse what is not ours before anything is written; `create` what is empty."""
    if _is_empty(connection):
        if not create:
            raise CoordinatorFileInvalid(f"the coordinator file {path} is empty")
        # Outside a transaction, and kept in the file from then on.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            if _is_empty(connection):  # another process may have been quicker
                for statement in SCHEMA:
                    connection.execute(statement)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise CoordinatorFileInvalid(
            f"{path} is an SQLite database of another program: name another file"
        )
    if version > SCHEMA_VERSION:
        raise CoordinatorFileInvalid(
            f"{path} was written by a newer version (schema {version}, known up to"
            f" {SCHEMA_VERSION}): upgrade this node"
        )
    connection.execute("PRAGMA synchronous = FULL")


def _is_empty(connection: sqlite3.Connection) -> bool:
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return bool(objects == 0)


def _is_locked(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the extension
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _patiently(step: Callable[[], None]) -> None:
    """Repeat while locked: a change to WAL does not heed the busy timeout."""
    deadline_s = time.monotonic() + OPEN_S
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            if not _is_locked(error) or time.monotonic() > deadline_s:
                raise
            time.sleep(OPEN_RETRY_S)
