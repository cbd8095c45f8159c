"""`shard.recover`: a shard goes on from this node's copy, which may lack something.

For a shard whose in-sync set is gone, and for one whose record is an old one, since the
coordinator was restored from a backup. What may be done is judged where the copy is
(`runtime/replication/recovery.py`); this asks for it, and waits until it is done.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio

from ...runtime.errors import RecoveryRefused
from ...runtime.replication.recovery import RecoveryOrder
from .move_shard import seconds_of
from .verb import CommandElsewhere, CommandFailed, OperatorCommand, Verb
from .verb_parts import VerbParts

__all__ = ["RECOVER_S", "recover_shard", "trust_node"]

RECOVER_S = 20.0
"""How long it may take: a promise on the disk, and a record in the coordinator."""

LOOK_S = 0.02
"""Between two looks whether it is done."""

EPOCH_MAX = 2**52

FLAGS = ("unclean", "restored", "empty")


def recover_shard(parts: VerbParts) -> Verb:
    """`shard.recover`: `dead` are nodes that are gone for good, `above` is the highest
    epoch that any other node is known to have promised; `unclean`, `restored`, `empty`
    and `timeout_s` as of the command line."""
    return Verb("shard.recover", partial(_recover, parts))


def trust_node(parts: VerbParts) -> Verb:
    """`node.trust`: this node's data are the ones that served last, though the
    coordinator's record is older."""
    return Verb("node.trust", partial(_trust, parts))


async def _recover(parts: VerbParts, command: OperatorCommand) -> dict[str, Any]:
    replicator = parts.hosting.replicator
    runner = replicator.runner
    if runner is None:
        raise CommandElsewhere("")
    shard, order = _shard_of(parts, command), _order(command)
    timeout_s = seconds_of(command.args, "timeout_s", RECOVER_S)
    try:
        epoch = runner.recover(shard, order, replicator.now_ms())
    except RecoveryRefused as error:
        raise CommandFailed(error.code, str(error)) from error
    core = runner.core
    with anyio.move_on_after(timeout_s):
        while not core.shard_statistics(shard).serving:
            await anyio.sleep(LOOK_S)
            now = core.shard_statistics(shard)
            if not now.recovering and now.role != "owner":
                raise CommandFailed(
                    "overtaken",
                    f"shard {shard} is not recovered: its record was changed meanwhile,"
                    " or a member of its in-sync set came back; hotseat shard show"
                    f" {shard} tells how it stands",
                )
    now = core.shard_statistics(shard)
    if now.recovering:
        raise CommandFailed(
            "recovery_pending",
            f"not recovered within {timeout_s:g} s: the disk or the coordinator does"
            " not answer; it goes on by itself when they do",
        )
    going_on, ended = parts.hosting.states.counts([shard])
    return {
        "shard": shard,
        "node": parts.node,
        "epoch": epoch,
        "history": now.history,
        "commit": now.commit,
        "matches": going_on,
        "ended": ended,
        "serving": now.serving,
    }


def _shard_of(parts: VerbParts, command: OperatorCommand) -> int:
    """
    Raises:
        CommandFailed: malformed_request, no_such_shard.
    """
    if not command.target.isdecimal():
        raise CommandFailed("malformed_request", "The target is a shard's number.")
    shard = int(command.target)
    pinned = parts.pins.match_of(shard) is not None
    if shard >= parts.shards and not pinned:
        raise CommandFailed("no_such_shard", f"There is no shard {shard}.")
    return shard


def _order(command: OperatorCommand) -> RecoveryOrder:
    """
    Raises:
        CommandFailed: malformed_request.
    """
    dead, above = command.args.get("dead", []), command.args.get("above", 0)
    named = isinstance(dead, list) and all(isinstance(node, str) for node in dead)
    if not named or type(above) is not int or not 0 <= above <= EPOCH_MAX:
        raise CommandFailed(
            "malformed_request", "`dead` is no list of nodes, or `above` no epoch."
        )
    flags = {name: command.args.get(name, False) for name in FLAGS}
    if not all(type(flag) is bool for flag in flags.values()):
        raise CommandFailed(
            "malformed_request", f"{', '.join(FLAGS)} are true or false."
        )
    return RecoveryOrder(dead=frozenset(dead), above=above, **flags)


async def _trust(parts: VerbParts, command: OperatorCommand) -> dict[str, Any]:
    replicator = parts.hosting.replicator
    runner = replicator.runner
    if runner is None:
        raise CommandElsewhere("")
    core = runner.core
    if not core.waits_for_trust:
        raise CommandFailed(
            "not_needed",
            f"{parts.node} does not wait for it: its data are as the coordinator's"
            " record says",
        )
    runner.trust_identity(replicator.now_ms())
    timeout_s = seconds_of(command.args, "timeout_s", RECOVER_S)
    with anyio.move_on_after(timeout_s):
        while not core.statistics().open:  # noqa: ASYNC110
            await anyio.sleep(LOOK_S)
    if not core.statistics().open:
        raise CommandFailed(
            "trust_pending",
            f"not done within {timeout_s:g} s: the disk or the coordinator does not"
            " answer; it goes on by itself when they do",
        )
    return {"node": parts.node, "ident": core.ident, "boot": core.boot}
