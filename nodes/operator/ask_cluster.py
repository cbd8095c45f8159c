"""Finds a cluster, asks the command doors of its nodes, says when none answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio

from ..cluster_afar import ClusterAfar
from ..cluster_dir import ClusterDir
from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .ask_door import ASKED_FOLDER, ask_door, secret_file
from .doors import Doors, find_doors
from .sealed_door import is_private

__all__ = ["ask_all", "ask_cluster", "cluster_unreachable", "find_cluster"]


async def find_cluster(place: Path | str) -> ClusterDir:
    """The folder of a cluster, by its path or by the door of one of its nodes.

    A door that lies open to a network leads to a cluster that has no folder here.

    Raises:
        OperatorError: no_cluster, invalid_cluster_dir, outdated_node, no_secret, or the
            door does not answer.
    """
    if isinstance(place, str):
        identity = await ask_door(place, "identify")
        if not is_private(place):
            return ClusterAfar.read(place, identity, secret_file())
        place = Path(identity["dir"])
    home = ClusterDir.load(place)
    ASKED_FOLDER.set(home.path)
    return home


async def ask_cluster(
    home: ClusterDir, op: str, **fields: Any
) -> dict[str, dict[str, Any] | OperatorError]:
    """What each node answers, or why it does not; in natural order of the nodes.

    A node that cannot be asked from here answers `Elsewhere`.
    """
    return await ask_all(await find_doors(home), op, **fields)


async def ask_all(
    doors: Doors, op: str, **fields: Any
) -> dict[str, dict[str, Any] | OperatorError]:
    """The same, of doors that were found before."""
    answers: dict[str, dict[str, Any] | OperatorError] = {**doors.away}

    async def ask(node: str, door: str) -> None:
        try:
            answers[node] = await ask_door(door, op, **fields)
        except OperatorError as error:
            answers[node] = error

    async with anyio.create_task_group() as tasks:
        for node, door in doors.reached.items():
            tasks.start_soon(ask, node, door)
    return {node: answers[node] for node in doors.nodes()}


def cluster_unreachable(message: str) -> OperatorError:
    """What an operator is told when no node answers."""
    return OperatorError(
        "cluster_unreachable",
        message,
        hint="hotseat up --detach starts a cluster; --dir or --cluster names one",
        exit_code=ExitCode.UNREACHABLE,
    )
