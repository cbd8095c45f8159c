"""Operators' commands as rows: one, and a page of those that are kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from ...runtime.control_plane import OperationRecord
from .door import DoorError
from .operations_log import Kept
from .rows import OperationRow, ProgressRow, row_json

__all__ = ["PAGE_BYTES", "ROWS_PER_PAGE", "give_operations", "operation_row"]

ROWS_PER_PAGE = 200
PAGE_BYTES = 256 * 1024
"""A quarter of a door's message; a page ends behind the row that exceeds it."""


def operation_row(
    record: OperationRecord,
    boots: Collection[tuple[str, str]] | None = None,
    progress: ProgressRow | None = None,
) -> OperationRow:
    """A command's row. `boots`: the processes that are registered, if that is known: a
    command of another one runs no more."""
    lost = (
        record.state == "running"
        and boots is not None
        and (record.node, record.boot) not in boots
    )
    return OperationRow(
        id=record.id,
        who=record.who,
        why=record.why,
        verb=record.verb,
        target=record.target,
        args=record.args,
        node=record.node,
        asked_ms=record.asked_ms,
        ended_ms=record.ended_ms,
        state="node_gone" if lost else record.state,
        code=record.code,
        message=record.message,
        outcome=record.outcome,
        progress=progress,
    )


def give_operations(
    kept: Kept, boots: Collection[tuple[str, str]], asked: Mapping[str, Any]
) -> dict[str, Any]:
    """The kept commands, the newest first, in pages.

    All of these may be left out: `after` (where the page before ended), `verb`,
    `target`, `who`, `limit`.

    Answers `operations`, a list of `OperationRow`; `next`: the `after` of the next
    page, or nil; and `unreadable`: how many this node cannot read, as newer ones wrote
    them.

    Raises:
        DoorError: malformed_request.
    """
    texts = {name: asked.get(name) for name in ("verb", "target", "who")}
    limit, after = asked.get("limit", ROWS_PER_PAGE), asked.get("after")
    wrong = [n for n, text in texts.items() if not isinstance(text, str | None)]
    if type(limit) is not int or limit < 1:
        wrong.append("limit")
    if after is not None and not (
        isinstance(after, list)
        and len(after) == 2
        and type(after[0]) is int
        and isinstance(after[1], str)
    ):
        wrong.append("after")
    if wrong:
        names = ", ".join(f"`{name}`" for name in wrong)
        raise DoorError("malformed_request", f"Not understood: {names}.")
    rows: list[dict[str, Any]] = []
    size = 0
    unreadable = len(kept.unreadable)
    for record in kept.records:
        if after is not None and (record.asked_ms, record.id) >= (after[0], after[1]):
            continue
        if any(text not in (None, getattr(record, n)) for n, text in texts.items()):
            continue
        if len(rows) >= min(limit, ROWS_PER_PAGE) or size > PAGE_BYTES:
            last = rows[-1]
            following = [last["asked_ms"], last["id"]]
            return {"operations": rows, "next": following, "unreadable": unreadable}
        row = operation_row(record, boots)
        rows.append(row_json(row))
        size += len(msgspec.msgpack.encode(row))
    return {"operations": rows, "next": None, "unreadable": unreadable}
