"""A match that an operator ends.

It ends as any match does: with a result. `{"terminated": {"why": ...}}` tells it from
what the game itself says, and why it was, to everybody. G and the position stay as they
were, and nothing of the game's code runs, so that any match can be ended.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ..frozen import FDict, enclose
from ..refusal import Refusal, refuse
from ..snapshot import Snapshot
from ..step import Batch
from .operator_step import operator_batch

__all__ = ["TERMINATE_EVENT", "terminate_match"]

TERMINATE_EVENT: Final = "__terminate"
"""How records name the event of an end by an operator."""


def terminate_match(
    snapshot: Snapshot, given: FDict, *, now: int | float
) -> Batch | Refusal:
    """End a match. `given` is the record's input: op, who, why."""
    if snapshot.meta.result is not None:
        return refuse("game_over")
    result = enclose({"terminated": {"why": given["why"]}}, label="the result")
    after = replace(
        snapshot,
        meta=replace(snapshot.meta, result=result),
        revision=snapshot.revision + 1,
    )
    return operator_batch(
        "terminate", TERMINATE_EVENT, given, snapshot, after, op=given["op"], now=now
    )
