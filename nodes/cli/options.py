"""Options that several commands share, so that they mean the same in all."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

__all__ = ["DEFAULT_DIR", "Cluster", "Dir", "Json", "folder"]

DEFAULT_DIR = Path(".hotseat")

Dir = Annotated[
    Path | None,
    Parameter(
        name="--dir",
        env_var="HOTSEAT_DIR",
        show_default=False,
        help="The cluster's folder; ./.hotseat if nothing else is said.",
    ),
]
Cluster = Annotated[
    str | None,
    Parameter(
        name="--cluster",
        env_var="HOTSEAT_CLUSTER",
        show_default=False,
        help="The command door of one of the cluster's nodes.",
    ),
]
Json = Annotated[
    bool, Parameter(name="--json", negative=(), help="Print one JSON object.")
]


def folder(dir: Path | None) -> Path:
    """The folder that was named, else the default one."""
    return (dir or DEFAULT_DIR).absolute()
