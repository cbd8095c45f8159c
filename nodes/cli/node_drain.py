"""`hotseat node drain|undrain|remove`: a node leaves, for a while or for good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from cyclopts import Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .operate import PLAIN, Order, Timeout, Yes, confirm

__all__ = ["drain", "remove", "undrain"]

Name = Annotated[
    str,
    Parameter(
        name="NODE",
        env_var="HOTSEAT_NODE_ID",
        help="A node's id; else $HOTSEAT_NODE_ID.",
    ),
]

BAR_WIDTH = 40


def drain(
    node: Name = "",
    /,
    *,
    timeout: Timeout = 120.0,
    until_restart: Annotated[
        bool,
        Parameter(
            help="Only what it owns goes, its copies stay; it ends when the node is"
            " started anew.",
            negative=(),
        ),
    ] = False,
    yes: Yes = False,
    order: Order = PLAIN,
) -> int:
    """Hand over all that a node owns, then its copies where there are enough nodes.

    Players notice a pause of some milliseconds. It is given nothing more, even after a
    restart, until `hotseat node undrain`.

    Exit status 0: it is drained. 1: it is not, and serves what is left, shard by shard
    named; it drains on. 3: the node does not answer.
    """
    _check(node)
    confirm(f"Drain {node}?", yes)
    outcome = order.perform(
        "node.drain",
        node,
        {"timeout_s": timeout, "until_restart": until_restart},
        node=node,
        label=f"draining {node}",
        timeout_s=None,
    )
    status = order.tell(outcome, _drained(outcome.outcome))
    if not order.json:
        from .shown import cell, print_all

        print_all(*map(cell, pause_lines(outcome.outcome.get("pauses", {}))))
    return status


def undrain(
    node: Name = "",
    /,
    *,
    yes: Yes = False,
    order: Order = PLAIN,
) -> int:
    """Let a node that drains hold and own shards again.

    Exit status 0: it does not drain. 3: no node answers.
    """
    _check(node)
    confirm(f"Let {node} own shards again?", yes)
    outcome = order.perform("node.undrain", node)
    drained = outcome.outcome.get("drained")
    text = f"{node} drains no more" if drained else f"{node} did not drain"
    return order.tell(outcome, text)


def remove(
    node: Name = "",
    /,
    *,
    timeout: Timeout = 20.0,
    yes: Yes = False,
    order: Order = PLAIN,
) -> int:
    """Forget a node that is gone for good, or was drained and stopped.

    Exit status 0: it is removed. 1: refused, as while it holds the only copy of
    anything. 3: no node answers.
    """
    _check(node)
    confirm(f"Remove {node}, whose data count for nothing then?", yes)
    outcome = order.perform(
        "node.remove",
        node,
        {"timeout_s": timeout},
        label=f"removing {node}",
        timeout_s=None,
    )
    shards = outcome.outcome.get("shards", 0)
    text = f"{node} is removed; {shards} shards get another copy where there is a node"
    return order.tell(outcome, text)


def _check(node: str) -> None:
    if not node:
        raise OperatorError(
            "usage",
            "which node?",
            hint="hotseat node drain NODE; hotseat node list shows them",
            exit_code=ExitCode.USAGE,
        )


def _drained(outcome: Mapping[str, Any]) -> str:
    """For people: what went."""
    kept = outcome.get("copies_kept", 0)
    stay = f"; {kept} copies stay" if kept else ""
    if outcome.get("shards_kept"):
        stay += f"; {outcome['shards_kept']} shards without another copy stay"
    return (
        f"{outcome['node']} is drained: {outcome['shards']} shards with"
        f" {outcome['matches']} matches in {outcome['took_ms'] / 1000:.1f} s{stay}"
    )


def pause_lines(pauses: Mapping[str, Any]) -> Iterator[str]:
    """A histogram of the matches' pauses."""
    lines = pauses.get("histogram", [])
    if not lines:
        return
    yield (
        f"pause of a match: p50 {pauses['p50_ms']} ms, p99 {pauses['p99_ms']} ms,"
        f" at most {pauses['max_ms']} ms"
    )
    most = max(count for _, count in lines)
    for bound, count in lines:
        upto = f"<= {bound:>4} ms" if bound else " > 1000 ms"
        yield f"  {upto} {count:>7} {'#' * max(1, round(BAR_WIDTH * count / most))}"
