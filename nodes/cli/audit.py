"""`hotseat audit`: what operators have changed, who, why, and what came of it."""

from __future__ import annotations

import json as json_text
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .options import Cluster, Dir, Json, Limit, place

if TYPE_CHECKING:
    from ..operator.rows import OperationRow

__all__ = ["app"]

app = App(
    name="audit", help="See what operators have changed, who and why.", version=None
)

STYLES = {"done": "green", "failed": "red", "node_gone": "red", "running": "yellow"}


@app.command(name="list")
def list_operations(
    *,
    verb: Annotated[
        str | None,
        Parameter(help="Only those of this kind: match.terminate.", show_default=False),
    ] = None,
    target: Annotated[
        str | None,
        Parameter(help="Only those about this match or node.", show_default=False),
    ] = None,
    who: Annotated[
        str | None, Parameter(help="Only those of this person.", show_default=False)
    ] = None,
    limit: Limit = 50,
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """List the commands that changed something, the newest first.

    The cluster remembers the newest thousand. Exit status 0: done. 3: no node answers.
    """
    import anyio

    from ..operator.ask_cluster import find_cluster
    from ..operator.operation_search import find_operations
    from .shown import cell, more_line, print_all, print_json

    async def main() -> Any:
        home = await find_cluster(place(dir, cluster))
        return await find_operations(home, limit, verb=verb, target=target, who=who)

    found = anyio.run(main)
    if json:
        print_json(found)
        return ExitCode.OK
    more = more_line(len(found.operations), None) if found.more else []
    unreadable = f"{found.unreadable} were written by newer nodes: upgrade to read them"
    print_all(
        _table(found.operations),
        *more,
        *([cell(unreadable, "yellow")] if found.unreadable else []),
    )
    return ExitCode.OK


@app.command
def show(
    id: Annotated[str, Parameter(name="ID", help="The id of a command.")],
    /,
    *,
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Show one command: who gave it, why, what came of it.

    Exit status 0: shown, however it ended. 1: there is none. 3: no node answers.
    """
    import anyio

    from ..operator.ask_cluster import find_cluster
    from ..operator.operation_id import is_operation_id
    from ..operator.operation_search import show_operation
    from .shown import cell, print_all, print_json

    if not is_operation_id(id):
        raise OperatorError(
            "usage",
            f"{id} is not the id of a command",
            hint="hotseat audit list shows ids: 19 hex digits",
            exit_code=ExitCode.USAGE,
        )

    async def main() -> OperationRow:
        return await show_operation(await find_cluster(place(dir, cluster)), id)

    row = anyio.run(main)
    if json:
        print_json(row)
    else:
        print_all(*(cell(f"{name:>9}  {value}") for name, value in _facts(row)))
    return ExitCode.OK


def _table(rows: tuple[OperationRow, ...]) -> Any:
    from rich.table import Table

    from .shown import cell, when

    table = Table(box=None, pad_edge=False)
    for name in ("id", "asked", "who", "verb", "target", "ended", "why"):
        table.add_column(name)
    for row in rows:
        ended = f"{row.state} {row.code}".strip()
        table.add_row(
            *map(cell, (row.id, when(row.asked_ms), row.who, row.verb, row.target)),
            cell(ended, STYLES[row.state]),
            cell(row.why),
        )
    return table


def _facts(row: OperationRow) -> list[tuple[str, object]]:
    from .shown import duration, when

    facts: list[tuple[str, object]] = [
        ("id", row.id),
        ("who", row.who),
        ("why", row.why or "-"),
        ("verb", row.verb),
        ("target", row.target or "-"),
        ("args", json_text.dumps(row.args, ensure_ascii=False)),
        ("asked", f"{when(row.asked_ms)} at {row.node}"),
        ("state", f"{row.state} {row.code}".strip()),
    ]
    if row.message:
        facts.append(("message", row.message))
    if row.ended_ms:
        took_s = max(0, row.ended_ms - row.asked_ms) / 1_000
        facts.append(("took", duration(took_s)))
    if row.progress is not None:
        progress = row.progress
        facts.append(("progress", f"{progress.done}/{progress.total} {progress.text}"))
    if row.outcome:
        facts.append(("outcome", json_text.dumps(row.outcome, ensure_ascii=False)))
    return facts
