"""`hotseat status`: every node, what it owns, who holds copies, how many matches."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .options import Cluster, Dir, Json, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from ..operator.survey_rows import ShardRow

__all__ = ["status"]

SHARDS_SHOWN_MAX = 64
"""A longer table is cut down to the shards that lack something."""


def status(*, dir: Dir = None, cluster: Cluster = None, json: Json = False) -> int:
    """Show the nodes, the shards they own, who holds copies, the matches.

    Exit status 0: every node is ready, or lives on another machine. 1: some are not.
    3: none answers.
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
    fine = all(node["ready"] or node["elsewhere"] for node in nodes)
    return ExitCode.OK if fine else ExitCode.FAILED


async def _ask_all(place: Path | str) -> dict[str, Any]:
    """Ask every door of the cluster at once."""
    from ..operator.ask_cluster import ask_all, find_cluster
    from ..operator.doors import find_doors
    from ..operator.survey import survey

    home = await find_cluster(place)
    doors = await find_doors(home)
    answers = await ask_all(doors, "status")
    nodes = [_row(node, doors.of(node), answer) for node, answer in answers.items()]
    copies = home.redundancy.copies or 1
    table = _shards(home.shards, nodes)
    if any(node["elsewhere"] for node in nodes):
        _add_recorded(table, (await survey(home)).shards)
    return {
        "cluster": home.cluster,
        "dir": str(home.path),
        "shards": home.shards,
        "shards_owned": sum(1 for row in table if row["owner"]),
        "shards_in_sync": sum(1 for row in table if len(row["isr"]) >= copies),
        "copies": copies,
        "min_isr": home.redundancy.min_isr,
        "durability": home.redundancy.durability,
        "nodes": nodes,
        "table": table,
    }


def _shards(count: int, nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the owner of each shard says of it; of two, the one of the higher epoch.
    (Matches that are pinned have shards beyond.)"""
    rows: list[dict[str, Any]] = [
        {"shard": shard, "owner": "", "epoch": 0, "isr": [], "lag": 0}
        for shard in range(count)
    ]
    for node in nodes:
        for name, epoch in node["epochs"].items():
            if int(name) >= count:
                continue
            row = rows[int(name)]
            if epoch > row["epoch"]:
                isr, lag = node["isr"].get(name, []), node["lag"].get(name, 0)
                row |= {"owner": node["node"], "epoch": epoch, "isr": isr, "lag": lag}
    return rows


def _add_recorded(table: list[dict[str, Any]], shards: Sequence[ShardRow]) -> None:
    """The shards whose owner cannot be asked from here, as the coordinator has them."""
    for row, shard in zip(table, shards, strict=True):
        if not row["owner"] and shard.serving:
            isr = list(shard.isr)
            row |= {"owner": shard.owner, "epoch": shard.epoch, "isr": isr}


def _row(
    node: str, door: str, answer: dict[str, Any] | OperatorError
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "node": node,
        "door": door,
        "reachable": True,
        "elsewhere": False,
        "ready": False,
        "shards": [],
        "following": 0,
        "epochs": {},
        "isr": {},
        "lag": {},
        "matches": 0,
        "ended": 0,
        "set_apart": [],
    }
    if isinstance(answer, OperatorError):
        elsewhere = answer.code == "elsewhere"
        return row | {
            "reachable": False,
            "elsewhere": elsewhere,
            "error": answer.code,
        }
    return row | answer


def _show(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from .shown import cell

    table = Table(
        title=f"cluster {found['cluster']}: "
        f"{found['shards_owned']} of {found['shards']} shards owned"
    )
    table.add_column("node")
    table.add_column("state")
    for column in ("shards", "copies held", "matches", "ended"):
        table.add_column(column, justify="right")
    for node in found["nodes"]:
        said = "ready" if node["ready"] else "not ready"
        if not node["reachable"]:
            said = "elsewhere" if node["elsewhere"] else "no answer"
        table.add_row(
            cell(node["node"]),
            said,
            str(len(node["shards"])),
            str(node["following"]),
            str(node["matches"]),
            str(node["ended"]),
        )
    console = Console()
    console.print(table)
    if any(node["reachable"] for node in found["nodes"]):
        _show_shards(console, found)
        _show_set_apart(console, found)
    else:
        print(f"no node answers: hotseat up --dir {quote(found['dir'])} starts them")


def _show_shards(console: Console, found: dict[str, Any]) -> None:
    from rich.table import Table

    from .shown import cell

    copies = found["copies"]
    rows = found["table"]
    if len(rows) > SHARDS_SHOWN_MAX:
        rows = [row for row in rows if len(row["isr"]) < copies]
    shards = Table(
        title=f"{found['shards_in_sync']} of {found['shards']} shards have"
        f" {copies} {'copy' if copies == 1 else 'copies'} in sync"
        f" (durability: {found['durability']})"
    )
    for column in ("shard", "owner", "epoch", "in sync", "lag"):
        shards.add_column(column, justify="left" if column == "in sync" else "right")
    for row in rows:
        shards.add_row(
            str(row["shard"]),
            cell(row["owner"] or "none"),
            str(row["epoch"]) if row["owner"] else "",
            cell(", ".join(row["isr"])),
            str(row["lag"]) if row["lag"] else "",
        )
    if rows:
        console.print(shards)


def _show_set_apart(console: Console, found: dict[str, Any]) -> None:
    from rich.table import Table

    from .shown import cell

    matches = Table(title="matches set apart: the nodes' logs say why")
    matches.add_column("match")
    matches.add_column("shard", justify="right")
    matches.add_column("at node")
    matches.add_column("code")
    for node in found["nodes"]:
        for one in node["set_apart"]:
            cells = (one["match"], one["shard"], node["node"], one["code"])
            matches.add_row(*map(cell, cells))
    if matches.row_count:
        console.print(matches)
