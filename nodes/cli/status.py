"""`hotseat status`: every node, what it owns, how many matches it has."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Any

from ..exit_codes import ExitCode
from .options import Cluster, Dir, Json, place

__all__ = ["status"]


def status(*, dir: Dir = None, cluster: Cluster = None, json: Json = False) -> int:
    """Show the nodes, the shards they own, the matches.

    Exit status 0: every node is ready. 1: some are not. 3: none answers.
    """
    import anyio

    found = anyio.run(_ask_all, place(dir, cluster))
    if json:
        print(json_text.dumps(found))
    else:
        _show(found)
    nodes = found["nodes"]
    if not any(node["reachable"] for node in nodes):
        return ExitCode.UNREACHABLE
    return ExitCode.OK if all(node["ready"] for node in nodes) else ExitCode.FAILED


async def _ask_all(place: Path | str) -> dict[str, Any]:
    """Ask every door of the cluster at once."""
    import anyio

    from ..ask_door import ask_door
    from ..cluster_dir import ClusterDir

    if isinstance(place, str):
        identity = await ask_door(place, "identify")
        place = Path(identity["secret_file"]).parent
    home = ClusterDir.load(place)
    answers: dict[str, dict[str, Any]] = {}

    async def ask(node: str) -> None:
        answers[node] = await _ask(node, home.door(node))

    async with anyio.create_task_group() as tasks:
        for node in home.node_names():
            tasks.start_soon(ask, node)
    nodes = [answers[node] for node in home.node_names()]
    return {
        "cluster": home.cluster,
        "dir": str(home.path),
        "shards": home.shards,
        "shards_owned": sum(len(node["shards"]) for node in nodes),
        "nodes": nodes,
    }


async def _ask(node: str, door: str) -> dict[str, Any]:
    from ..ask_door import ask_door
    from ..operator_error import OperatorError

    row: dict[str, Any] = {
        "node": node,
        "door": door,
        "reachable": True,
        "ready": False,
        "shards": [],
        "matches": 0,
        "ended": 0,
    }
    try:
        return row | await ask_door(door, "status")
    except OperatorError as error:
        return row | {"reachable": False, "error": error.code}


def _show(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=f"cluster {found['cluster']}: "
        f"{found['shards_owned']} of {found['shards']} shards owned"
    )
    table.add_column("node")
    table.add_column("state")
    for column in ("shards", "matches", "ended"):
        table.add_column(column, justify="right")
    for node in found["nodes"]:
        said = "ready" if node["ready"] else "not ready"
        table.add_row(
            node["node"],
            said if node["reachable"] else "no answer",
            str(len(node["shards"])),
            str(node["matches"]),
            str(node["ended"]),
        )
    Console().print(table)
