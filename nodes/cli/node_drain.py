"""`hotseat node drain|undrain|remove`: a node leaves, for a while or for good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .operate import As, Why, Yes, confirm, perform, print_outcome
from .options import Cluster, Dir, Json, place

__all__ = ["drain", "remove", "undrain"]

Name = Annotated[
    str,
    Parameter(
        name="NODE",
        env_var="HOTSEAT_NODE_ID",
        help="A node's id; else $HOTSEAT_NODE_ID.",
    ),
]
Timeout = Annotated[
    float,
    Parameter(help="Seconds that it may take.", validator=Number(gt=0, lte=3600)),
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
    why: Why = "",
    who: As = "",
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Hand over all that a node owns, then its copies where there are enough nodes.

    Players notice a pause of some milliseconds. It is given nothing more, even after a
    restart, until `hotseat node undrain`.

    Exit status 0: it is drained. 1: it is not, and serves what is left, shard by shard
    named; it drains on. 3: the node does not answer.
    """
    _check(node)
    confirm(f"Drain {node}?", yes)
    outcome = perform(
        place(dir, cluster),
        "node.drain",
        node,
        {"timeout_s": timeout, "until_restart": until_restart},
        node=node,
        json=json,
        label=f"draining {node}",
        who=who,
        why=why,
        timeout_s=None,
    )
    print_outcome(outcome, json=json, text=_drained(outcome.outcome))
    if not json:
        from .shown import cell, print_all

        print_all(*map(cell, pause_lines(outcome.outcome.get("pauses", {}))))
    return ExitCode.OK


def undrain(
    node: Name = "",
    /,
    *,
    yes: Yes = False,
    why: Why = "",
    who: As = "",
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Let a node that drains hold and own shards again.

    Exit status 0: it does not drain. 3: no node answers.
    """
    _check(node)
    confirm(f"Let {node} own shards again?", yes)
    outcome = perform(
        place(dir, cluster), "node.undrain", node, json=json, who=who, why=why
    )
    drained = outcome.outcome.get("drained")
    text = f"{node} drains no more" if drained else f"{node} did not drain"
    print_outcome(outcome, json=json, text=text)
    return ExitCode.OK


def remove(
    node: Name = "",
    /,
    *,
    timeout: Timeout = 20.0,
    yes: Yes = False,
    why: Why = "",
    who: As = "",
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Forget a node that is gone for good, or was drained and stopped.

    Exit status 0: it is removed. 1: refused, as while it holds the only copy of
    anything. 3: no node answers.
    """
    _check(node)
    confirm(f"Remove {node}, whose data count for nothing then?", yes)
    outcome = perform(
        place(dir, cluster),
        "node.remove",
        node,
        {"timeout_s": timeout},
        json=json,
        label=f"removing {node}",
        who=who,
        why=why,
        timeout_s=None,
    )
    shards = outcome.outcome.get("shards", 0)
    text = f"{node} is removed; {shards} shards get another copy where there is a node"
    print_outcome(outcome, json=json, text=text)
    return ExitCode.OK


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
