"""Options that several commands share, so that they mean the same in all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

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
    """
    if dir is not None:
        return folder(dir)
    if cluster is not None:
        return cluster
    if not os.environ.get("HOTSEAT_DIR") and os.environ.get("HOTSEAT_CLUSTER"):
        return os.environ["HOTSEAT_CLUSTER"]
    return folder(None)
