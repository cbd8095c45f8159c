"""Turns whatever ended a command into lines for stderr and an exit status."""

from __future__ import annotations

from cyclopts import CycloptsError

from ..exit_codes import ExitCode
from ..operator_error import OperatorError

__all__ = ["describe"]


def describe(error: BaseException) -> tuple[str, ExitCode]:
    """What to print of an error, with its code and hint, and how the process ends."""
    error = _cause(error)
    if isinstance(error, KeyboardInterrupt):
        return "", ExitCode.INTERRUPTED
    if isinstance(error, CycloptsError):
        command = " ".join(("hotseat", *(error.command_chain or ())))
        hint = f"{command} --help"
        return _lines("usage", _one_line(str(error)), hint), ExitCode.USAGE
    if isinstance(error, OperatorError):
        return str(error), error.exit_code
    faults = getattr(error, "faults", None)  # a ConfigError, which is not imported
    if faults:
        lines = (_lines(fault.code, str(fault), fault.hint) for fault in faults)
        return "\n".join(lines), ExitCode.USAGE
    code = getattr(error, "code", None)
    if isinstance(code, str):  # an error of the runtime or the engine
        return _lines(code, _one_line(str(error)), ""), ExitCode.FAILED
    if isinstance(error, OSError):
        return _lines("system_error", _one_line(str(error)), ""), ExitCode.FAILED
    said = f"{type(error).__name__}: {_one_line(str(error))}"
    hint = "this is a fault of hotseat; --debug shows where it happened"
    return _lines("internal_error", said, hint), ExitCode.FAILED


def _cause(error: BaseException) -> BaseException:
    """Of what failed together, the first that says a code; else the first."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    causes = [_cause(inner) for inner in error.exceptions]
    coded = (cause for cause in causes if hasattr(cause, "code"))
    return next(coded, causes[0])


def _lines(code: str, message: str, hint: str) -> str:
    return str(OperatorError(code, message, hint=hint))


def _one_line(text: str) -> str:
    return " ".join(text.split())
