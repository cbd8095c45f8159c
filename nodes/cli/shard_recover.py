"""`hotseat shard recover`: a shard goes on from an old copy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .operate import PLAIN, Order, Yes, confirm

if TYPE_CHECKING:
    from ..operator.rows import ReplicaRow
    from ..operator.survey_rows import ShardShown

__all__ = ["recover"]


From = Annotated[str, Parameter(name="--from", help="The node whose copy shall do.")]
Unclean = Annotated[
    bool,
    Parameter(
        negative=(), help="What that copy lacks is lost, though it was acknowledged."
    ),
]
Dead = Annotated[
    tuple[str, ...],
    Parameter(
        name="--node-is-dead",
        show_default=False,
        help="A node of the in-sync set that will not come back; name each.",
    ),
]
RaiseEpoch = Annotated[
    bool,
    Parameter(
        negative=(),
        help="The coordinator was restored from a backup, and the shard's record is an"
        " old one.",
    ),
]
Empty = Annotated[
    bool, Parameter(negative=(), help="There is no copy at all: begin with nothing.")
]
OlderCopy = Annotated[
    bool, Parameter(negative=(), help="Though another node has a newer copy.")
]


def recover(
    number: Annotated[int, Parameter(name="N", validator=Number(gte=0))],
    /,
    *,
    from_: From,
    unclean: Unclean = False,
    node_is_dead: Dead = (),
    raise_epoch: RaiseEpoch = False,
    empty: Empty = False,
    older_copy: OlderCopy = False,
    yes: Yes = False,
    order: Order = PLAIN,
) -> int:
    """Let a shard go on from a node's copy that may lack what was acknowledged.

    Only for a shard that nobody can serve any more: all nodes of its in-sync set are
    gone for good, or the coordinator was restored from an old backup. Before it asks,
    it tells what is known to be lost. Clients are told that the history of the
    shard's matches began anew; what they had seen beyond it is gone.

    Exit status 0: done. 1: refused. 3: the node does not answer.
    """
    import anyio

    from .shown import cell, print_all

    found = anyio.run(_look, order.place, number)
    row = _chosen(found, from_, older_copy=older_copy)
    if not order.json:
        print_all(*(cell(line) for line in _losses(number, from_, row, found)))
    confirm(f"Let shard {number} go on from the copy of {from_}?", yes)
    args = {
        "dead": list(node_is_dead),
        "unclean": unclean,
        "restored": raise_epoch,
        "empty": empty,
        "above": max(max(r.promised, r.epoch) for r in found.replicas.values()),
    }
    outcome = order.perform("shard.recover", str(number), args, node=from_)
    done = outcome.outcome
    state = "serves it" if done["serving"] else "owns it, and waits for copies"
    text = (
        f"{from_} {state} in epoch {done['epoch']}, with {done['matches']} matches;"
        f" its history began anew in epoch {done['history']}"
    )
    return order.tell(outcome, text)


def _chosen(found: ShardShown, node: str, *, older_copy: bool) -> ReplicaRow:
    """What the node has of the shard.

    Raises:
        OperatorError: It does not answer; not_needed, newer_copy.
    """
    if found.shard.serving:
        raise OperatorError(
            "not_needed",
            f"shard {found.shard.shard} is served by {found.shard.owner}",
            hint="hotseat shard move lets another node own it",
        )
    row = found.replicas.get(node)
    if row is None:
        raise OperatorError(
            found.silent.get(node, "no_such_node"),
            f"{node} does not answer, whose copy is to be taken",
            hint="hotseat shard show says who has a copy",
            exit_code=ExitCode.UNREACHABLE,
        )
    newer = _newer(found, node, row)
    if newer and not older_copy:
        raise OperatorError(
            "newer_copy",
            f"{newer} has a newer copy than {node}:"
            f" {_held(newer, found.replicas[newer])}; {_held(node, row)}",
            hint=f"--from {newer}, or --older-copy",
        )
    return row


async def _look(place: Path | str, number: int) -> ShardShown:
    from ..operator.ask_cluster import find_cluster
    from ..operator.survey import show_shard

    return await show_shard(await find_cluster(place), number)


def _newer(found: ShardShown, node: str, row: ReplicaRow) -> str:
    """Who has the newest copy, if that is not this node."""

    def place(one: ReplicaRow) -> tuple[int, int]:
        return one.last_epoch, one.last_seq

    best = max(found.replicas.items(), key=lambda pair: place(pair[1]))
    return best[0] if place(best[1]) > place(row) and best[0] != node else ""


def _held(node: str, row: ReplicaRow) -> str:
    if not row.last_seq:
        return f"{node} has no entry of it"
    return f"{node} has its log up to entry {row.last_seq} of epoch {row.last_epoch}"


def _losses(number: int, node: str, row: ReplicaRow, found: ShardShown) -> list[str]:
    """What is known of what would be lost."""
    shard = found.shard
    members = ", ".join(shard.isr) or "nobody"
    lines = [
        f"shard {number}: last owned by {shard.owner or 'nobody'} in epoch"
        f" {shard.epoch}; in sync were {members}.",
        f"{_held(node, row)}, {row.matches} matches that go on.",
    ]
    for other, theirs in found.replicas.items():
        if other != node and theirs.last_seq:
            lines.append(f"{_held(other, theirs)}.")
    lines.append(
        "What was acknowledged behind that is lost for good; how much it is, nobody"
        " who can be asked knows."
    )
    if found.silent:
        silent = ", ".join(found.silent)
        lines.append(f"These nodes could not be asked: {silent}.")
    return lines
