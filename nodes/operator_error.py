"""An error that an operator reads: a stable code, one line, and what to do.

Commands raise it and `cli.main` prints it as `error[code]: message`, with the hint
on the next line; a traceback is shown only with --debug.
"""

from __future__ import annotations

from .exit_codes import ExitCode

__all__ = ["OperatorError"]


class OperatorError(Exception):
    """Something an operator asked for cannot be done."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str = "",
        exit_code: ExitCode = ExitCode.FAILED,
    ) -> None:
        self.code = code
        self.message = message
        self.hint = hint
        self.exit_code = exit_code
        super().__init__(message)

    def __str__(self) -> str:
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"error[{self.code}]: {self.message}{hint}"
