"""`hotseat shard`: who owns a shard, who holds copies, how far they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from ..exit_codes import ExitCode
from .options import Cluster, Dir, Json, Limit, place
from .shard_move import move
from .shard_recover import recover

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..operator.survey import Survey
    from ..operator.survey_rows import ShardRow, ShardShown

__all__ = ["app"]

app = App(
    name="shard",
    help="See who owns shards, and who holds copies; move and recover them.",
    version=None,
)

app.command(move)
app.command(recover)


@app.command(name="list")
def list_shards(
    *,
    owner: Annotated[
        str | None, Parameter(help="Only those of this node.", show_default=False)
    ] = None,
    holder: Annotated[
        str | None,
        Parameter(help="Only those that this node holds in sync.", show_default=False),
    ] = None,
    short: Annotated[
        bool, Parameter(help="Only those that lack something.", negative=())
    ] = False,
    sort: Annotated[
        Literal["number", "lag", "matches", "epoch"],
        Parameter(help="In the order of the number, or the largest first."),
    ] = "number",
    limit: Limit = 64,
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """List the shards: owner, epoch, copies in sync, lag, matches.

    Exit status 0: done. 3: no node answers.
    """
    import anyio

    from .shown import more_line, print_all, print_json, shards_table, silent_lines

    found = anyio.run(_survey, place(dir, cluster))
    rows = [row for row in found.shards if _admits(row, owner, holder, short)]
    if sort != "number":
        rows.sort(key=lambda row: _size(row, sort), reverse=True)
    silent = {n.node: n.error for n in found.cluster.nodes if not n.reachable}
    if json:
        shown = rows[:limit]
        print_json({"shards": shown, "more": len(rows) > limit, "silent": silent})
    else:
        print_all(
            shards_table(rows[:limit]),
            *more_line(min(limit, len(rows)), len(rows)),
            *silent_lines(silent),
        )
    return ExitCode.OK if found.answered else ExitCode.UNREACHABLE


@app.command
def show(
    number: Annotated[int, Parameter(name="N", validator=Number(gte=0))],
    /,
    *,
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Show one shard, and what each node says of it.

    Exit status 0: done. 3: no node answers.
    """
    import anyio

    from .shown import print_all, print_json

    found = anyio.run(_one, place(dir, cluster), number)
    if json:
        print_json(found)
    else:
        print_all(*_shown(found))
    return ExitCode.OK if found.replicas else ExitCode.UNREACHABLE


async def _survey(place: Path | str) -> Survey:
    from ..operator.ask_cluster import find_cluster
    from ..operator.survey import survey

    return await survey(await find_cluster(place))


async def _one(place: Path | str, number: int) -> ShardShown:
    from ..operator.ask_cluster import find_cluster
    from ..operator.survey import show_shard

    return await show_shard(await find_cluster(place), number)


def _admits(row: ShardRow, owner: str | None, holder: str | None, short: bool) -> bool:
    lacking = bool(row.short) or row.degraded or not row.serving
    return (
        owner in (None, row.owner)
        and (holder is None or holder in row.isr)
        and (lacking or not short)
    )


def _size(row: ShardRow, sort: str) -> int:
    if sort == "lag":
        return max(row.lag.values(), default=0)
    return row.matches if sort == "matches" else row.epoch


def _shown(found: ShardShown) -> list[RenderableType]:
    from rich.table import Table

    from .shown import cell, shards_table, silent_lines

    table = Table(box=None, pad_edge=False)
    for name in ("node", "role", "epoch", "commit", "last", "behind", "state"):
        table.add_column(name)
    for node, row in found.replicas.items():
        state = row.stopped or ("serving" if row.serving else "")
        behind = found.shard.lag.get(node, "")
        cells = (node, row.role, row.epoch, row.commit, row.last_seq, behind, state)
        table.add_row(*map(cell, cells))
    wanted = ", ".join(found.shard.want)
    return [
        shards_table([found.shard]),
        cell(f"wanted at: {wanted}"),
        table,
        *silent_lines(found.silent),
    ]
