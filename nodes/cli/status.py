"""`hotseat status`: every node, what it owns, how many matches it has."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from shlex import quote
from typing import Any

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
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
    from ..ask_cluster import ask_cluster, find_cluster

    home = await find_cluster(place)
    answers = await ask_cluster(home, "status")
    nodes = [_row(node, home.door(node), answer) for node, answer in answers.items()]
    return {
        "cluster": home.cluster,
        "dir": str(home.path),
        "shards": home.shards,
        "shards_owned": sum(len(node["shards"]) for node in nodes),
        "nodes": nodes,
    }


def _row(
    node: str, door: str, answer: dict[str, Any] | OperatorError
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "node": node,
        "door": door,
        "reachable": True,
        "ready": False,
        "shards": [],
        "matches": 0,
        "ended": 0,
    }
    if isinstance(answer, OperatorError):
        return row | {"reachable": False, "error": answer.code}
    return row | answer


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
    if not any(node["reachable"] for node in found["nodes"]):
        print(f"no node answers: hotseat up --dir {quote(found['dir'])} starts them")
