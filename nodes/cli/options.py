"""Options that several commands share, so that they mean the same in all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError

__all__ = ["DEFAULT_DIR", "Cluster", "Dir", "Json", "folder", "place"]

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


def folder(dir: Path | None) -> Path:
    """The folder that was named, by flag or environment, else the default one."""
    named = dir or os.environ.get("HOTSEAT_DIR") or DEFAULT_DIR
    return Path(named).absolute()


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
        f"{named_by} {address}: a door's address begins with ipc://",
        hint="a cluster's folder is named by --dir; its doors are in "
        "hotseat status --json",
        exit_code=ExitCode.USAGE,
    )
