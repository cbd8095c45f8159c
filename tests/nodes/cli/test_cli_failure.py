"""How a command's end is told: one code, one line, one exit status."""

from __future__ import annotations

import pytest

from hotseat.nodes.cli.failure import describe
from hotseat.nodes.exit_codes import ExitCode
from hotseat.nodes.operator_error import OperatorError
from hotseat.runtime.errors import LinkRefused


def test_an_operators_error_has_its_hint_and_its_exit_status() -> None:
    """What was raised for an operator is shown as it is."""
    error = OperatorError("odd", "it is odd", hint="even it", exit_code=ExitCode.USAGE)
    assert describe(error) == (
        "error[odd]: it is odd\n  hint: even it",
        ExitCode.USAGE,
    )


def test_of_errors_that_came_together_the_one_with_a_code_is_told() -> None:
    """A task group's wrapping does not hide the reason."""
    inner = ExceptionGroup("", [ValueError("noise"), LinkRefused("port 1 is taken")])
    assert describe(ExceptionGroup("", [inner])) == (
        "error[address_unavailable]: port 1 is taken",
        ExitCode.FAILED,
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied", "/x"), "error[system_error]: "),
        (KeyError("x"), "error[internal_error]: KeyError"),
        (ValueError("two\nlines"), "error[internal_error]: ValueError: two lines\n"),
    ],
)
def test_any_other_error_has_a_code_too(error: Exception, said: str) -> None:
    """Nothing ends a command without one."""
    text, status = describe(error)
    assert text.startswith(said)
    assert status == ExitCode.FAILED


def test_ctrl_c_says_nothing() -> None:
    """Who pressed it knows."""
    group = BaseExceptionGroup("", [KeyboardInterrupt()])
    assert describe(group) == ("", ExitCode.INTERRUPTED)
