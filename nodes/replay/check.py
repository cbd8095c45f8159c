"""Plays stored matches on new code, and says where it does something else.

An operator runs it before a rollout. A log brings digests of every record, and what
each step changed; an envelope brings neither, so it needs the old code beside the new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from ...engine.errors import EngineError
from ...engine.jsonvalue import Json
from ...engine.machine import Machine
from ...engine.replay.compare import Difference, compare_log, compare_timelines
from ...engine.replay.timeline import open_timeline
from ..operator_error import OperatorError
from .saved_match import SavedMatch, find_older, read_saved

__all__ = ["Checked", "check_files", "compared"]


class Checked(msgspec.Struct, frozen=True):
    """What became of one file. `error` and `refused` have a code."""

    file: str
    match: str | None
    outcome: Literal["same", "differs", "fits", "refused", "error"]
    revision: int | None = None
    field: str | None = None
    before: Json = None
    after: Json = None
    code: str | None = None
    message: str | None = None

    @property
    def said(self) -> str:
        """The outcome in one line."""
        if self.outcome == "differs":
            return f"{self.field}: {self.before!r} -> {self.after!r}"
        return "" if self.code is None else f"{self.code}: {self.message}"


def check_files(
    paths: Iterable[Path], new: Machine, old: Machine | None
) -> Iterator[Checked]:
    """Check one file after the other; a bad one does not keep the next from it."""
    for path in paths:
        try:
            saved = read_saved(path)
            found = compared(saved, new, old)
        except (OperatorError, EngineError) as error:
            message = error.message if isinstance(error, OperatorError) else str(error)
            yield Checked(str(path), None, "error", code=error.code, message=message)
            continue
        if found is None:
            yield Checked(str(path), saved.match, "same")
        else:
            yield Checked(str(path), saved.match, "differs", **_fields(found))


def compared(saved: SavedMatch, new: Machine, old: Machine | None) -> Difference | None:
    """Where new code does something else with a saved match; None if nowhere.

    Raises:
        OperatorError: wrong_game, version_missing, or nothing_to_compare with.
        EngineError: The match does not start under the old code.
    """
    if saved.game != new.game.name:
        raise OperatorError(
            "wrong_game", f"it is a match of {saved.game}, not of {new.game.name}"
        )
    if old is not None:
        recording = saved.recording
        older = find_older(saved)
        before = open_timeline(old, recording, older)
        try:
            after = open_timeline(new, recording, older)
        except EngineError as error:
            return Difference(0, "answer", "accepted", str(error))
        return compare_timelines(before, after)
    if saved.log is None:
        raise OperatorError(
            "nothing_to_compare",
            "an envelope holds no digests; name the old code with --old",
        )
    return compare_log(new, saved.log, find_older(saved))


def _fields(found: Difference) -> dict[str, Any]:
    return {
        "revision": found.revision,
        "field": found.field,
        "before": found.before,
        "after": found.after,
    }
