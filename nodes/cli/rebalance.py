"""`hotseat rebalance`: spread shards evenly now, or say what that would do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .operate import PLAIN, Order, Yes, confirm

if TYPE_CHECKING:
    from ..operator.ask import Outcome
    from ..operator.balance_rows import BalanceRow

__all__ = ["rebalance"]


def rebalance(
    *,
    dry_run: Annotated[
        bool,
        Parameter(help="Say what a round would do, and why not more.", negative=()),
    ] = False,
    on: Annotated[
        bool | None,
        Parameter(
            help="From now on spread shards without being asked, or do not.",
            negative="--off",
            show_default=False,
        ),
    ] = None,
    timeout: Annotated[
        float,
        Parameter(help="Seconds to wait for it.", validator=Number(gt=0, lte=3600)),
    ] = 60.0,
    yes: Yes = False,
    order: Order = PLAIN,
) -> int:
    """Spread copies and owners of shards evenly over the nodes: one round, at once.

    That happens by itself, slowly, unless it is turned off. Nothing is moved while a
    shard lacks a copy that it could have, nor to a node that drains, lacks a game
    version, or is short of memory.

    Exit status 0: done; with --dry-run, it was told. 1: some of it is not done yet. 3:
    no node answers.
    """
    where = order.place
    if dry_run:
        if on is not None:
            raise OperatorError(
                "usage",
                "--dry-run changes nothing, --on and --off do",
                exit_code=ExitCode.USAGE,
            )
        return _explain(where, order.json)
    if on is not None:
        return _switch(order, on, yes)
    confirm("Move shards now?", yes)
    outcome = order.perform(
        "rebalance",
        "",
        {"do": "round", "timeout_s": timeout},
        label="spreading",
        timeout_s=timeout + 20.0,
    )
    return _done(outcome, order)


def _done(outcome: Outcome, order: Order) -> int:
    from ..operator.balance_rows import BalanceRow
    from ..operator.rows import read_row
    from .shown import cell, print_all

    left = int(outcome.outcome.get("left", 0))
    row = read_row(BalanceRow, outcome.outcome)
    lines = [*_changes(row), *([] if row.changes else _reasons(row))]
    if left:
        lines.append(f"{left} of them are not done yet")
    order.tell(outcome, lines[0])
    if not order.json:
        print_all(*map(cell, lines[1:]))
    return ExitCode.FAILED if left else ExitCode.OK


def _switch(order: Order, on: bool, yes: bool) -> int:
    confirm(f"Turn rebalancing {'on' if on else 'off'}?", yes)
    outcome = order.perform("rebalance", "", {"do": "on" if on else "off"})
    text = "shards are spread by themselves" if on else "shards stay where they are"
    return order.tell(outcome, f"{text} from now on")


def _explain(where: Path | str, json: bool) -> int:
    import anyio

    from .shown import cell, print_all, print_json

    row = anyio.run(_plan, where)
    if json:
        print_json(row)
    else:
        state = "on" if row.on else "off: only an operator's round moves anything"
        lines = [f"rebalancing is {state}", *_shares(row), *_changes(row)]
        print_all(*(cell(line) for line in [*lines, *_reasons(row)]))
    return ExitCode.OK


async def _plan(where: Path | str) -> BalanceRow:
    """What the node that places would do: any node knows."""
    from ..operator.ask_cluster import ask_cluster, cluster_unreachable, find_cluster
    from ..operator.balance_rows import BalanceRow
    from ..operator.rows import read_row

    home = await find_cluster(where)
    answers = await ask_cluster(home, "balance")
    for answer in answers.values():
        if not isinstance(answer, OperatorError):
            return read_row(BalanceRow, answer["plan"])
    raise cluster_unreachable("no node of the cluster answers")


def _shares(row: BalanceRow) -> Iterator[str]:
    for share in row.shares:
        yield f"{share.node} owns {share.owns} shards and holds {share.holds} copies"


def _changes(row: BalanceRow) -> Iterator[str]:
    for change in row.changes:
        said = []
        if change.adds or change.drops:
            said.append(f"copy {' '.join(change.drops)} -> {' '.join(change.adds)}")
        if change.to:
            said.append(f"owner {change.owner} -> {change.to}")
        yield f"shard {change.shard}: {', '.join(said)}"
    if not row.changes:
        yield "nothing is to be moved"


def _reasons(row: BalanceRow) -> Iterator[str]:
    for reason in row.reasons:
        yield f"{reason.code} ({reason.about}): {reason.text}"
