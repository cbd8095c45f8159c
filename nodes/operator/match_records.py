"""The `records` operation of a node's door: the log of a match, a page at a time.

It is for operators: the log of a match that is still played holds its seed and
everybody's payloads. Only what is committed is given out, and the match does not
notice: nothing waits, nothing enters its mailbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...runtime.errors import FrameTooLarge
from ...runtime.log_page import pack_page
from ...runtime.match_id import is_match_id
from ...runtime.refusal import RUNTIME_REFUSALS
from ..supervisor.absent import LOG_GONE
from ..supervisor.supervisor import Supervisor
from .door import DoorError

__all__ = ["PAGE_BYTES", "give_records"]

PAGE_BYTES = 256 * 1024
"""Of a page, unless its only record is larger; a quarter of a door's message, and a few
milliseconds of the node's loop."""


def give_records(supervisor: Supervisor, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The committed records of the match `match` from number `first` on.

    Answers `epoch`, `status` (an `ActorState`), `ended`, `count` of all committed,
    `records`: a packed array, which ends before the last one when the page is full; and
    `marks`: [number, packed state] after some of these records, as far as known.

    Raises:
        DoorError: malformed_request, moved, game_over, unknown_match, too_large.
    """
    match, first = asked.get("match"), asked.get("first", 0)
    if not isinstance(match, str) or not is_match_id(match):
        raise DoorError("malformed_request", "`match` is no id of a match.")
    if type(first) is not int or first < 0:
        raise DoorError("malformed_request", "`first` is no number of a record.")
    log = supervisor.committed_log(match)
    if log is None:
        code = supervisor.absence(match)
        raise DoorError(code, RUNTIME_REFUSALS.get(code, LOG_GONE))
    try:
        page, after = pack_page(log.records, first, PAGE_BYTES)
    except FrameTooLarge as error:
        raise DoorError(error.code, str(error)) from error
    return {
        "epoch": log.epoch,
        "status": log.status.value,
        "ended": log.ended,
        "count": len(log.records),
        "records": page,
        "marks": supervisor.marks(match, first, after - 1, PAGE_BYTES),
    }
