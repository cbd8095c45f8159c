"""Options that several commands share, so that they mean the same in all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from ..exit_codes import ExitCode
from ..operator_error import OperatorError

__all__ = [
    "DEFAULT_DIR",
    "Also",
    "Cluster",
    "Dir",
    "Json",
    "Limit",
    "Rules",
    "folder",
    "place",
    "seconds",
]

DEFAULT_DIR = Path(".hotseat")

Dir = Annotated[
    Path | None,
    Parameter(
        name="--dir",
        show_default=False,
        help="The cluster's folder; else HOTSEAT_DIR, else ./.hotseat.",
    ),
]
Cluster = Annotated[
    str | None,
    Parameter(
        name="--cluster",
        show_default=False,
        help="The command door of one of the cluster's nodes; else HOTSEAT_CLUSTER.",
    ),
]
Json = Annotated[
    bool, Parameter(name="--json", negative=(), help="Print one JSON object.")
]

Rules = Annotated[
    str | None,
    Parameter(
        name="--game",
        show_default=False,
        help="The game to play it by (module:attribute, or an installed name); "
        "else the installed one of its name and version.",
    ),
]

Also = Annotated[
    list[str] | None,
    Parameter(
        name="--also",
        negative=(),
        show_default=False,
        help="Another version of the game (module:attribute), of a match that was "
        "upgraded; installed ones are found. May be repeated.",
    ),
]

Limit = Annotated[
    int,
    Parameter(
        help="Rows, at most; it is said if there are more.",
        validator=Number(gte=1, lte=100_000),
    ),
]

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def seconds(text: str, flag: str) -> float:
    """A time as people write it: 90, 90s, 5m, 2h, 1d.

    Raises:
        OperatorError: usage: it is none.
    """
    number = text.rstrip("smhd")
    unit = UNITS.get(text[len(number) :])
    try:
        if unit is not None and 0 <= (value := float(number) * unit) < 1e12:
            return value
    except ValueError:
        pass
    raise OperatorError(
        "usage",
        f"{flag} {text}: that is no length of time",
        hint=f"such as {flag} 90, {flag} 5m, {flag} 2h",
        exit_code=ExitCode.USAGE,
    )


def folder(dir: Path | None) -> Path:
    """The folder that was named, by flag or environment, else the default one.

    Raises:
        OperatorError: elsewhere: what is named is a door on another machine.
    """
    named = dir or os.environ.get("HOTSEAT_DIR") or None
    door = os.environ.get("HOTSEAT_CLUSTER", "")
    if named is None and "://" in door and not door.startswith("ipc://"):
        raise OperatorError(
            "elsewhere",
            f"this is done in a cluster's folder, and HOTSEAT_CLUSTER names {door}",
            hint="--dir DIR, or HOTSEAT_DIR, on the machine that has the folder",
            exit_code=ExitCode.USAGE,
        )
    return Path(named or DEFAULT_DIR).absolute()


def place(dir: Path | None, cluster: str | None) -> Path | str:
    """Where the cluster is: its folder, or the door of one of its nodes.

    A flag wins over the environment; a folder, which leads to all doors, over a door.

    Raises:
        OperatorError: usage: the door's address is none.
    """
    if dir is not None:
        return folder(dir)
    if cluster is not None:
        return _door(cluster, "--cluster")
    if not os.environ.get("HOTSEAT_DIR") and os.environ.get("HOTSEAT_CLUSTER"):
        return _door(os.environ["HOTSEAT_CLUSTER"], "HOTSEAT_CLUSTER")
    return folder(None)


def _door(address: str, named_by: str) -> str:
    if "://" in address:
        return address
    raise OperatorError(
        "usage",
        f"{named_by} {address}: a door's address begins with ipc:// or tcp://",
        hint="a cluster's folder is named by --dir; its doors are in "
        "hotseat status --json",
        exit_code=ExitCode.USAGE,
    )
