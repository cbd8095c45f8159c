"""Finds commands that operators gave, by what any node reads in the coordinator."""

from __future__ import annotations

from typing import Any

from ..cluster_dir import ClusterDir
from ..operator_error import OperatorError
from .ask_cluster import ask_all, cluster_unreachable
from .ask_door import DoorRefused, ask_door
from .doors import Doors, find_doors
from .rows import OperationRow, read_row
from .survey_rows import FoundOperations

__all__ = ["find_operations", "show_operation"]

PAGES_MAX = 1_000
"""A bound for what would else ask for ever."""


async def find_operations(
    home: ClusterDir, limit: int, **asked: str | None
) -> FoundOperations:
    """Those that are `asked` for (verb, target, who), the newest first.

    Raises:
        OperatorError: cluster_unreachable; or every node says no.
    """
    wanted: dict[str, Any] = {k: text for k, text in asked.items() if text is not None}
    doors = await find_doors(home)
    node, answer = await _any(doors, "operations", limit=limit + 1, **wanted)
    rows, unreadable = [*answer["operations"]], answer["unreadable"]
    for _ in range(PAGES_MAX):
        if answer["next"] is None or len(rows) > limit:
            break
        answer = await ask_door(
            doors.of(node),
            "operations",
            after=answer["next"],
            limit=limit + 1 - len(rows),
            **wanted,
        )
        rows += answer["operations"]
    return FoundOperations(
        operations=tuple(read_row(OperationRow, row) for row in rows[:limit]),
        more=len(rows) > limit,
        unreadable=unreadable,
    )


async def show_operation(home: ClusterDir, id: str) -> OperationRow:
    """What became of one; of those that run, how far it is.

    Raises:
        OperatorError: unknown_operation, cluster_unreachable; or every node says no.
    """
    doors = await find_doors(home)
    node, answer = await _any(doors, "operation", id=id)
    row = read_row(OperationRow, answer["operation"])
    if row.state == "running" and row.node != node and doors.of(row.node):
        try:
            answer = await ask_door(doors.of(row.node), "operation", id=id)
        except OperatorError:
            return row  # it is known that it runs; how far, only that node knows
        row = read_row(OperationRow, answer["operation"])
    return row


async def _any(doors: Doors, op: str, **fields: object) -> tuple[str, dict[str, Any]]:
    """A node that answers, and its answer."""
    answers = await ask_all(doors, op, **fields)
    for node, answer in answers.items():
        if not isinstance(answer, OperatorError):
            return node, answer
    for error in answers.values():
        if isinstance(error, DoorRefused):
            raise error
    raise cluster_unreachable("no node of the cluster answers")
