"""Pages of a match's log, each small enough for a frame."""

from __future__ import annotations

import msgspec

from ..engine.record import Record, record_to_json
from .codec import FRAME_LIMIT_BYTES, pack
from .errors import FrameTooLarge
from .frame import FetchLog, LogPage, Refused
from .match_source import LogReader
from .match_state import MatchState
from .translate import refused

__all__ = ["fetch_log", "pack_page"]

# Bytes of a msgpack array's header, as it is written here.
_HEADER_BYTES = 5

# Bytes of the rest of a page's frame, at most: the match's id and three numbers.
_FRAME_BYTES = 256


def fetch_log(
    asked: FetchLog,
    committed: MatchState | None,
    records: LogReader,
    page_bytes: int,
) -> LogPage | Refused:
    """The records from `asked.first` on, until `page_bytes` are reached.

    Only once the match has ended: the log holds the seed and everybody's payloads. A
    page past the end is empty. A record is never cut: one that is larger than
    `page_bytes` is alone in its page.
    """
    if committed is None or not committed.ended:
        return refused(asked.request, "match_running")
    if asked.first < 0:
        return refused(asked.request, "malformed_request", "first is negative")
    try:
        page, after = pack_page(records, asked.first, page_bytes)
    except FrameTooLarge as error:
        return refused(asked.request, error.code, str(error))
    return LogPage(
        request=asked.request,
        match=asked.match,
        first=asked.first,
        records=msgspec.Raw(page),
        next=after if after < len(records) else None,
    )


def pack_page(records: LogReader, first: int, page_bytes: int) -> tuple[bytes, int]:
    """The records from `first` on as a packed array, and the index after the last.

    Raises:
        FrameTooLarge: Not even the first one fits into a frame.
    """
    packed: list[bytes] = []
    size = _HEADER_BYTES
    for record in records.read(first, page_bytes):
        try:
            encoded = _packed(record)
        except FrameTooLarge:
            if not packed:
                raise
            break
        if packed and size + len(encoded) > page_bytes:
            break
        packed.append(encoded)
        size += len(encoded)
    return b"".join((_array_header(len(packed)), *packed)), first + len(packed)


def _packed(record: Record) -> bytes:
    limit = FRAME_LIMIT_BYTES - _FRAME_BYTES - _HEADER_BYTES
    return bytes(pack(record_to_json(record), limit=limit))


def _array_header(count: int) -> bytes:
    """The start of a msgpack array of `count` items."""
    return b"\xdd" + count.to_bytes(4, "big")
