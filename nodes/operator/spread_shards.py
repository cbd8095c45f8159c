"""`rebalance`: shards are spread evenly, now; or by themselves from now on, or not.

What a round would do, and why not more, can be asked without a command: nothing is
changed by it (the door's operation `balance`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import count
from typing import Any

import anyio

from ...runtime.control_plane import RebalanceRecord, ShardRecord, encode_record
from ...runtime.rebalance import BalancePlan
from ...runtime.replication.node import NodeReplicas
from ..node.hosting import Hosting
from .balance_rows import BalanceRow, ChangeRow, ReasonRow, ShareRow
from .door import DoorError
from .edit_key import write_key
from .move_shard import core_of, seconds_of
from .rows import row_json
from .verb import CommandElsewhere, CommandFailed, OperatorCommand, Verb
from .verb_parts import VerbParts

__all__ = ["balance_row", "give_balance", "spread_shards"]

SPREAD_S = 60.0
"""How long a round is waited for."""

LOOK_S = 0.05

REASONS_MAX = 50
"""That are told; a cluster in trouble has one for each shard."""


def spread_shards(parts: VerbParts) -> Verb:
    """`rebalance`: `do` is round, on or off; `timeout_s`, for a round."""
    return Verb("rebalance", partial(_rebalance, parts))


def give_balance(hosting: Hosting, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The door's operation `balance`: `plan`, a `BalanceRow`.

    Raises:
        DoorError: retry: the node is still starting.
    """
    runner = hosting.replicator.runner
    if runner is None:
        raise DoorError("retry", "This node is still starting.")
    placing = runner.core.placing
    return {"plan": row_json(balance_row(runner.core, placing.plan()))}


def balance_row(core: NodeReplicas, plan: BalancePlan) -> BalanceRow:
    """What operators are shown of a plan."""
    changes = []
    for edit in plan.edits:
        record = core.record(edit.shard)
        before = () if record is None else record.want
        changes.append(
            ChangeRow(
                shard=edit.shard,
                owner="" if record is None else record.owner or "",
                to=edit.to or "",
                adds=tuple(node for node in edit.want if node not in before),
                drops=tuple(node for node in before if node not in edit.want),
            )
        )
    return BalanceRow(
        on=core.placing.spreads,
        changes=tuple(changes),
        reasons=tuple(
            ReasonRow(code=reason.code, about=reason.about, text=reason.text)
            for reason in plan.reasons[:REASONS_MAX]
        ),
        shares=tuple(
            ShareRow(node=node, owns=share.owns, holds=share.holds)
            for node, share in plan.shares.items()
        ),
    )


async def _rebalance(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    do = command.args.get("do", "round")
    core = core_of(parts)
    if do in ("on", "off"):
        await _switch(parts, command, do == "on")
        return {"on": do == "on"}
    if do != "round":
        raise CommandFailed("malformed_request", "`do` is round, on or off.")
    timeout_s = seconds_of(command.args, "timeout_s", SPREAD_S)
    replicator = parts.hosting.replicator
    runner = replicator.runner
    if runner is None:
        raise CommandElsewhere("")
    row = balance_row(core, core.placing.plan())
    plan = runner.rebalance(replicator.now_ms())
    left = len(plan.edits)
    with anyio.move_on_after(timeout_s):
        while left:
            left = sum(
                not _is_done(core.record(edit.shard), edit.want, edit.to)
                for edit in plan.edits
            )
            command.tell(len(plan.edits) - left, len(plan.edits), "shards")
            await anyio.sleep(LOOK_S)
    return {**row_json(row), "left": left}


async def _switch(parts: VerbParts, command: OperatorCommand, on: bool) -> None:
    numbers = count(1)

    def encode() -> bytes:
        nonce = f"{command.id}.{next(numbers)}"
        return encode_record(RebalanceRecord(on=on, op=command.id, nonce=nonce))

    await write_key(parts.coordinator, parts.keys.rebalance, encode)


def _is_done(record: ShardRecord | None, want: tuple[str, ...], to: str | None) -> bool:
    if record is None:
        return False
    members = {node for node, _ in record.isr}
    moved = not to or record.owner == to
    return moved and record.want == want and members == set(want)
