"""The errors the engine raises, each with a stable code.

Refusals of a player's action are values (`refusal.py`), never raised. What is raised
is a mistake in a definition, in the input of a match, or in the use of this library::

    EngineError
    ├── DefinitionError          the author wrote something that cannot be a game
    │   └── InvalidGameError     the game as a whole is wrong; carries the report
    ├── InvalidMatchError        who plays, and with what configuration, is wrong
    ├── InvalidJsonValueError    a value is not JSON (also a ValueError)
    │   └── TooDeepError         a value is nested beyond the limit, or contains itself
    ├── FrozenError              someone tried to change G (also a TypeError)
    ├── DraftError               a draft is used after its step, or was not returned
    ├── RngError                 a bad argument to ctx.rng (also a ValueError)
    ├── ProfileDeltaError        a profile delta does not apply (also a ValueError)
    ├── ProfileDraftError        a change that no delta can say (also a ValueError)
    ├── ProfileCommitError       a game's `commit` failed; carries the fault
    ├── ViewError                a view failed; carries the fault for the operator
    ├── ImagineError             what stands behind a view cannot be imagined
    ├── SnapshotError            a snapshot is malformed or of another game
    ├── RecordError              what was read is not a record of a log
    └── ReplayError              a log does not play back
        └── DigestMismatchError  a log plays back to something else
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .refusal import Fault
    from .validate import Report

__all__ = [
    "DefinitionError",
    "DigestMismatchError",
    "DraftError",
    "EngineError",
    "FrozenError",
    "ImagineError",
    "InvalidGameError",
    "InvalidJsonValueError",
    "InvalidMatchError",
    "ProfileCommitError",
    "ProfileDeltaError",
    "ProfileDraftError",
    "RecordError",
    "ReplayError",
    "RngError",
    "SnapshotError",
    "TooDeepError",
    "ViewError",
]


class EngineError(Exception):
    """Root of the tree. `code` is stable; the message may change."""

    code = "engine_error"


class DefinitionError(EngineError):
    """A part of a definition is wrong; raised at the line that wrote it."""

    code = "invalid_definition"


class InvalidGameError(DefinitionError):
    """The game does not pass validation. `report` holds every diagnostic."""

    code = "invalid_game"

    def __init__(self, report: Report) -> None:
        self.report = report
        errors = [d for d in report.diagnostics if d.severity == "error"]
        first = "the game is not valid"
        if errors:
            first = " ".join(filter(None, (errors[0].message, errors[0].hint)))
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        super().__init__(f"{first}{more}")


class InvalidMatchError(EngineError):
    """The input of a match is wrong. `code` says what: an unknown seat, a bad value."""

    def __init__(self, message: str, *, code: str = "invalid_match") -> None:
        self.code = code
        super().__init__(message)


class InvalidJsonValueError(EngineError, ValueError):
    """A value is not JSON. `path` leads to the place, from `$`."""

    code = "not_json"

    def __init__(self, label: str, path: str, problem: str) -> None:
        self.label = label
        self.path = path
        self.problem = problem
        super().__init__(f"{label} is not JSON at {path}: {problem}")


class TooDeepError(InvalidJsonValueError):
    """A value is nested beyond `NESTING_MAX`, or contains itself."""

    code = "too_deep"


class FrozenError(EngineError, TypeError):
    """G is not changed in place; the message says what to write instead."""

    code = "frozen"


class DraftError(EngineError):
    """A draft is used after its step, or was changed and not returned."""

    code = "draft"


class RngError(EngineError, ValueError):
    """A bad argument to a method of `ctx.rng`. Nothing was drawn."""

    code = "rng_argument"


class ProfileDeltaError(EngineError, ValueError):
    """A profile delta is malformed or does not apply. `at` is its position."""

    code = "profile_delta"

    def __init__(self, message: str, *, reason: str, at: int | None = None) -> None:
        self.reason = reason
        self.at = at
        super().__init__(message)


class ProfileDraftError(EngineError, ValueError):
    """A change of a profile that no delta can say; the message says what to write."""

    code = "profile_draft"


class ProfileCommitError(EngineError):
    """A game's `commit` raised or gave no deltas. `fault` is for the operator."""

    code = "profile_commit"

    def __init__(self, message: str, fault: Fault | None = None) -> None:
        self.fault = fault
        super().__init__(message)


class ViewError(EngineError):
    """A view raised or is not JSON. `fault` is for the operator, not for the seat."""

    code = "view_error"

    def __init__(self, message: str, fault: Fault) -> None:
        self.fault = fault
        super().__init__(message)


class SnapshotError(EngineError):
    """A snapshot is malformed, or names states that the game does not have."""

    code = "invalid_snapshot"


class ImagineError(EngineError):
    """What stands behind a view cannot be imagined; the message says why."""

    code = "imagine_failed"


class RecordError(EngineError):
    """What was read is not a record; the message says where."""

    code = "invalid_record"


class ReplayError(EngineError):
    """The record at `index` cannot be played back."""

    code = "replay_failed"

    def __init__(self, index: int, message: str) -> None:
        self.index = index
        super().__init__(message)


class DigestMismatchError(ReplayError):
    """The record at `index` is the first that differs; `field` says in what."""

    code = "digest_mismatch"

    def __init__(self, index: int, field: str) -> None:
        self.field = field
        super().__init__(index, f"record {index} differs from its log in its {field}")
