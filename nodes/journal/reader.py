"""Reading a node's journal file: manifests, states, history.

A connection of its own, that cannot write. Reads are synchronous: in WAL mode they wait
for nobody, and each is bounded. A cursor is never held open between two steps of a
caller's, so that no read keeps the write-ahead file from being folded in.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...runtime.errors import FormatTooNew, JournalCorrupt
from ...runtime.journal import MatchLine
from ...runtime.journal_codec import unpack_history, unpack_line, unpack_opaque
from .file import connect

__all__ = ["JournalReader"]

LINES = 256
"""Lines of a manifest read at once."""


class JournalReader:
    """Implements `StoreReader`."""

    def __init__(self, path: Path) -> None:
        """Raises:
        sqlite3.Error: It cannot be opened.
        """
        self._path = path
        self._connection = connect(path, read_only=True)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def manifest(self, shard: int, after: str = "") -> Iterator[MatchLine]:
        """The lines of a shard's matches behind `after`, sorted by match.

        Raises:
            JournalCorrupt: They cannot be read.
        """
        while True:
            rows = self._rows(
                "SELECT body FROM line WHERE shard = ? AND match > ?"
                " ORDER BY match LIMIT ?",
                (shard, after, LINES),
            )
            for (body,) in rows:
                line = self._read_line(body)
                after = line.match
                yield line
            if len(rows) < LINES:
                return

    def line(self, match: str) -> MatchLine | None:
        """The line of one match, buried ones too; None if nothing is stored.

        Raises:
            JournalCorrupt: It cannot be read.
        """
        rows = self._rows("SELECT body FROM line WHERE match = ?", (match,))
        return self._read_line(rows[0][0]) if rows else None

    def state(self, match: str) -> bytes | None:
        """The packed state, or None if none is stored.

        Raises:
            JournalCorrupt: Its checksum is wrong.
        """
        rows = self._rows("SELECT body FROM state WHERE match = ?", (match,))
        if not rows:
            return None
        what = f"the stored state of match {match}"
        try:
            return unpack_opaque(rows[0][0], what)
        except FormatTooNew as error:
            raise JournalCorrupt(str(error)) from error

    def history(self, match: str, first: int, bytes_max: int) -> tuple[bytes, ...]:
        """Packed records from `first` on: one at least, then up to `bytes_max`.

        Raises:
            JournalCorrupt: A record's checksum is wrong.
        """
        found: list[bytes] = []
        size = 0
        while run := self._run(match, first + len(found)):
            for record in run:
                size += len(record)
                if found and size > bytes_max:
                    return tuple(found)
                found.append(record)
        return tuple(found)

    def marks(
        self, match: str, first: int, last: int, bytes_max: int
    ) -> tuple[tuple[int, bytes], ...]:
        """What was kept of the match's past from `first` to `last`, in order.

        Raises:
            JournalCorrupt: A checksum is wrong.
        """
        sizes = self._rows(
            "SELECT number, length(body) FROM mark"
            " WHERE match = ? AND number BETWEEN ? AND ? ORDER BY number",
            (match, first, last),
        )
        found: list[tuple[int, bytes]] = []
        for number, size in sizes:
            bytes_max -= size
            if bytes_max < 0:
                break
            rows = self._rows(
                "SELECT body FROM mark WHERE match = ? AND number = ?", (match, number)
            )
            found += [(number, self._read_mark(match, body)) for (body,) in rows]
        return tuple(found)

    def _read_mark(self, match: str, body: bytes) -> bytes:
        try:
            return unpack_opaque(body, f"a kept past of match {match}")
        except FormatTooNew as error:
            raise JournalCorrupt(str(error)) from error

    def _run(self, match: str, first: int) -> list[bytes]:
        """Records from `first` to the end of the run that holds it."""
        rows = self._rows(
            "SELECT first, body FROM history WHERE match = ? AND first <= ?"
            " ORDER BY first DESC LIMIT 1",
            (match, first),
        )
        if not rows:
            return []
        begin, body = rows[0]
        try:
            return unpack_history(body)[first - begin :]
        except FormatTooNew as error:
            raise JournalCorrupt(str(error)) from error

    def _read_line(self, body: bytes) -> MatchLine:
        try:
            return unpack_line(body)
        except FormatTooNew as error:
            raise JournalCorrupt(str(error)) from error

    def _rows(self, query: str, values: tuple[Any, ...]) -> list[Any]:
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise JournalCorrupt(f"{self._path} cannot be read: {error}") from error
