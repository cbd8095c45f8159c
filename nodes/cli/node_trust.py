"""`hotseat node trust`: a node's data are newer than what the coordinator knows."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .operate import PLAIN, Order, Yes, confirm

__all__ = ["trust"]


def trust(
    node: Annotated[str, Parameter(name="NODE")],
    /,
    *,
    yes: Yes = False,
    order: Order = PLAIN,
) -> int:
    """Let a node serve its data, though the coordinator's record of them is older.

    For a coordinator that was restored from a backup: a node that started since then
    waits for this. Its data must be the ones that this node served last: not a copy
    of its folder, nor one that was put back.

    Exit status 0: done. 1: refused, above all if the node does not wait for it. 3: the
    node does not answer.
    """
    confirm(f"Are the data of {node} the ones that it served last?", yes)
    outcome = order.perform("node.trust", node, {}, node=node)
    text = (
        f"{node} serves as {outcome.outcome['ident']}, start {outcome.outcome['boot']}"
    )
    return order.tell(outcome, text)
