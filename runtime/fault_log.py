"""Writes down what goes wrong inside one match, without flooding the log.

A player can make a faulty game fail as often as they like: the first faults of a
match are written in full, with the author's traceback; the rest are counted.
"""

from __future__ import annotations

import structlog

from ..engine.refusal import Fault, Refusal
from .budget import BudgetExceeded

__all__ = ["FAULTS_LOGGED_MAX", "FaultLog"]

# Lines per match and kind: enough to see a pattern, too few to fill a disk.
FAULTS_LOGGED_MAX = 8


class FaultLog:
    """The faults of one match."""

    __slots__ = ("_lines", "_log", "_match", "count")

    def __init__(self, match: str) -> None:
        self._match = match
        self._log = structlog.get_logger()
        self._lines: dict[str, int] = {}
        self.count = 0
        """Faults so far, written or not."""

    def add(self, code: str, fault: Fault, *, seat: str | None = None) -> None:
        """The game's own code failed on an action, a derivation or a view."""
        self._write(
            "game_failed",
            code=code,
            seat=seat,
            **_told(fault),
        )

    def overran(
        self, stop: BudgetExceeded, *, event: str | None = None, seat: str | None = None
    ) -> None:
        """The game's own code held the loop and was interrupted."""
        self._write(
            "budget_exceeded",
            game_event=stop.event or event,
            label=stop.label,
            seat=seat,
            error=str(stop),
            traceback="\n".join(map(str, stop.stack)),
        )

    def timeout_not_fired(self, revision: int, refusal: Refusal) -> None:
        """A deadline came and nothing could be done; it is not armed again."""
        fault = refusal.fault
        self._write(
            "timeout_not_fired",
            code=refusal.code,
            revision=revision,
            reason=refusal.message,
            **({} if fault is None else _told(fault)),
        )

    def stuck_deadline(self, revision: int) -> None:
        """A step left a deadline that had passed already; it does not fire."""
        self._write("stuck_deadline", revision=revision)

    def state_large(self, size: int, revision: int) -> None:
        """The state has grown beyond what is good for it; it may be refused soon."""
        self._log.warning(
            "state_large", match=self._match, bytes=size, revision=revision
        )

    def _write(self, event: str, **fields: object) -> None:
        self.count += 1
        written = self._lines.get(event, 0)
        if written < FAULTS_LOGGED_MAX:
            self._lines[event] = written + 1
            last = written + 1 == FAULTS_LOGGED_MAX
            self._log.error(event, match=self._match, last_line=last, **fields)


def _told(fault: Fault) -> dict[str, str | None]:
    """What an author needs to find the line that failed."""
    return {
        "game_event": fault.event,
        "label": fault.label,
        "error": f"{fault.exception_type}: {fault.message}",
        "where": fault.where,
        "source": fault.source,
        "traceback": fault.traceback,
    }
