"""`hotseat completion`: lets a shell complete command lines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError

__all__ = ["completion"]

SHELLS = ("bash", "zsh", "fish")

Shell = Literal["bash", "zsh", "fish"]


def completion(
    shell: Annotated[
        Shell | None,
        Parameter(help="Else the one that SHELL names.", show_default=False),
    ] = None,
    /,
    *,
    install: Annotated[
        bool,
        Parameter(
            help="Write it to where the shell finds it, and say where.", negative=()
        ),
    ] = False,
) -> None:
    """Print the script that lets a shell complete hotseat's commands and flags.

    For this shell alone: source <(hotseat completion bash). For good: --install; it
    writes one file, and for bash and zsh a line to the shell's startup file.
    """
    from .main import build_app

    name = shell or _own_shell()
    app = build_app("")
    if not install:
        print(app.generate_completion(prog_name="hotseat", shell=name))
        return
    written = app.install_completion(shell=name, add_to_startup=True)
    print(f"{written}: takes effect in new shells")


def _own_shell() -> Shell:
    """
    Raises:
        OperatorError: unknown_shell: the environment names none that we know.
    """
    named = Path(os.environ.get("SHELL", "")).name
    for shell in ("bash", "zsh", "fish"):
        if shell == named:
            return shell
    raise OperatorError(
        "unknown_shell",
        f"SHELL names {named or 'no shell'}, which is not one of {', '.join(SHELLS)}",
        hint="hotseat completion bash",
        exit_code=ExitCode.USAGE,
    )
