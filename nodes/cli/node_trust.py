"""`hotseat node trust`: a node's data are newer than what the coordinator knows."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from ..exit_codes import ExitCode
from .operate import As, Why, Yes, confirm, perform, print_outcome
from .options import Cluster, Dir, Json, place

__all__ = ["trust"]


def trust(
    node: Annotated[str, Parameter(name="NODE")],
    /,
    *,
    yes: Yes = False,
    why: Why = "",
    who: As = "",
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Let a node serve its data, though the coordinator's record of them is older.

    For a coordinator that was restored from a backup: a node that started since then
    waits for this. Its data must be the ones that this node served last: not a copy
    of its folder, nor one that was put back.

    Exit status 0: done. 1: refused, above all if the node does not wait for it. 3: the
    node does not answer.
    """
    confirm(f"Are the data of {node} the ones that it served last?", yes)
    where = place(dir, cluster)
    outcome = perform(
        where, "node.trust", node, {}, json=json, node=node, who=who, why=why
    )
    text = (
        f"{node} serves as {outcome.outcome['ident']}, start {outcome.outcome['boot']}"
    )
    print_outcome(outcome, json=json, text=text)
    return ExitCode.OK
