"""What is wrong with a saved replay, or with how it is used."""

from __future__ import annotations

from ..errors import EngineError

__all__ = ["CursorError", "EnvelopeError", "LogFileError"]


class EnvelopeError(EngineError, ValueError):
    """A value is no replay envelope. `path` leads to the place, such as `match.seed`.

    Nothing is read from an envelope that is wrong anywhere.
    """

    code = "invalid_envelope"

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"{path} {problem}" if path else problem)


class LogFileError(EngineError, ValueError):
    """Bytes are no exported log, are damaged, or of a format that is not known here.

    Codes: not_a_log, unsupported_format, damaged_file.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class CursorError(EngineError, ValueError):
    """A cursor or a branch is asked for what is not there.

    Codes: unknown_branch, duplicate_branch, too_many_branches, unknown_action,
    invalid_speed.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)
